"""Properties that cannot be changed in place.

AWS entries are what the provider's schema calls ForceNew, for every type the program creates (terraform-provider-aws,
as bridged by pulumi-aws; 2026-11-30). Kubernetes entries are those of pulumi-kubernetes (``provider/pkg/provider/
diff.go``, 2026-01), and the API server's immutable fields where that provider does not replace.
"""

from __future__ import annotations

from collections.abc import Sequence

AWS: dict[str, tuple[str, ...]] = {
    "aws:cloudwatch/eventRule:EventRule": ("name", "namePrefix", "eventBusName"),
    "aws:cloudwatch/eventTarget:EventTarget": ("rule", "targetId", "eventBusName"),
    "aws:cloudwatch/logGroup:LogGroup": ("name", "namePrefix", "logGroupClass"),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": ("vpcId",),
    "aws:ec2/eip:Eip": ("domain", "networkBorderGroup", "publicIpv4Pool"),
    "aws:ec2/flowLog:FlowLog": (
        "deliverCrossAccountRole", "destinationOptions", "eniId", "iamRoleArn", "logDestination",
        "logDestinationType", "logFormat", "maxAggregationInterval", "subnetId", "trafficType", "transitGatewayId",
        "vpcId",
    ),
    "aws:ec2/internetGateway:InternetGateway": (),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "aws:ec2/natGateway:NatGateway": (
        "allocationId", "subnetId", "connectivityType", "availabilityMode", "privateIp",
    ),
    "aws:ec2/placementGroup:PlacementGroup": ("name", "strategy", "partitionCount", "spreadLevel"),
    "aws:ec2/route:Route": (
        "routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId",
    ),
    "aws:ec2/routeTable:RouteTable": ("vpcId",),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("subnetId", "gatewayId"),
    "aws:ec2/securityGroup:SecurityGroup": ("name", "namePrefix", "description", "vpcId"),
    "aws:ec2/securityGroupRule:SecurityGroupRule": (
        "cidrBlocks", "fromPort", "ipv6CidrBlocks", "prefixListIds", "protocol", "securityGroupId", "self",
        "sourceSecurityGroupId", "toPort", "type",
    ),
    "aws:ec2/subnet:Subnet": (
        "vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId", "ipv6Native", "outpostArn",
    ),
    "aws:ec2/vpc:Vpc": ("cidrBlock", "instanceTenancy", "ipv4IpamPoolId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("vpcId", "serviceName", "vpcEndpointType"),
    "aws:efs/accessPoint:AccessPoint": ("fileSystemId", "posixUser", "rootDirectory"),
    "aws:efs/fileSystem:FileSystem": (
        "availabilityZoneName", "creationToken", "encrypted", "kmsKeyId", "performanceMode",
    ),
    "aws:efs/mountTarget:MountTarget": ("fileSystemId", "subnetId", "ipAddress"),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
        "clusterName", "principalArn", "policyArn", "accessScope",
    ),
    "aws:eks/addon:Addon": ("addonName", "clusterName"),
    "aws:eks/cluster:Cluster": (
        "name", "roleArn", "encryptionConfig.provider.keyArn", "kubernetesNetworkConfig.ipFamily",
        "kubernetesNetworkConfig.serviceIpv4Cidr", "bootstrapSelfManagedAddons",
        "accessConfig.bootstrapClusterCreatorAdminPermissions",
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "launchTemplate.id",
        "launchTemplate.name", "nodeGroupName", "nodeGroupNamePrefix", "nodeRoleArn", "remoteAccess", "subnetIds",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (
        "deploymentType", "kmsKeyId", "storageType", "subnetIds", "securityGroupIds",
    ),
    "aws:iam/instanceProfile:InstanceProfile": ("name", "namePrefix", "path"),
    "aws:iam/policy:Policy": ("name", "namePrefix", "path", "description"),
    "aws:iam/role:Role": ("name", "namePrefix", "path"),
    "aws:iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("role", "policyArn"),
    "aws:kms/alias:Alias": ("name", "namePrefix"),
    "aws:kms/key:Key": ("customerMasterKeySpec", "customKeyStoreId", "keyUsage", "multiRegion"),
    "aws:sqs/queue:Queue": ("name", "namePrefix", "fifoQueue"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queueUrl",),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
}  # fmt: skip
"""By type; an empty entry says that nothing of the type forces a replacement."""

KUBERNETES: dict[str, tuple[str, ...]] = {
    "core/v1:PersistentVolume": ("spec.csi", "spec.hostPath", "spec.local", "spec.nfs"),
    "core/v1:PersistentVolumeClaim": ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    "core/v1:ConfigMap": ("binaryData", "data"),
    "core/v1:Secret": ("type", "stringData", "data"),
    "core/v1:Service": ("spec.clusterIP",),
    "core/v1:ResourceQuota": ("spec.scopes",),
    "apps/v1:Deployment": ("spec.selector",),
    "apps/v1:DaemonSet": ("spec.selector",),
    "apps/v1:StatefulSet": (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "batch/v1:Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "rbac.authorization.k8s.io/v1:RoleBinding": ("roleRef",),
    "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ("roleRef",),
    "storage.k8s.io/v1:StorageClass": ("parameters", "provisioner"),
}
EVERY_OBJECT = ("metadata.name", "metadata.namespace")
RELEASE = ("name", "namespace")
PROVIDER = ("clusterIdentifier",)

FROZEN: dict[str, tuple[str, ...]] = {
    "storage.k8s.io/v1:StorageClass": ("reclaimPolicy", "volumeBindingMode"),
    "karpenter.sh/v1:NodePool": ("spec.template.spec.nodeClassRef.group", "spec.template.spec.nodeClassRef.kind"),
    "gateway.networking.k8s.io/v1:GatewayClass": ("spec.controllerName",),
    "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": ("spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize",),
}
"""Immutable for the API server (validation rules and webhooks of the CRDs) and never replaced: such an update fails."""


def force_new(token: str, mutable: frozenset[str] = frozenset()) -> Sequence[str]:
    """Property paths of a resource type whose change replaces it.

    Args:
        token: the type.
        mutable: Kubernetes kinds (``ConfigMap``, ``Secret``) that the provider was told to change in place.
    """
    if token in AWS:
        return AWS[token]
    if token == "pulumi:providers:kubernetes":
        return PROVIDER
    if token == "kubernetes:helm.sh/v3:Release":
        return RELEASE
    if token.startswith("kubernetes:"):
        kind = token.removeprefix("kubernetes:")
        own = ("type",) if kind.endswith(":Secret") else ()
        return (*EVERY_OBJECT, *(own if kind.rsplit(":", 1)[1] in mutable else KUBERNETES.get(kind, ())))
    return ()


def frozen(token: str) -> Sequence[str]:
    """Property paths of a Kubernetes kind that its API server never changes and its provider does not replace for."""
    return FROZEN.get(token.removeprefix("kubernetes:"), ())
