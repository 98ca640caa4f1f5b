"""Properties that no provider can change in place: a change replaces the resource.

AWS entries follow the provider's schema (ForceNew) for the types this program creates; Kubernetes entries follow the
API server's immutable fields and pulumi-kubernetes' own rules.
"""

from __future__ import annotations

from collections.abc import Sequence

AWS: dict[str, tuple[str, ...]] = {
    "aws:cloudwatch/eventRule:EventRule": ("name", "namePrefix", "eventBusName"),
    "aws:cloudwatch/eventTarget:EventTarget": ("rule", "targetId", "eventBusName"),
    "aws:cloudwatch/logGroup:LogGroup": ("name", "namePrefix", "logGroupClass"),
    "aws:ec2/eip:Eip": ("domain", "networkBorderGroup", "publicIpv4Pool"),
    "aws:ec2/flowLog:FlowLog": (
        "vpcId", "trafficType", "logDestination", "iamRoleArn", "maxAggregationInterval", "logFormat",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "aws:ec2/natGateway:NatGateway": ("allocationId", "subnetId", "connectivityType", "availabilityMode"),
    "aws:ec2/placementGroup:PlacementGroup": ("name", "strategy", "partitionCount", "spreadLevel"),
    "aws:ec2/route:Route": ("routeTableId", "destinationCidrBlock"),
    "aws:ec2/routeTable:RouteTable": ("vpcId",),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("subnetId", "gatewayId"),
    "aws:ec2/securityGroup:SecurityGroup": ("name", "namePrefix", "description", "vpcId"),
    "aws:ec2/subnet:Subnet": ("vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"),
    "aws:ec2/vpc:Vpc": ("cidrBlock", "instanceTenancy", "ipv4IpamPoolId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("vpcId", "serviceName", "vpcEndpointType"),
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
        "name", "roleArn", "encryptionConfig", "kubernetesNetworkConfig", "bootstrapSelfManagedAddons",
        "accessConfig.bootstrapClusterCreatorAdminPermissions",
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "nodeGroupName", "nodeRoleArn",
        "subnetIds",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (
        "deploymentType", "kmsKeyId", "storageType", "subnetIds", "securityGroupIds",
    ),
    "aws:iam/policy:Policy": ("name", "namePrefix", "path", "description"),
    "aws:iam/role:Role": ("name", "namePrefix", "path"),
    "aws:iam/rolePolicy:RolePolicy": ("name", "role"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("role", "policyArn"),
    "aws:kms/key:Key": ("customerMasterKeySpec", "keyUsage", "multiRegion"),
    "aws:sqs/queue:Queue": ("name", "namePrefix", "fifoQueue"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
}  # fmt: skip

KUBERNETES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec.selector",),
    "StatefulSet": ("spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy"),
    "DaemonSet": ("spec.selector",),
    "Job": ("spec.selector", "spec.template", "spec.completionMode"),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.storageClassName", "spec.volumeName", "spec.volumeMode"),
    "StorageClass": ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
    "Secret": ("type",),
    "NodePool": ("spec.template.spec.nodeClassRef.group", "spec.template.spec.nodeClassRef.kind"),
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "ConfigMap": ("immutable",),
}
EVERY_OBJECT = ("apiVersion", "kind", "metadata.name", "metadata.namespace")
RELEASE = ("name", "namespace")
PROVIDER = ("clusterIdentifier",)


def force_new(token: str) -> Sequence[str]:
    """Property paths of a resource type whose change replaces it."""
    if token in AWS:
        return AWS[token]
    if token == "pulumi:providers:kubernetes":
        return PROVIDER
    if token == "kubernetes:helm.sh/v3:Release":
        return RELEASE
    if token.startswith("kubernetes:"):
        return (*EVERY_OBJECT, *KUBERNETES.get(token.rsplit(":", 1)[1], ()))
    return ()
