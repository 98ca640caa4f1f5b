"""The AWS foundation: network, cluster, node pools, operators."""
