"""A stand-in for pulumi-eks: its ``Cluster`` component registers the children the real one was seen to register."""
# ruff: noqa: N802 - the protocol names the methods

import hashlib
import json
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, resource_pb2, resource_pb2_grpc

from headwater.preview.wire import (
    RESOURCE_SIGNATURE,
    SIGNATURE,
    UNKNOWN_SENTINEL,
    dependencies_of,
    read_struct,
    without_dependencies,
    write_struct,
)

from .serve import Served

Object = dict[str, Any]
POLICY = "policy/AmazonEKSClusterPolicy"
BUNDLED_KUBERNETES = "4.18.0"
"""Version of the Kubernetes SDK inside the component: its provider asks for that plugin."""


class _Registrar:
    """Registers resources with the engine's monitor."""

    def __init__(self, monitor: Any, request: Any):
        self._monitor, self._request = monitor, request

    def __call__(
        self,
        type_: str,
        name: str,
        parent: str,
        *,
        custom: bool,
        props: Object,
        needs: dict[str, list[str]],
        after: list[str] | None = None,
    ) -> Any:
        clean = {key: without_dependencies(value) for key, value in props.items() if value is not None}
        request = resource_pb2.RegisterResourceRequest(
            type=type_,
            name=name,
            parent=parent,
            custom=custom,
            object=write_struct(clean),
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
            supportsResultReporting=False,
            dependencies=sorted({urn for urns in needs.values() for urn in urns} | set(after or ())),
        )
        for key, urns in needs.items():
            request.propertyDependencies[key].urns.extend(sorted(set(urns)))
        if not custom:
            for package, reference in self._request.providers.items():
                request.providers[package] = reference
        if type_ == "eks:index:Cluster":
            request.protect = self._request.protect
            request.aliasURNs.extend(self._request.aliases)
            request.dependencies.extend(self._request.dependencies)
        if type_ == "pulumi:providers:kubernetes":
            request.version = BUNDLED_KUBERNETES
        if type_ == "aws:eks/cluster:Cluster":
            request.ignoreChanges.extend(
                ["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"]
            )
        answer = self._monitor.RegisterResource(request)
        return answer.urn, answer.id, read_struct(answer.object)


class EksProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Answers ``Construct`` for ``eks:index:Cluster``."""

    def Handshake(self, request: Any, context: Any) -> Any:
        """Secrets, references and output values are understood."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=True, accept_outputs=True)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """The version of the SDK beside us."""
        from importlib.metadata import version

        return plugin_pb2.PluginInfo(version=version("pulumi-eks"))

    def Attach(self, request: Any, context: Any) -> Any:
        """Nothing to do."""
        return Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        """Nothing to do."""
        return Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        """Any configuration will do."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """Never a difference."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        """As the real one."""
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=True, acceptOutputs=True
        )

    def Construct(self, request: Any, context: Any) -> Any:
        """Register the component and its children; answer its outputs."""
        if request.type != "eks:index:Cluster":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.type} is not simulated")
        args = read_struct(request.inputs)
        needs = {key: set(value.urns) for key, value in request.inputDependencies.items()}
        for key, value in args.items():
            needs.setdefault(key, set()).update(dependencies_of(value))
        given = {key: without_dependencies(value) for key, value in args.items()}
        with grpc.insecure_channel(request.monitorEndpoint) as channel:
            register = _Registrar(resource_pb2_grpc.ResourceMonitorStub(channel), request)
            return _cluster(register, request, given, {key: sorted(urns) for key, urns in needs.items()})


def _cluster(register: _Registrar, request: Any, args: Object, needs: dict[str, list[str]]) -> Any:
    name = request.name
    urn, _, _ = register(request.type, name, request.parent, custom=False, props={}, needs={})
    role_name = f"{name}-eksRole"
    home, _, _ = register("eks:index:ServiceRole", role_name, urn, custom=False, props={}, needs={})
    statement = {
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Effect": "Allow",
        "Principal": {"Service": ["eks.amazonaws.com"]},
    }
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))
    about = {"assumeRolePolicy": trust, "description": "Allows EKS to manage clusters on your behalf."}
    tags = args.get("tags")
    role, role_id, role_out = register(
        "aws:iam/role:Role", f"{role_name}-role", home, custom=True, props=about | {"tags": tags}, needs={}
    )
    digest = hashlib.sha1(f"arn:aws:iam::aws:{POLICY}".encode(), usedforsecurity=False).hexdigest()[:8]
    attachment, _, _ = register(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        f"{role_name}-{digest}",
        home,
        custom=True,
        props={"policyArn": f"arn:aws:iam::aws:{POLICY}", "role": role_id or UNKNOWN_SENTINEL},
        needs={"role": [role]},
    )
    network_keys = ("subnetIds", "endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
    network = {key: args[key] for key in network_keys if args.get(key) is not None}
    key_arn = args.get("encryptionConfigKeyArn")
    props = {
        "name": args.get("name"),
        "roleArn": role_out.get("arn", UNKNOWN_SENTINEL),
        "version": args.get("version"),
        "bootstrapSelfManagedAddons": args.get("bootstrapSelfManagedAddons", True),
        "enabledClusterLogTypes": args.get("enabledClusterLogTypes"),
        "vpcConfig": network,
        "accessConfig": {
            "authenticationMode": args.get("authenticationMode"),
            "bootstrapClusterCreatorAdminPermissions": True,
        },
        "encryptionConfig": {"provider": {"keyArn": key_arn}, "resources": ["secrets"]} if key_arn else None,
        "deletionProtection": args.get("deletionProtection"),
        "upgradePolicy": args.get("upgradePolicy"),
        "tags": {"Name": f"{name}-eksCluster"} | (args.get("clusterTags") or {}) | (tags or {}),
    }
    wanted = {
        "roleArn": [role],
        "vpcConfig": needs.get("subnetIds", []),
        "encryptionConfig": needs.get("encryptionConfigKeyArn", []),
    }
    cluster, number, out = register(
        "aws:eks/cluster:Cluster",
        f"{name}-eksCluster",
        urn,
        custom=True,
        props=props,
        needs={key: urns for key, urns in wanted.items() if urns},
        after=[attachment],
    )
    kubeconfig = UNKNOWN_SENTINEL if "endpoint" not in out else json.dumps(_kubeconfig(out))
    register(
        "pulumi:providers:kubernetes",
        f"{name}-eks-k8s",
        urn,
        custom=True,
        props={"kubeconfig": kubeconfig},
        needs={"kubeconfig": [cluster]},
    )
    vpc = out.get("vpcConfig", {})
    state = {
        "eksCluster": {SIGNATURE: RESOURCE_SIGNATURE, "urn": cluster, "id": number or UNKNOWN_SENTINEL},
        "clusterSecurityGroupId": vpc.get("clusterSecurityGroupId", UNKNOWN_SENTINEL),
        "clusterIngressRuleId": "",
        "nodeSecurityGroupId": "",
        "defaultNodeGroupAsgName": "",
        "fargateProfileId": "",
        "fargateProfileStatus": "",
        "oidcProviderArn": "",
        "kubeconfig": UNKNOWN_SENTINEL if kubeconfig == UNKNOWN_SENTINEL else _kubeconfig(out),
        "kubeconfigJson": kubeconfig,
        "instanceRoles": args.get("instanceRoles") or [],
    }
    answer = provider_pb2.ConstructResponse(urn=urn, state=write_struct(state))
    for key in state:
        answer.stateDependencies[key].urns.append(cluster)
    return answer


def _kubeconfig(cluster: Object) -> Object:
    authority = cluster["certificateAuthority"]["data"]
    command = {"command": "aws", "args": ["eks", "get-token", "--cluster-name", cluster["name"]]}
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", **command}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "aws",
        "clusters": [
            {
                "name": "kubernetes",
                "cluster": {"server": cluster["endpoint"], "certificate-authority-data": authority},
            }
        ],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "users": [{"name": "aws", "user": user}],
    }


def serve_eks() -> Served:
    """The component provider behind a port."""
    return Served(provider_pb2_grpc.add_ResourceProviderServicer_to_server, EksProvider())
