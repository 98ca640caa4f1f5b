"""What Pulumi's engine needs beside it: a language host, an AWS provider, the ``eks.Cluster`` component."""
