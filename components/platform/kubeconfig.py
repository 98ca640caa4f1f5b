"""How the Kubernetes provider reaches the cluster: a token for each call, never a stored one."""

from __future__ import annotations

import json

import pulumi
import pulumi_kubernetes as k8s

from components.platform.site import Site


def kubeconfig(cluster: str, endpoint: str, authority: str, region: str, role: str | None) -> str:
    """A kubeconfig whose user is ``aws eks get-token``, as JSON.

    Args:
        cluster: physical name.
        endpoint: URL of the API server.
        authority: its certificate authority, base64.
        region: the cluster's.
        role: IAM role to take first; None for whoever runs the program.
    """
    args = ["--region", region, "eks", "get-token", "--cluster-name", cluster, "--output", "json"]
    if role is not None:
        args += ["--role-arn", role]
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": args}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
            "users": [{"name": cluster, "user": user}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        },
        sort_keys=True,
    )


def kubernetes_provider(
    name: str,
    site: Site,
    endpoint: pulumi.Output[str],
    authority: pulumi.Output[str],
    opts: pulumi.ResourceOptions,
) -> k8s.Provider:
    """The provider of every Kubernetes object.

    Its identifier is the cluster's name: an identifier that is an Output would show every object replaced in a preview.
    """
    role = site.plan.settings.cluster.deploy_role
    config = pulumi.Output.all(endpoint, authority).apply(
        lambda known: kubeconfig(site.cluster, known[0], known[1], site.region, role)
    )
    return k8s.Provider(
        f"{name}-kubernetes",
        kubeconfig=config,
        cluster_identifier=site.cluster,
        enable_server_side_apply=True,
        opts=opts,
    )
