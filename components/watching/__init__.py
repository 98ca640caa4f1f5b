"""What alerts and dashboards are made of, for the platform and both serving stacks."""
