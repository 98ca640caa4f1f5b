"""How much GPU memory a model needs, and where it runs best."""
