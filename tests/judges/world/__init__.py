"""The simulated world: a real control plane, a simulated EC2, and what joins the two."""
