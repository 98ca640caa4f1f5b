"""The program on upstream's own engine, control plane and node provisioner; no cloud, no GPU, loopback only."""
