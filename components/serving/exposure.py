"""From ``headwater:gateway`` to a Service: inside the cluster, inside the VPC, or public with every guard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from headwater.settings import Gateway

LOAD_BALANCER_CLASS = "service.k8s.aws/nlb"
PREFIX = "service.beta.kubernetes.io/aws-load-balancer"


@dataclass(frozen=True)
class Exposure:
    """How the gateway is reached.

    Attributes:
        service_type: of its Service.
        port: it listens on; 443 behind a load balancer that ends TLS.
        host: clients' name for it.
        annotations: for the load balancer controller.
        allow: networks that may connect, where it is public.
        tls: clients speak TLS.
    """

    service_type: Literal["ClusterIP", "LoadBalancer"]
    port: int
    host: str | None
    annotations: dict[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    tls: bool = False

    def address(self, service: str) -> str:
        """Base URL: the host people were given, else the Service inside the cluster."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.host or service}"


def exposure(gateway: Gateway) -> Exposure:
    """The Service behind ``headwater:gateway``.

    A load balancer is a network load balancer that sends straight to pods. It ends TLS when there is a certificate;
    nothing is internet-facing unless the stack file says ``public``.
    """
    if gateway.exposure == "cluster":
        return Exposure("ClusterIP", 80, gateway.host)
    annotations = {
        f"{PREFIX}-type": "external",
        f"{PREFIX}-nlb-target-type": "ip",
        f"{PREFIX}-scheme": "internet-facing" if gateway.exposure == "public" else "internal",
    }
    if gateway.host is not None:
        annotations["external-dns.alpha.kubernetes.io/hostname"] = gateway.host
    if gateway.certificate is None:
        return Exposure("LoadBalancer", 80, gateway.host, annotations, gateway.allow)
    annotations[f"{PREFIX}-ssl-cert"] = gateway.certificate
    annotations[f"{PREFIX}-ssl-ports"] = "443"
    return Exposure("LoadBalancer", 443, gateway.host, annotations, gateway.allow, tls=True)


def load_balancer_service(access: Exposure, selector: dict[str, str], port: int) -> Any:
    """Spec of a load balancer's Service straight before pods that speak HTTP on ``port``."""
    spec: dict[str, Any] = {
        "type": "LoadBalancer",
        "loadBalancerClass": LOAD_BALANCER_CLASS,
        "externalTrafficPolicy": "Cluster",
        "selector": dict(selector),
        "ports": [{"name": "http", "port": access.port, "targetPort": port, "protocol": "TCP"}],
    }
    if access.allow:
        spec["loadBalancerSourceRanges"] = list(access.allow)
    return spec
