"""A launch template that Karpenter made, against the plan's pool and what the platform's nodes must have."""

from typing import Any

from headwater.plan.model import Pool

from .world.joiner import efa_interfaces, read_user_data

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
TAGGED = ("instance", "volume", "network-interface")


def tags_of(launch: Object, kind: str) -> dict[str, str]:
    """Tags that what is launched gets: the instance, its volumes, its interfaces."""
    specs = [spec for spec in launch["tags"] if spec["ResourceType"] == kind]
    return {tag["Key"]: tag["Value"] for spec in specs for tag in spec.get("Tags", [])}


def launch_faults(launch: Object, pool: Pool, tags: Object) -> list[str]:
    """What is wrong with one launch.

    Args:
        launch: the template's data, the tags of both template and order, and the override that was bought.
        pool: the plan's.
        tags: of the pool's node class: the environment's.
    """
    return [*_bought(launch["override"], pool), *_template(launch["data"], pool), *_tags(launch, tags)]


def _bought(override: Object, pool: Pool) -> list[str]:
    found = []
    if override.get("InstanceType") not in pool.instances:
        found.append(f"type {override.get('InstanceType')}, the plan names {', '.join(pool.instances)}")
    if override.get("AvailabilityZone") not in pool.zones:
        found.append(f"zone {override.get('AvailabilityZone')}, the plan names {', '.join(pool.zones)}")
    return found


def _template(data: Object, pool: Pool) -> list[str]:
    found, config, metadata = [], read_user_data(data["UserData"]), data.get("MetadataOptions", {})
    if efa_interfaces(data) != pool.efa:
        found.append(f"{efa_interfaces(data)} EFA interfaces, the plan demands {pool.efa}")
    if any(part.get("AssociatePublicIpAddress") for part in data.get("NetworkInterfaces", [])):
        found.append("a public address")
    if not config.raid0:
        found.append("instance store not striped")
    if not any(taint["key"] == GPU and taint["effect"] == "NoSchedule" for taint in config.taints):
        found.append("GPU taint missing")
    if config.labels.get("headwater/pool") != pool.name:
        found.append(f"node label headwater/pool is {config.labels.get('headwater/pool')!r}")
    group = data.get("Placement", {}).get("GroupName") or data.get("Placement", {}).get("GroupId")
    if bool(group) != pool.placement_group:
        found.append(f"placement group {group!r}, the plan wants {'one' if pool.placement_group else 'none'}")
    if metadata.get("HttpTokens") != "required" or metadata.get("HttpPutResponseHopLimit") != 1:
        found.append(f"the metadata service is open to pods: {metadata}")
    if not all(disk.get("Ebs", {}).get("Encrypted") for disk in data.get("BlockDeviceMappings", [{}])):
        found.append("a volume is not encrypted")
    return found


def _tags(launch: Object, tags: Object) -> list[str]:
    missing = [(kind, key) for kind in TAGGED for key in tags if tags_of(launch, kind).get(key) != tags[key]]
    return [f"{kind} without tag {key}" for kind, key in missing] if tags else ["the node class has no tags"]
