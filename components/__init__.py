"""Ring 2: the only place that creates resources."""
