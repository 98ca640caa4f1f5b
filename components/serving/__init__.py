"""What both serving stacks need of a model server pod, from the plan."""
