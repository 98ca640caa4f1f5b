"""The embedded engine: evaluate the program with no cloud, no credentials, no Pulumi CLI."""
