"""The embedded engine: a Pulumi program evaluated in this process, with no CLI, no cloud and no credentials."""
