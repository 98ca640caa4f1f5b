"""Transforms run as in Pulumi's engine: the resource's own, then its ancestors', then the stack's."""

from __future__ import annotations

from tests.preview.conftest import Evaluate, one

HEAD = """
import pulumi, pulumi_aws as aws

def mark(word):
    def transform(args):
        if "tags" in args.props or args.type_ == "aws:sqs/queue:Queue":
            tags = {**(args.props.get("tags") or {}), "order": (args.props.get("tags") or {}).get("order", "") + word}
            return pulumi.ResourceTransformResult(props={**args.props, "tags": tags}, opts=args.opts)
    return transform

class Box(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("demo:box:Box", name, {}, opts)
        self.queue = aws.sqs.Queue(f"{name}-q", opts=pulumi.ResourceOptions(parent=self, transforms=[mark("a")]))
        self.register_outputs({})
"""


def test_own_then_ancestors_then_stack(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + "pulumi.runtime.register_resource_transform(mark('c'))\n"
        + "Box('box', pulumi.ResourceOptions(transforms=[mark('b')]))\naws.sqs.Queue('free')\n"
    )
    assert one(graph, "box-q").inputs["tags"] == {"order": "abc"}
    assert one(graph, "free").inputs["tags"] == {"order": "c"}


def test_a_transform_may_change_options(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + """
def guard(args):
    return pulumi.ResourceTransformResult(props=args.props, opts=pulumi.ResourceOptions.merge(
        args.opts, pulumi.ResourceOptions(protect=True, ignore_changes=["tags"])))

aws.sqs.Queue("q", opts=pulumi.ResourceOptions(transforms=[guard]))
"""
    )
    assert one(graph, "q").protect
    assert one(graph, "q").ignore_changes == ("tags",)


def test_dependencies_survive_a_transform_of_the_stack(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + "pulumi.runtime.register_resource_transform(mark('c'))\n"
        + "a = aws.sqs.Queue('a')\naws.sqs.Queue('b', redrive_policy=a.arn)\n"
    )
    assert one(graph, "b").property_dependencies == {"redrivePolicy": (one(graph, "a").urn,)}
    assert one(graph, "b").inputs["redrivePolicy"] == "<unknown>"


def test_secrets_stay_secret_through_a_transform(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + "pulumi.runtime.register_resource_transform(mark('c'))\n"
        + "own = pulumi.ResourceOptions(transforms=[mark('a')])\n"
        + "aws.sqs.Queue('q', name=pulumi.Output.secret('hidden'), opts=own)\n"
    )
    assert one(graph, "q").inputs["name"] == "<secret>"
    assert "hidden" not in graph.dumps()


def test_children_of_a_remote_component_are_transformed(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + """
import pulumi_eks as eks
def tag(args):
    if args.type_.startswith("aws:"):
        return pulumi.ResourceTransformResult({**args.props, "tags": {"team": "x"}}, args.opts)
pulumi.runtime.register_resource_transform(tag)
eks.Cluster("c", name="c", subnet_ids=["a", "b"], skip_default_node_group=True, skip_default_security_groups=True,
    use_default_vpc_cni=True, kube_proxy_addon_options={"enabled": False}, coredns_addon_options={"enabled": False},
    authentication_mode="API")
"""
    )
    assert one(graph, "c-eksCluster").inputs["tags"] == {"team": "x"}


def test_hooks_are_recorded_and_do_not_run(preview: Evaluate) -> None:
    graph = preview(
        HEAD
        + """
def wait(args):
    raise RuntimeError("a preview must not wait for anything")
hook = pulumi.ResourceHook("lb-gone", wait)
aws.sqs.Queue("q", opts=pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_delete=[hook])))
"""
    )
    assert one(graph, "q").hooks.before_delete == ("lb-gone",)
    assert one(graph, "q").hooks.after_create == ()
