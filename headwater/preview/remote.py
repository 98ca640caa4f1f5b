"""Components that live in a provider plugin. What the real ``eks.Cluster`` registers is registered here in its place.

Source: pulumi-eks ``nodejs/eks`` (2026-08), and its run on the real engine. Only what our arguments lead to is
covered; arguments that make it create more (node groups, security groups, add-ons, Fargate, auto mode) are refused,
as a graph without those children would be wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headwater.preview import wire
from headwater.preview.errors import PreviewError
from headwater.preview.goal import Goal
from headwater.preview.registry import State

CLUSTER = "eks:index:Cluster"
AWS_CLUSTER = "aws:eks/cluster:Cluster"

Register = Callable[[Goal], State]


@dataclass(frozen=True)
class Constructed:
    """What a remote component answers.

    Attributes:
        outputs: on-the-wire values by output property; a missing one is unknown.
        dependencies: URNs each output depends on.
    """

    outputs: dict[str, Any]
    dependencies: dict[str, list[str]]


def construct(component: State, register: Register, partition: str) -> Constructed | None:
    """Register the children of a remote component and answer its outputs; None for one not known from inside.

    Args:
        component: the component itself, already registered.
        register: admits a child, transforms included.
        partition: AWS partition of the component's provider.

    Raises:
        PreviewError: a use of ``eks.Cluster`` that makes children not known here.
    """
    return _cluster(component, register, partition) if component.goal.type == CLUSTER else None


def _cluster(component: State, register: Register, partition: str) -> Constructed:
    args = component.inputs
    _only_the_known_use(args)
    name = component.goal.name
    role_arn, role_urns = _service_role(component, register, partition)
    needed = _cluster_dependencies(component, role_urns)
    cluster = register(
        Goal(
            type=AWS_CLUSTER,
            name=f"{name}-eksCluster",
            parent=component.urn,
            custom=True,
            props=_cluster_inputs(name, args, role_arn),
            dependencies=set(role_urns).union(*needed.values()),
            property_dependencies=needed,
            ignore_changes=("accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"),
        )
    )
    register(
        Goal(
            type="pulumi:providers:kubernetes",
            name=f"{name}-eks-k8s",
            parent=component.urn,
            custom=True,
            props={"kubeconfig": wire.UNKNOWN_SENTINEL},
            dependencies={cluster.urn},
            property_dependencies={"kubeconfig": {cluster.urn}},
        )
    )
    outputs = {
        "eksCluster": wire.resource_reference(cluster.urn),
        "clusterSecurityGroupId": wire.UNKNOWN_SENTINEL,
        "clusterIngressRuleId": "",
        "nodeSecurityGroupId": "",
        "defaultNodeGroupAsgName": "",
        "fargateProfileId": "",
        "fargateProfileStatus": "",
        "oidcProviderArn": "",
        "oidcProviderUrl": wire.UNKNOWN_SENTINEL,
        "oidcIssuer": wire.UNKNOWN_SENTINEL,
        "kubeconfig": wire.UNKNOWN_SENTINEL,
        "kubeconfigJson": wire.UNKNOWN_SENTINEL,
        "autoModeNodeRoleName": "",
        "core": wire.UNKNOWN_SENTINEL,
        "instanceRoles": args.get("instanceRoles", []),
    }
    return Constructed(outputs, {key: [cluster.urn] for key in outputs})


def _service_role(component: State, register: Register, partition: str) -> tuple[Any, list[str]]:
    given = component.inputs.get("serviceRole")
    if given is not None:
        return wire.UNKNOWN_SENTINEL, sorted(component.goal.property_dependencies.get("serviceRole", ()))
    name = f"{component.goal.name}-eksRole"
    policy = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    digest = hashlib.sha1(policy.encode(), usedforsecurity=False).hexdigest()[:8]
    home = register(Goal(type="eks:index:ServiceRole", name=name, parent=component.urn, custom=False))
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Effect": "Allow",
                "Principal": {"Service": ["eks.amazonaws.com"]},
            }
        ],
    }
    props: dict[str, Any] = {
        "assumeRolePolicy": json.dumps(trust, separators=(",", ":")),
        "description": "Allows EKS to manage clusters on your behalf.",
    }
    if component.inputs.get("tags") is not None:
        props["tags"] = component.inputs["tags"]
    role = register(Goal(type="aws:iam/role:Role", name=f"{name}-role", parent=home.urn, custom=True, props=props))
    attachment = register(
        Goal(
            type="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            name=f"{name}-{digest}",
            parent=home.urn,
            custom=True,
            props={"policyArn": policy.replace("arn:aws:", f"arn:{partition}:", 1), "role": wire.UNKNOWN_SENTINEL},
            dependencies={role.urn},
            property_dependencies={"role": {role.urn}},
        )
    )
    return wire.UNKNOWN_SENTINEL, [role.urn, attachment.urn]


def _cluster_inputs(name: str, args: dict[str, Any], role_arn: Any) -> dict[str, Any]:
    tags: dict[str, Any] = {"Name": f"{name}-eksCluster"}
    for given in (args.get("clusterTags"), args.get("tags")):
        if isinstance(given, dict):
            tags.update(given)
    vpc_config = {
        "subnetIds": args.get("subnetIds"),
        "endpointPrivateAccess": args.get("endpointPrivateAccess"),
        "endpointPublicAccess": args.get("endpointPublicAccess"),
        "publicAccessCidrs": args.get("publicAccessCidrs"),
    }
    props = {
        "name": args.get("name"),
        "roleArn": role_arn,
        "version": args.get("version"),
        "bootstrapSelfManagedAddons": args.get("bootstrapSelfManagedAddons", True),
        "enabledClusterLogTypes": args.get("enabledClusterLogTypes"),
        "vpcConfig": {key: value for key, value in vpc_config.items() if value is not None},
        "tags": tags,
        "deletionProtection": args.get("deletionProtection"),
        "upgradePolicy": args.get("upgradePolicy"),
    }
    if args.get("encryptionConfigKeyArn") is not None:
        props["encryptionConfig"] = {
            "provider": {"keyArn": args["encryptionConfigKeyArn"]},
            "resources": ["secrets"],
        }
    if args.get("authenticationMode") is not None:
        props["accessConfig"] = {
            "authenticationMode": args["authenticationMode"],
            "bootstrapClusterCreatorAdminPermissions": True,
        }
    if args.get("kubernetesServiceIpAddressRange") is not None or args.get("ipFamily") is not None:
        network = {"ipFamily": args.get("ipFamily", "ipv4")}
        if network["ipFamily"] == "ipv4" and args.get("kubernetesServiceIpAddressRange") is not None:
            network["serviceIpv4Cidr"] = args["kubernetesServiceIpAddressRange"]
        props["kubernetesNetworkConfig"] = network
    return {key: value for key, value in props.items() if value is not None}


def _cluster_dependencies(component: State, role_urns: list[str]) -> dict[str, set[str]]:
    given = component.goal.property_dependencies
    found = {
        "roleArn": set(role_urns[:1]),
        "vpcConfig": set(given.get("subnetIds", ())),
        "encryptionConfig": set(given.get("encryptionConfigKeyArn", ())),
    }
    return {key: urns for key, urns in found.items() if urns}


def _only_the_known_use(args: dict[str, Any]) -> None:
    wanted: dict[str, bool] = {
        "skipDefaultNodeGroup=True": args.get("skipDefaultNodeGroup") is True,
        "skipDefaultSecurityGroups=True": args.get("skipDefaultSecurityGroups") is True,
        "createOidcProvider=False or unset": not args.get("createOidcProvider"),
        "useDefaultVpcCni=True": args.get("useDefaultVpcCni") is True,
        "kubeProxyAddonOptions.enabled=False": _disabled(args.get("kubeProxyAddonOptions")),
        "corednsAddonOptions.enabled=False": _disabled(args.get("corednsAddonOptions")),
        "authenticationMode=API": args.get("authenticationMode") in ("API", "Api"),
        "subnetIds": "subnetIds" in args,
    }
    wanted |= {
        f"no {key}": args.get(key) is None
        for key in ("fargate", "autoMode", "nodeGroupOptions", "roleMappings", "userMappings", "storageClasses")
    }
    missing = [text for text, given in wanted.items() if not given]
    if missing:
        raise PreviewError(
            "the children of `eks.Cluster` are known offline only for " + ", ".join(missing) + "; it was used otherwise"
        )


def _disabled(options: Any) -> bool:
    """Whether an add-on is switched off; the SDK fills in the other options with its own defaults."""
    return isinstance(options, dict) and options.get("enabled") is False
