"""What Pulumi's engine did, from the event log that its command line writes."""

import json
from pathlib import Path


def steps(log: Path) -> list[tuple[str, str]]:
    """(operation, URN) in the order in which the steps ended."""
    found = []
    for line in log.read_text(encoding="utf-8").splitlines():
        step = json.loads(line).get("resOutputsEvent", {}).get("metadata")
        if step:
            found.append((str(step["op"]), str(step["urn"])))
    return found
