"""Which Pulumi type is which AWS call: the whole of the mapping, as data."""

from tests.validators import aws_model
from tests.validators.aws_checks import AwsType, anything, between, flag, one_of, text

_SG_NAME = text(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}")
_SG_TEXT = text(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
_RULE = "IpPermissions[]"
_RETENTION = one_of(
    0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
)
_LUSTRE = "CreateFileSystem/LustreConfiguration"
_FLOW_SOURCES = ("vpcId", "subnetId", "eniId", "transitGatewayId", "transitGatewayAttachmentId")
_PREFIX = {"namePrefix": text(r"[\w+=,.@-]{1,38}")}


def _rule(call: str) -> AwsType:
    at = f"{call}/{_RULE}"
    return AwsType(
        "ec2",
        (call, at),
        moved={
            "securityGroupId": f"{call}/GroupId",
            "cidrIpv4": f"{at}.IpRanges[].CidrIp",
            "cidrIpv6": f"{at}.Ipv6Ranges[].CidrIpv6",
            "prefixListId": f"{at}.PrefixListIds[].PrefixListId",
            "referencedSecurityGroupId": f"{at}.UserIdGroupPairs[].GroupId",
        },
        own={"description": _SG_TEXT, "ipProtocol": text(r"-1|tcp|udp|icmp|icmpv6|\d{1,3}")},
    )


TYPES: dict[str, AwsType] = {
    "aws:ec2/vpc:Vpc": AwsType(
        "ec2",
        ("CreateVpc",),
        moved={
            "assignGeneratedIpv6CidrBlock": "CreateVpc/AmazonProvidedIpv6CidrBlock",
            "enableDnsHostnames": "ModifyVpcAttribute/EnableDnsHostnames.Value",
            "enableDnsSupport": "ModifyVpcAttribute/EnableDnsSupport.Value",
            "enableNetworkAddressUsageMetrics": "ModifyVpcAttribute/EnableNetworkAddressUsageMetrics.Value",
        },
    ),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": AwsType("ec2", ("AssociateVpcCidrBlock",)),
    "aws:ec2/subnet:Subnet": AwsType("ec2", ("CreateSubnet", "ModifySubnetAttribute"), filled=("SubnetId",)),
    "aws:ec2/routeTable:RouteTable": AwsType(
        "ec2", ("CreateRouteTable",), moved={"routes": "CreateRoute"}, own={"propagatingVgws": anything}
    ),
    "aws:ec2/route:Route": AwsType(
        "ec2", ("CreateRoute",), moved={"egressOnlyGatewayId": "CreateRoute/EgressOnlyInternetGatewayId"}
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": AwsType("ec2", ("AssociateRouteTable",)),
    "aws:ec2/mainRouteTableAssociation:MainRouteTableAssociation": AwsType(
        "ec2", ("AssociateRouteTable",), own={"vpcId": anything}
    ),
    "aws:ec2/natGateway:NatGateway": AwsType(
        "ec2", ("CreateNatGateway",), moved={"privateIp": "CreateNatGateway/PrivateIpAddress"}
    ),
    "aws:ec2/eip:Eip": AwsType(
        "ec2",
        ("AllocateAddress",),
        moved={
            "instance": "AssociateAddress/InstanceId",
            "networkInterface": "AssociateAddress/NetworkInterfaceId",
            "associateWithPrivateIp": "AssociateAddress/PrivateIpAddress",
        },
    ),
    "aws:ec2/internetGateway:InternetGateway": AwsType(
        "ec2", ("CreateInternetGateway", "AttachInternetGateway"), filled=("InternetGatewayId", "VpcId")
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": AwsType(
        "ec2",
        ("CreateVpcEndpoint",),
        moved={"policy": "CreateVpcEndpoint/PolicyDocument"},
        own={"autoAccept": flag, "serviceName": text(r"(com\.amazonaws|aws\.sagemaker)\.[a-z0-9.-]+")},
    ),
    "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation": AwsType(
        "ec2", ("ModifyVpcEndpoint",), moved={"routeTableId": "ModifyVpcEndpoint/AddRouteTableIds[]"}
    ),
    "aws:ec2/flowLog:FlowLog": AwsType(
        "ec2",
        ("CreateFlowLogs",),
        moved={
            "iamRoleArn": "CreateFlowLogs/DeliverLogsPermissionArn",
            **dict.fromkeys(_FLOW_SOURCES, "CreateFlowLogs/ResourceIds[]"),
        },
        own={"maxAggregationInterval": one_of(60, 600)},
        filled=("ResourceType",),
    ),
    "aws:ec2/securityGroup:SecurityGroup": AwsType(
        "ec2",
        ("CreateSecurityGroup",),
        own={
            "name": _SG_NAME,
            "namePrefix": _SG_NAME,
            "description": _SG_TEXT,
            "ingress": anything,
            "egress": anything,
            "revokeRulesOnDelete": flag,
        },
        filled=("GroupName", "Description"),
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": AwsType(
        "ec2",
        ("CreateSecurityGroup",),
        own={"ingress": anything, "egress": anything, "revokeRulesOnDelete": flag},
        filled=("GroupName", "Description"),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("AuthorizeSecurityGroupIngress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("AuthorizeSecurityGroupEgress"),
    "aws:ec2/placementGroup:PlacementGroup": AwsType(
        "ec2", ("CreatePlacementGroup",), moved={"name": "CreatePlacementGroup/GroupName"}
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": AwsType(
        "ec2",
        ("CreateLaunchTemplate", "CreateLaunchTemplate/LaunchTemplateData"),
        moved={
            "description": "CreateLaunchTemplate/VersionDescription",
            "securityGroupNames": "CreateLaunchTemplate/LaunchTemplateData.SecurityGroups",
            "vpcSecurityGroupIds": "CreateLaunchTemplate/LaunchTemplateData.SecurityGroupIds",
        },
        own={
            "name": text(r"[a-zA-Z0-9().\-/_]{3,128}"),
            "namePrefix": text(r"[a-zA-Z0-9().\-/_]{3,102}"),
            "defaultVersion": between(1, 10**6),
            "updateDefaultVersion": flag,
        },
        filled=("LaunchTemplateName", "LaunchTemplateData"),
    ),
    "aws:ec2/capacityReservation:CapacityReservation": AwsType("ec2", ("CreateCapacityReservation",)),
    "aws:ec2/tag:Tag": AwsType(
        "ec2",
        ("CreateTags",),
        moved={
            "resourceId": "CreateTags/Resources[]",
            "key": "CreateTags/Tags[].Key",
            "value": "CreateTags/Tags[].Value",
        },
    ),
    "aws:eks/cluster:Cluster": AwsType(
        "eks",
        ("CreateCluster",),
        moved={
            "vpcConfig": "CreateCluster/resourcesVpcConfig",
            "enabledClusterLogTypes": "CreateCluster/logging.clusterLogging[].types",
        },
        own={"version": text(r"1\.\d\d"), "forceUpdateVersion": flag, "defaultAddonsToRemoves": anything},
        filled=("name",),
    ),
    "aws:eks/addon:Addon": AwsType(
        "eks",
        ("CreateAddon",),
        own={
            "addonVersion": text(r"v\d+\.\d+\.\d+-eksbuild\.\d+"),
            "preserve": flag,
            "resolveConflictsOnCreate": one_of("NONE", "OVERWRITE"),
            "resolveConflictsOnUpdate": one_of("NONE", "OVERWRITE", "PRESERVE"),
        },
    ),
    "aws:eks/accessEntry:AccessEntry": AwsType(
        "eks",
        ("CreateAccessEntry",),
        own={"type": one_of("STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX")},
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": AwsType(
        "eks",
        ("AssociateAccessPolicy",),
        own={"policyArn": text(r"arn:aws[a-z-]*:eks::aws:cluster-access-policy/AmazonEKS\w+Policy")},
    ),
    "aws:eks/nodeGroup:NodeGroup": AwsType(
        "eks",
        ("CreateNodegroup",),
        moved={
            "nodeRoleArn": "CreateNodegroup/nodeRole",
            "subnetIds": "CreateNodegroup/subnets",
            "nodeGroupNamePrefix": "CreateNodegroup/nodegroupName",
        },
        own={
            "nodeGroupName": text(r"[0-9A-Za-z][A-Za-z0-9_-]{0,62}"),
            "forceUpdateVersion": flag,
            "version": text(r"1\.\d\d"),
            "releaseVersion": text(r"1\.\d\d\.\d+-\d{8}"),
        },
        filled=("nodegroupName",),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": AwsType("eks", ("CreatePodIdentityAssociation",)),
    "aws:iam/role:Role": AwsType(
        "iam",
        ("CreateRole",),
        moved={
            "name": "CreateRole/RoleName",
            "assumeRolePolicy": "CreateRole/AssumeRolePolicyDocument",
            "managedPolicyArns": "AttachRolePolicy/PolicyArn",
        },
        own={**_PREFIX, "forceDetachPolicies": flag, "inlinePolicies": anything},
        filled=("RoleName",),
    ),
    "aws:iam/policy:Policy": AwsType(
        "iam",
        ("CreatePolicy",),
        moved={"name": "CreatePolicy/PolicyName", "policy": "CreatePolicy/PolicyDocument"},
        own={**_PREFIX, "delayAfterPolicyCreationInMs": between(0, 10**6)},
        filled=("PolicyName",),
    ),
    "aws:iam/rolePolicy:RolePolicy": AwsType(
        "iam",
        ("PutRolePolicy",),
        moved={
            "name": "PutRolePolicy/PolicyName",
            "policy": "PutRolePolicy/PolicyDocument",
            "role": "PutRolePolicy/RoleName",
        },
        own=_PREFIX,
        filled=("PolicyName",),
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": AwsType(
        "iam", ("AttachRolePolicy",), moved={"role": "AttachRolePolicy/RoleName"}
    ),
    "aws:iam/instanceProfile:InstanceProfile": AwsType(
        "iam",
        ("CreateInstanceProfile",),
        moved={"name": "CreateInstanceProfile/InstanceProfileName", "role": "AddRoleToInstanceProfile/RoleName"},
        own=_PREFIX,
        filled=("InstanceProfileName",),
    ),
    "aws:sqs/queue:Queue": AwsType(
        "sqs",
        ("CreateQueue",),
        own={
            "name": text(r"[A-Za-z0-9_-]{1,75}(\.fifo)?|[A-Za-z0-9_-]{1,80}"),
            "delaySeconds": between(0, 900),
            "maxMessageSize": between(1024, 1048576),
            "messageRetentionSeconds": between(60, 1209600),
            "receiveWaitTimeSeconds": between(0, 20),
            "visibilityTimeoutSeconds": between(0, 43200),
            "kmsDataKeyReusePeriodSeconds": between(60, 86400),
            "kmsMasterKeyId": text(r".+"),
            "sqsManagedSseEnabled": flag,
            "fifoQueue": flag,
            "contentBasedDeduplication": flag,
            "policy": aws_model.json_text,
            "redrivePolicy": aws_model.json_text,
        },
        filled=("QueueName",),
    ),
    "aws:sqs/queuePolicy:QueuePolicy": AwsType(
        "sqs",
        ("SetQueueAttributes",),
        own={"policy": aws_model.json_text, "queueUrl": text(r"https://sqs\..+")},
        filled=("Attributes", "QueueUrl"),
    ),
    "aws:cloudwatch/eventRule:EventRule": AwsType(
        "events", ("PutRule",), own={"forceDestroy": flag, "isEnabled": flag, **_PREFIX}, filled=("Name",)
    ),
    "aws:cloudwatch/eventTarget:EventTarget": AwsType(
        "events",
        ("PutTargets", "PutTargets/Targets[]"),
        moved={"targetId": "PutTargets/Targets[].Id", "sqsTarget": "PutTargets/Targets[].SqsParameters"},
        own={"forceDestroy": flag},
        filled=("Targets", "Id"),
    ),
    "aws:cloudwatch/logGroup:LogGroup": AwsType(
        "logs",
        ("CreateLogGroup", "PutRetentionPolicy"),
        moved={"name": "CreateLogGroup/logGroupName"},
        own={"retentionInDays": _RETENTION, "skipDestroy": flag, "namePrefix": text(r"[.\-_/#A-Za-z0-9]+")},
        filled=("logGroupName", "retentionInDays"),
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": AwsType(
        "cloudwatch",
        ("PutMetricAlarm",),
        moved={
            "name": "PutMetricAlarm/AlarmName",
            "metricQueries": "PutMetricAlarm/Metrics",
            "evaluateLowSampleCountPercentiles": "PutMetricAlarm/EvaluateLowSampleCountPercentile",
        },
        filled=("AlarmName",),
    ),
    "aws:kms/key:Key": AwsType(
        "kms",
        ("CreateKey", "EnableKeyRotation"),
        own={"deletionWindowInDays": between(7, 30), "enableKeyRotation": flag, "isEnabled": flag},
        filled=("KeyId",),
    ),
    "aws:kms/alias:Alias": AwsType(
        "kms",
        ("CreateAlias",),
        moved={"name": "CreateAlias/AliasName"},
        own={"namePrefix": text(r"alias/[\w/-]+")},
        filled=("AliasName",),
    ),
    "aws:s3/bucket:Bucket": AwsType(
        "s3",
        ("CreateBucket",),
        own={
            "bucket": text(r"(?!xn--)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
            "bucketPrefix": text(r"[a-z0-9][a-z0-9.-]{0,36}"),
            "forceDestroy": flag,
        },
        filled=("Bucket",),
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": AwsType(
        "s3",
        ("PutPublicAccessBlock", "PutPublicAccessBlock/PublicAccessBlockConfiguration"),
        own={"skipDestroy": flag},
        filled=("PublicAccessBlockConfiguration",),
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": AwsType(
        "s3",
        ("PutBucketEncryption", "PutBucketEncryption/ServerSideEncryptionConfiguration"),
        filled=("ServerSideEncryptionConfiguration",),
    ),
    "aws:s3/bucketVersioning:BucketVersioning": AwsType("s3", ("PutBucketVersioning",)),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": AwsType(
        "s3",
        ("PutBucketLifecycleConfiguration", "PutBucketLifecycleConfiguration/LifecycleConfiguration"),
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": AwsType(
        "s3",
        ("PutBucketOwnershipControls", "PutBucketOwnershipControls/OwnershipControls"),
        filled=("OwnershipControls",),
    ),
    "aws:s3/bucketPolicy:BucketPolicy": AwsType("s3", ("PutBucketPolicy",)),
    "aws:efs/fileSystem:FileSystem": AwsType(
        "efs",
        ("CreateFileSystem",),
        moved={
            "lifecyclePolicies": "PutLifecycleConfiguration/LifecyclePolicies",
            "protection": "UpdateFileSystemProtection",
        },
        filled=("CreationToken",),
    ),
    "aws:efs/mountTarget:MountTarget": AwsType("efs", ("CreateMountTarget",)),
    "aws:efs/accessPoint:AccessPoint": AwsType("efs", ("CreateAccessPoint",), filled=("ClientToken",)),
    "aws:efs/backupPolicy:BackupPolicy": AwsType("efs", ("PutBackupPolicy",)),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": AwsType("efs", ("PutFileSystemPolicy",)),
    "aws:fsx/lustreFileSystem:LustreFileSystem": AwsType(
        "fsx",
        ("CreateFileSystem", _LUSTRE),
        own={"backupId": anything, "skipFinalBackup": flag, "finalBackupTags": aws_model.tags},
        filled=("FileSystemType",),
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": AwsType(
        "fsx", ("CreateDataRepositoryAssociation",), own={"deleteDataInFilesystem": flag}
    ),
    "aws:secretsmanager/secret:Secret": AwsType(
        "secretsmanager",
        ("CreateSecret",),
        moved={"replicas": "CreateSecret/AddReplicaRegions"},
        own={"policy": aws_model.json_text, "recoveryWindowInDays": one_of(0, *range(7, 31)), **_PREFIX},
        filled=("Name",),
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": AwsType(
        "secretsmanager",
        ("PutSecretValue",),
        own={"secretStringWo": anything, "secretStringWoVersion": anything},
    ),
    "aws:ssm/parameter:Parameter": AwsType(
        "ssm", ("PutParameter",), own={"insecureValue": anything, "arn": anything}, filled=("Name", "Value")
    ),
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": AwsType("ecr", ("CreatePullThroughCacheRule",)),
    "aws:ecr/repository:Repository": AwsType(
        "ecr",
        ("CreateRepository",),
        moved={
            "name": "CreateRepository/repositoryName",
            "encryptionConfigurations": "CreateRepository/encryptionConfiguration",
        },
        own={"forceDelete": flag},
    ),
    "eks:index:Cluster": AwsType(
        "eks",
        ("CreateCluster", "CreateCluster/resourcesVpcConfig"),
        moved={
            "authenticationMode": "CreateCluster/accessConfig.authenticationMode",
            "enabledClusterLogTypes": "CreateCluster/logging.clusterLogging[].types",
            "encryptionConfigKeyArn": "CreateCluster/encryptionConfig[].provider.keyArn",
            "kubernetesServiceIpAddressRange": "CreateCluster/kubernetesNetworkConfig.serviceIpv4Cidr",
            "clusterTags": "CreateCluster/tags",
        },
        own={
            "version": text(r"1\.\d\d"),
            "vpcId": text(r"vpc-[0-9a-z]+"),
            "accessEntries": anything,
            "corednsAddonOptions": anything,
            "kubeProxyAddonOptions": anything,
            "providerCredentialOpts": anything,
            "serviceRole": anything,
            "createOidcProvider": flag,
            "createInstanceRole": flag,
            "skipDefaultNodeGroup": flag,
            "skipDefaultSecurityGroups": flag,
            "useDefaultVpcCni": flag,
        },
        filled=("name", "roleArn", "resourcesVpcConfig"),
    ),
}
