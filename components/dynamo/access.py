"""What Dynamo's own processes may do in the API server: find each other, and nothing else."""

from __future__ import annotations

DISCOVERY_ROLE = "dynamo-discovery"


def discovery_rules() -> list[dict[str, list[str]]]:
    """Rules of the Role of frontends and workers. Each worker writes an object about itself, named after its pod."""
    read = ["get", "list", "watch"]
    return [
        {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": read},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": read},
        {
            "apiGroups": ["nvidia.com"],
            "resources": ["dynamoworkermetadatas"],
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        },
    ]
