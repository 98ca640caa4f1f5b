"""The platform, bottom up. Each part waits for the one below it, and so a destroy takes them away from the top.

network → control plane → access, add-ons → system nodes → add-ons that need nodes → storage, definitions →
Karpenter → node classes → node pools → monitoring → operators → namespace of the models → (the serving stack).

Nothing here looks at which serving stack is chosen.
"""

from __future__ import annotations

import pulumi

from components.platform.access import Access
from components.platform.addons import BEFORE_NODES, Addons, after_nodes
from components.platform.cluster import make_cluster
from components.platform.crds import Definitions
from components.platform.gpu_pools import GpuPools
from components.platform.gpu_watch import GpuWatch
from components.platform.karpenter import Karpenter
from components.platform.kubeconfig import kubernetes_provider
from components.platform.load_balancer import LoadBalancerController
from components.platform.model import PlatformRefs
from components.platform.models import ModelNamespace
from components.platform.monitoring import Monitoring, prometheus_url
from components.platform.network import make_network
from components.platform.operators import Operators
from components.platform.preflight import Preflight
from components.platform.secrets import TOKEN_SECRET, TokenSecret
from components.platform.shared_cache import SharedCache
from components.platform.site import make_site
from components.platform.storage import Storage
from components.platform.system_nodes import SystemNodes
from headwater.plan import Plan


class Platform(pulumi.ComponentResource):
    """Everything under a serving stack.

    Attributes:
        refs: what a serving stack may use.
        cluster_name: physical name of the EKS cluster.
    """

    refs: PlatformRefs
    cluster_name: pulumi.Output[str]

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("headwater:platform:Platform", name, {}, opts)
        settings = plan.settings
        site = make_site(name, plan, self)
        inside = pulumi.ResourceOptions(parent=self, providers=[site.aws])

        if settings.cluster.preflight:
            Preflight(f"{name}-preflight", site, inside)
        network = make_network(f"{name}-network", site, inside)
        cluster = make_cluster(f"{name}-cluster", site, network, inside)
        base: list[pulumi.Resource] = list(cluster.ready)
        nodes: list[pulumi.Resource] = []
        if cluster.made:
            access = Access(f"{name}-access", site, cluster.ready, inside)
            early = Addons(f"{name}-addons", site, BEFORE_NODES, cluster.ready, inside)
            system = SystemNodes(f"{name}-system", site, network, [*cluster.ready, early], inside)
            late = Addons(f"{name}-node-addons", site, after_nodes(settings), [*cluster.ready, system], inside)
            base = [*cluster.ready, access]
            nodes = [early, system, late]
        kubernetes = kubernetes_provider(
            name,
            site,
            cluster.endpoint,
            cluster.authority,
            pulumi.ResourceOptions(parent=self, depends_on=base),
        )
        stands = [*base, *nodes]

        storage = Storage(f"{name}-storage", kubernetes, made=cluster.made, after=stands, opts=inside)
        definitions = Definitions(f"{name}-definitions", settings.mirror, kubernetes, base, inside)
        karpenter = Karpenter(f"{name}-karpenter", site, kubernetes, stands, inside)
        pools = GpuPools(
            f"{name}-gpu",
            site,
            kubernetes,
            network=network,
            security_group=cluster.security_group,
            karpenter=karpenter,
            opts=inside,
        )
        monitoring: list[pulumi.Resource] = []
        if settings.observability.enabled:
            monitoring.append(
                Monitoring(
                    f"{name}-monitoring",
                    site,
                    kubernetes,
                    storage_class=storage.name,
                    after=[*karpenter.alive, storage, pools],
                    opts=inside,
                )
            )
            GpuWatch(f"{name}-gpu-watch", plan, kubernetes, monitoring, inside)
        below = [*karpenter.alive, *monitoring, storage, pools]
        above: list[pulumi.Resource] = [Operators(f"{name}-operators", site, kubernetes, below, inside)]
        if settings.gateway.exposure != "cluster":
            above.append(
                LoadBalancerController(
                    f"{name}-load-balancer", site, kubernetes, vpc_id=network.vpc_id, after=below, opts=inside
                )
            )
        floor = [*below, *above, definitions]
        models = ModelNamespace(f"{name}-models", site, kubernetes, floor, inside)
        ready: list[pulumi.Resource] = [*floor, models]
        if settings.hugging_face is not None:
            token = TokenSecret(
                f"{name}-token",
                site,
                kubernetes,
                token=settings.hugging_face,
                namespace_name=models.namespace_name,
                after=ready,
                opts=inside,
            )
            ready.append(token)
        if settings.weights.cache in ("efs", "fsx"):
            cache = SharedCache(
                f"{name}-cache",
                site,
                kubernetes,
                network=network,
                nodes=cluster.security_group,
                namespace=pulumi.Output.from_input(models.namespace_name),
                after=[*floor, models],
                opts=inside,
            )
            ready.append(cache)

        self.refs = PlatformRefs(
            kubernetes=kubernetes,
            namespace=pulumi.Output.from_input(models.namespace_name),
            namespace_name=models.namespace_name,
            token_secret=None if settings.hugging_face is None else TOKEN_SECRET,
            model_service_account_role=None if models.role is None else models.role.arn,
            prometheus_url=prometheus_url() if monitoring else None,
            ready=ready,
        )
        self.cluster_name = pulumi.Output.from_input(plan.cluster_name)
        self.register_outputs({"clusterName": self.cluster_name})
