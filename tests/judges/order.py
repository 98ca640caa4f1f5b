"""The order in which a destroy takes things away."""

import re

SERVING = r"headwater:serving:ServingStack\$.*kubernetes:"
POOLS, CLASSES = r":NodePool::", r":EC2NodeClass::"
KARPENTER = r"Release::platform-karpenter-chart$"
KARPENTERS = r"headwater:platform:Karpenter\$.*aws:"
"""Its queue, its roles and policies, its access to the cluster."""
GROUPS, CLUSTER = r"eks/nodeGroup:NodeGroup::", r"aws:eks/cluster:Cluster::"
BEFORE = (
    (SERVING, POOLS),
    (POOLS, CLASSES),
    (CLASSES, KARPENTER),
    (KARPENTER, KARPENTERS),
    (KARPENTER, GROUPS),
    (GROUPS, CLUSTER),
)
"""What must be gone before what: models, then their nodes, then what takes nodes away, then what that stands on."""


def out_of_order(gone: list[str]) -> list[str]:
    """Pairs of kinds of which the second began to go before the first had gone, or that were not there at all.

    Args:
        gone: URNs in the order in which they were gone.
    """
    found = []
    for first, then in BEFORE:
        early = [place for place, urn in enumerate(gone) if re.search(first, urn)]
        late = [place for place, urn in enumerate(gone) if re.search(then, urn)]
        if not early or not late:
            found.append(f"nothing deleted like {first if not early else then}")
        elif early[-1] > late[0]:
            found.append(f"{gone[late[0]]} went before {gone[early[-1]]}")
    return found
