"""What a first preview knows of a program, with no cloud behind it."""

from __future__ import annotations

import json

import pytest

from headwater.preview.errors import PreviewError, ProgramError
from headwater.preview.graph import Graph
from headwater.refusal import Refusal
from tests.preview.conftest import Evaluate, one

AWS = "import pulumi, pulumi_aws as aws\n"
COMPONENT = """
import pulumi, pulumi_aws as aws

class Net(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("demo:net:Net", name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block="10.0.0.0/16", opts=own)
        self.subnet = aws.ec2.Subnet(f"{name}-subnet", vpc_id=self.vpc.id, opts=own)
        self.register_outputs({"vpc": self.vpc.id, "cidr": self.vpc.cidr_block})
"""


def test_urns_carry_the_chain_of_parent_types(preview: Evaluate) -> None:
    graph = preview(COMPONENT + "Net('a')\naws.sqs.Queue('q')\n")
    assert one(graph, "a-vpc").urn == "urn:pulumi:dev::demo::demo:net:Net$aws:ec2/vpc:Vpc::a-vpc"
    assert one(graph, "q").urn == "urn:pulumi:dev::demo::aws:sqs/queue:Queue::q"
    assert one(graph, "q").parent == one(graph, "demo-dev").urn


def test_what_the_cloud_computes_is_unknown_and_what_the_program_set_is_not(preview: Evaluate) -> None:
    net = one(preview(COMPONENT + "Net('a')\n"), "a")
    assert net.outputs == {"vpc": "<unknown>", "cidr": "10.0.0.0/16"}


def test_dependencies_are_recorded_for_the_resource_and_per_property(preview: Evaluate) -> None:
    graph = preview(COMPONENT + "Net('a')\n")
    subnet, vpc = one(graph, "a-subnet"), one(graph, "a-vpc")
    assert subnet.dependencies == (vpc.urn,)
    assert subnet.property_dependencies == {"vpcId": (vpc.urn,)}
    assert vpc.dependencies == ()


def test_depending_on_a_component_means_its_children(preview: Evaluate) -> None:
    graph = preview(
        COMPONENT + "n = Net('a')\naws.sqs.Queue('q', delay_seconds=1, opts=pulumi.ResourceOptions(depends_on=[n]))\n"
    )
    both = (one(graph, "a-subnet").urn, one(graph, "a-vpc").urn)
    assert one(graph, "q").dependencies == both


def test_secrets_are_masked_wherever_they_go(preview: Evaluate) -> None:
    graph = preview(
        AWS
        + """
        key = pulumi.Config().require_secret("key")
        deep = pulumi.Output.all(key, "plain").apply(lambda v: "-".join(v))
        aws.ssm.Parameter("p", type="SecureString", value=deep, tags={"a": key, "b": "open"})
        pulumi.export("key", key)
        """.replace("\n        ", "\n"),
        config="demo:key: {secure: v1:abcdef}\n",
    )
    assert one(graph, "p").inputs["value"] == "<secret>"
    assert one(graph, "p").inputs["tags"] == {"a": "<secret>", "b": "open"}
    assert graph.outputs == {"key": "<secret>"}
    assert "abcdef" not in graph.dumps()


def test_a_secret_inside_an_object_makes_the_whole_key_secret(preview: Evaluate) -> None:
    graph = preview(
        "import pulumi\nc = pulumi.Config()\n"
        "pulumi.export('secret', c.require_secret_object('hub'))\npulumi.export('plain', c.require_object('size'))\n",
        config="demo:hub: {name: x, token: {secure: v1:abcdef}}\ndemo:size: {gpus: 8, part: 0.5, on: true}\n",
    )
    assert graph.outputs == {"secret": "<secret>", "plain": {"gpus": 8, "part": 0.5, "on": True}}


def test_whole_numbers_are_ints(preview: Evaluate) -> None:
    graph = preview(AWS + "aws.sqs.Queue('q', delay_seconds=8)\n")
    assert repr(one(graph, "q").inputs["delaySeconds"]) == "8"


def test_options_are_recorded(preview: Evaluate) -> None:
    graph = preview(
        AWS
        + """
        first = aws.sqs.Queue("first", opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True))
        aws.sqs.Queue("second", opts=pulumi.ResourceOptions(
            ignore_changes=["tags"], delete_before_replace=True, replace_on_changes=["name"], deleted_with=first,
            custom_timeouts=pulumi.CustomTimeouts(create="5m", delete="45m"),
            aliases=[pulumi.Alias(name="old"), pulumi.Alias(type_="aws:sqs/other:Other")]))
        """.replace("\n        ", "\n")
    )
    first, second = one(graph, "first"), one(graph, "second")
    assert (first.protect, first.retain_on_delete) == (True, True)
    assert (second.protect, second.retain_on_delete) == (False, False)
    assert second.ignore_changes == ("tags",)
    assert second.replace_on_changes == ("name",)
    assert second.delete_before_replace
    assert second.deleted_with == first.urn
    assert second.timeouts == {"create": "5m", "delete": "45m"}
    assert second.aliases == (
        "urn:pulumi:dev::demo::aws:sqs/queue:Queue::old",
        "urn:pulumi:dev::demo::aws:sqs/other:Other::second",
    )


def test_children_inherit_protection_and_lifetime(preview: Evaluate) -> None:
    graph = preview(
        COMPONENT
        + "q = aws.sqs.Queue('q')\n"
        + "Net('a', pulumi.ResourceOptions(protect=True, retain_on_delete=True, deleted_with=q))\n"
    )
    vpc = one(graph, "a-vpc")
    assert (vpc.protect, vpc.retain_on_delete, vpc.deleted_with) == (True, True, one(graph, "q").urn)


def test_an_explicit_provider_is_inherited_through_a_component(preview: Evaluate) -> None:
    graph = preview(
        COMPONENT + "p = aws.Provider('mine', region='us-east-2')\nNet('a', pulumi.ResourceOptions(providers=[p]))\n"
    )
    assert one(graph, "a-vpc").provider == one(graph, "mine").urn
    assert not [r for r in graph.resources if r.name.startswith("default")], "no default provider was needed"


def test_a_default_provider_takes_the_configuration_of_its_package(preview: Evaluate) -> None:
    graph = preview(AWS + "aws.sqs.Queue('q')\n", config="aws:region: eu-west-1\naws:token: {secure: v1:abc}\n")
    (provider,) = [r for r in graph.resources if r.is_provider]
    assert provider.name.startswith("default_7_")
    assert provider.parent == ""
    assert provider.inputs["region"] == "eu-west-1"
    assert provider.inputs["token"] == "<secret>"
    assert one(graph, "q").provider == provider.urn


def test_a_denied_default_provider_is_refused(preview: Evaluate) -> None:
    with pytest.raises(Refusal, match=r"`aws` has no provider of its own, and the default one is disabled"):
        preview(AWS + "aws.sqs.Queue('q')\n", config="pulumi:disable-default-providers: ['*']\n")


def test_an_unreadable_list_of_denied_providers_is_refused(preview: Evaluate) -> None:
    with pytest.raises(Refusal, match="list of package names"):
        preview(AWS, config="pulumi:disable-default-providers: nonsense\n")


def test_outputs_of_a_provider_with_unknown_configuration_are_all_unknown(preview: Evaluate) -> None:
    program = """
    import pulumi, pulumi_aws as aws, pulumi_kubernetes as k8s
    queue = aws.sqs.Queue("q")
    for name, config in (("known", "{}"), ("later", queue.arn)):
        provider = k8s.Provider(name, kubeconfig=config, cluster_identifier=name)
        own = pulumi.ResourceOptions(provider=provider)
        space = k8s.core.v1.Namespace(f"ns-{name}", metadata={"name": "x"}, opts=own)
        pulumi.export(name, space.metadata.name)
    """
    assert preview(program).outputs == {"known": "x", "later": "<unknown>"}


def test_computed_parts_of_a_nested_output_are_unknown_not_absent(preview: Evaluate) -> None:
    graph = preview(
        AWS
        + "c = aws.eks.Cluster('c', role_arn='arn:x', vpc_config={'subnet_ids': ['a']})\n"
        + "pulumi.export('sg', c.vpc_config.cluster_security_group_id)\n"
        + "pulumi.export('subnets', c.vpc_config.subnet_ids)\n"
    )
    assert graph.outputs == {"sg": "<unknown>", "subnets": ["a"]}


def test_questions_that_need_no_cloud_are_answered_and_others_are_unknown(preview: Evaluate) -> None:
    graph = preview(
        AWS
        + "pulumi.export('partition', aws.get_partition_output().partition)\n"
        + "pulumi.export('region', aws.get_region_output().region)\n"
        + "pulumi.export('account', aws.get_caller_identity_output().account_id)\n",
        config="aws:region: cn-north-1\n",
    )
    assert graph.outputs == {"partition": "aws-cn", "region": "cn-north-1", "account": "<unknown>"}
    assert [(q.token.split(":")[-1], q.answered) for q in graph.questions] == [
        ("getCallerIdentity", False),
        ("getPartition", True),
        ("getRegion", True),
    ]


def test_a_resource_that_exists_is_read_not_created(preview: Evaluate) -> None:
    graph = preview(
        AWS + "v = aws.ec2.Vpc.get('v', 'vpc-1')\npulumi.export('cidr', v.cidr_block)\npulumi.export('id', v.id)\n"
    )
    assert one(graph, "v").external
    assert graph.outputs == {"cidr": "<unknown>", "id": "vpc-1"}


def test_a_stack_reference_is_unknown(preview: Evaluate) -> None:
    graph = preview("import pulumi\npulumi.export('x', pulumi.StackReference('org/net/prod').get_output('vpc'))\n")
    assert graph.outputs == {"x": "<unknown>"}
    assert one(graph, "org/net/prod").external


def test_two_resources_of_one_name_are_refused(preview: Evaluate) -> None:
    with pytest.raises(PreviewError, match=r"duplicate resource URN `urn:pulumi:dev::demo::aws:sqs/queue:Queue::q`"):
        preview(AWS + "aws.sqs.Queue('q')\naws.sqs.Queue('q')\n")


def test_the_same_program_gives_the_same_bytes(preview: Evaluate) -> None:
    first, second = (preview(COMPONENT + "Net('a')\nNet('b')\n").dumps() for _ in range(2))
    assert first == second


def test_a_program_is_read_anew_each_time(preview: Evaluate) -> None:
    assert preview("import pulumi\npulumi.export('x', 1)\n").outputs == {"x": 1}
    assert preview("import pulumi\npulumi.export('x', 2)\n").outputs == {"x": 2}


def test_the_callers_cloud_does_not_reach_a_preview(preview: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    graph = preview(
        "import os, pulumi\npulumi.export('seen', sorted(k for k in os.environ if 'AWS' in k or 'KUBE' in k))\n"
    )
    assert graph.outputs == {"seen": []}


def test_json_gives_back_the_same_graph(preview: Evaluate) -> None:
    graph = preview(COMPONENT + "Net('a', pulumi.ResourceOptions(protect=True))\n")
    assert Graph.from_json(json.loads(graph.dumps())) == graph


def test_another_json_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not a headwater\.preview/v1 document"):
        Graph.from_json({"format": "headwater.preview/v9"})


def test_a_programs_exception_is_a_bug_with_its_line(preview: Evaluate) -> None:
    with pytest.raises(ProgramError) as caught:
        preview(AWS + "aws.sqs.Queue('q')\ndef deploy():\n    raise ValueError('bad arithmetic')\ndeploy()\n")
    assert caught.value.where == "__main__.py:4 in deploy"
    assert "bad arithmetic" in str(caught.value)


def test_an_exception_inside_apply_is_found_too(preview: Evaluate) -> None:
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        preview(
            AWS
            + "q = aws.sqs.Queue('q', delay_seconds=3)\npulumi.export('x', q.delay_seconds.apply(lambda s: s // 0))\n"
        )


def test_a_refusal_surfaces_as_itself(preview: Evaluate) -> None:
    program = """
    class Refusal(Exception):
        faults = ("context is too long",)
    raise Refusal("no")
    """
    with pytest.raises(Exception, match="no") as caught:
        preview(program)
    assert caught.value.faults == ("context is too long",)  # type: ignore[attr-defined]


def test_a_logged_error_fails_the_preview_and_a_warning_is_kept(preview: Evaluate) -> None:
    assert [m.text for m in preview("import pulumi\npulumi.log.warn('mind the gap')\n").messages] == ["mind the gap"]
    with pytest.raises(ProgramError, match="the program logged an error: broken"):
        preview("import pulumi\npulumi.log.error('broken')\n")


def test_an_interruption_stays_one(preview: Evaluate) -> None:
    with pytest.raises(KeyboardInterrupt):
        preview(AWS + "aws.sqs.Queue('q')\nraise KeyboardInterrupt\n")


def test_a_failed_run_does_not_disturb_the_next(preview: Evaluate) -> None:
    with pytest.raises(ProgramError):
        preview(COMPONENT + "Net('a')\nraise RuntimeError('x')\n")
    assert one(preview(COMPONENT + "Net('a')\n"), "a").outputs["cidr"] == "10.0.0.0/16"


def test_what_the_program_prints_stays_out_of_standard_output(
    preview: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    preview("print('hello')\n")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hello\n"
