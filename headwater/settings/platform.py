"""Where it runs: cluster, network, access."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from headwater.settings.base import Frozen, Version, arn_of

Arn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:\d{0,12}:.+$")]
FOLDER = r"[^:\s\p{Cc}]+"
HOST = r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"
"""A DNS name; its last part starts with a letter, so an address is none."""
Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]


def _text_in_quotes(value: Any) -> Any:
    if isinstance(value, int):
        raise ValueError("an account id is text; write its 12 digits in quotes")  # noqa: TRY004
    return value


RESERVED_TAGS = ("aws:", "headwater:", "kubernetes.io/", "karpenter.", "eks:")
"""Tag keys that somebody else writes, by prefix."""


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:40])


class PublicEndpoint(Frozen):
    """The API endpoint is reachable from these networks, and from nowhere else outside the VPC.

    Attributes:
        public: networks in CIDR notation.
    """

    public: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("public")
    @classmethod
    def _cidrs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        networks = [ipaddress.ip_network(cidr, strict=True) for cidr in value]
        four = [network for network in networks if isinstance(network, ipaddress.IPv4Network)]
        six = [network for network in networks if isinstance(network, ipaddress.IPv6Network)]
        for parts in (ipaddress.collapse_addresses(four), ipaddress.collapse_addresses(six)):
            for network in parts:
                if network.prefixlen == 0:
                    pieces = [str(n) for n in networks if n.version == network.version]
                    who = f"{network} is" if str(network) in pieces else f"{', '.join(pieces)} together are"
                    raise ValueError(f"{who} the whole internet; name the networks your people and CI come from")
        return value


class Cluster(Frozen):
    """The EKS cluster.

    Attributes:
        name: physical name; default ``headwater-<environment>``.
        version: Kubernetes minor version, in quotes.
        endpoint: ``private`` (default), or ``{public: [cidr, ...]}``.
        admins: IAM principals that administer the cluster. When any is named (or ``deployRole``), the identity that
            creates the cluster gets no rights of its own, so whoever runs ``up`` must be one of them.
        deploy_role: IAM role that ``up`` takes for AWS and Kubernetes calls; an admin without saying so.
        account: the only AWS account this environment may touch.
        deletion_protection: EKS itself refuses to delete the cluster while this is on.
        protect: the stack refuses to delete what holds state (cluster, key, file systems).
        keep_data: a destroy leaves the key, the shared file system and the logs behind.
        preflight: ask AWS in every preview whether quotas and zones allow what the plan needs.
        existing: use this cluster instead of making one. It brings its own system nodes over two zones, access entries
            and add-ons (network, DNS, Pod Identity agent, EBS driver), and runs no Karpenter yet.
    """

    name: Annotated[str | None, Field(pattern=r"^[a-z][a-z0-9-]{1,38}[a-z0-9]$")] = None
    version: Version | None = None
    endpoint: Literal["private"] | PublicEndpoint = "private"
    admins: tuple[Arn, ...] = ()
    deploy_role: Arn | None = None
    account: Annotated[Annotated[str, Field(pattern=r"^\d{12}$")] | None, BeforeValidator(_text_in_quotes)] = None
    deletion_protection: bool = False
    protect: bool = False
    keep_data: bool = False
    preflight: bool = False
    existing: str | None = None

    @model_validator(mode="after")
    def _somebody_elses(self) -> Cluster:
        theirs = sorted(self.model_fields_set & {"name", "endpoint", "admins", "deletion_protection"})
        if self.existing is not None and theirs:
            keys = " and ".join(f"`{to_camel(key)}`" for key in theirs)
            raise ValueError(f"an existing cluster is somebody else's: {keys} would not be applied; take it out")
        return self

    @field_validator("existing")
    @classmethod
    def _fits_names(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z_-]{0,39}", value):
            raise ValueError("a cluster's name is letters, digits, dashes, at most 40 here: IAM role names repeat it")
        return value

    @property
    def administrators(self) -> tuple[str, ...]:
        """Everybody who administers the cluster, the deploying role included; empty means whoever creates it."""
        named = (*self.admins, *((self.deploy_role,) if self.deploy_role else ()))
        return tuple(sorted(dict.fromkeys(named)))

    @property
    def reach(self) -> str:
        """From where ``up`` must run, one sentence."""
        if self.endpoint == "private":
            return (
                "The API endpoint is private: run `up` from where the VPC is reached (VPN, peering, a runner inside)."
            )
        networks = ", ".join(self.endpoint.public)
        return f"The API endpoint is public for {networks}: run `up` from there or from inside the VPC."


class Network(Frozen):
    """The VPC: made from ``cidr``, or an existing one by id.

    Attributes:
        cidr: a private range, /16 to /18.
        zones: how many zones to spread the system over, or their names.
        nat: one gateway per zone (production) or a single one.
        vpc: id of an existing VPC; then ``subnets`` must say which.
        subnets: ids of existing subnets: ``system`` (two zones or more) and ``gpu`` by zone name.
        flow_logs: record the network's flows.
        endpoints: ``standard`` (S3 and the image registry without NAT) or ``isolated`` (all that is
            needed without internet).
    """

    class Subnets(Frozen):
        """Existing subnets, by use.

        Attributes:
            system: ids for controllers and load balancers, in two zones or more.
            gpu: id for GPU nodes by zone name.
        """

        system: Annotated[tuple[str, ...], Field(min_length=2)]
        gpu: Annotated[dict[str, str], Field(min_length=1)]

    cidr: str | None = None
    zones: Annotated[int, Field(ge=2, le=4)] | Annotated[tuple[Zone, ...], Field(min_length=2, max_length=4)] = 3
    nat: Literal["perZone", "single"] = "single"
    vpc: Annotated[str | None, Field(pattern=r"^vpc-[0-9a-f]+$")] = None
    subnets: Subnets | None = None
    flow_logs: bool = True
    endpoints: Literal["standard", "isolated"] = "standard"

    @field_validator("zones")
    @classmethod
    def _different(cls, value: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("a zone is named twice; the system spreads over different ones")
        return value

    @field_validator("cidr")
    @classmethod
    def _private_range(cls, value: str | None) -> str | None:
        if value is not None:
            network = ipaddress.ip_network(value, strict=True)
            if not network.is_private or network.version != 4:
                raise ValueError("not a private IPv4 range (10/8, 172.16/12 or 192.168/16)")
            if not 16 <= network.prefixlen <= 18:
                raise ValueError(f"/{network.prefixlen} does not hold GPU subnets of a /20 per zone; use /16 to /18")
        return value

    @model_validator(mode="after")
    def _made_or_existing(self) -> Network:
        if self.vpc is not None and self.cidr is not None:
            raise ValueError("`vpc` uses an existing network and `cidr` makes one; keep one")
        if (self.vpc is None) != (self.subnets is None):
            raise ValueError("an existing network needs both `vpc` and `subnets: {system: [...], gpu: {zone: subnet}}`")
        theirs = sorted(self.model_fields_set & {"zones", "nat", "flow_logs"})
        if self.vpc is not None and theirs:
            keys = " and ".join(f"`{to_camel(key)}`" for key in theirs)
            raise ValueError(f"an existing network is somebody else's: {keys} would not be applied; take it out")
        return self


class Gateway(Frozen):
    """How clients reach the models.

    Attributes:
        exposure: ``cluster`` (inside only), ``internal`` (load balancer in the VPC), ``public`` (spelled out, warned).
        host: DNS name clients use.
        certificate: ACM certificate for it; required for ``public``.
        allow: networks that may reach a public gateway.
    """

    exposure: Literal["cluster", "internal", "public"] = "cluster"
    host: Annotated[str | None, Field(pattern=HOST, max_length=253)] = None
    certificate: Annotated[str | None, Field(pattern=arn_of("acm"))] = None
    allow: tuple[str, ...] = ()

    @field_validator("allow")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for cidr in value:
            ipaddress.ip_network(cidr, strict=True)
        return value

    @model_validator(mode="after")
    def _public_is_guarded(self) -> Gateway:
        if self.exposure == "public" and (self.certificate is None or not self.allow):
            raise ValueError("a public gateway needs `certificate` (TLS) and `allow` (the networks that may reach it)")
        if self.exposure == "cluster" and (self.certificate is not None or self.allow):
            raise ValueError("`certificate` and `allow` belong to a load balancer: `exposure: internal` or `public`")
        return self


class Mirror(Frozen):
    """For networks without internet: where charts and images really come from.

    Attributes:
        charts: a folder or ``oci://`` registry that holds every chart by its name.
        images: a registry host with prefix that replaces every image's own.
        manifests: a folder or URL prefix that holds the CRD bundles by file name.
    """

    charts: Annotated[str | None, Field(pattern=rf"^(oci://[a-z0-9][\w./:-]*|{FOLDER})$")] = None
    images: Annotated[str | None, Field(pattern=r"^[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)*$")] = None
    manifests: Annotated[str | None, Field(pattern=rf"^(https?://[A-Za-z0-9]\S*|{FOLDER})$")] = None

    @property
    def folders(self) -> dict[str, str]:
        """What lies on the machine that runs ``up``, by key."""
        given = {"charts": self.charts, "manifests": self.manifests}
        return {key: text for key, text in given.items() if text is not None and "://" not in text}


class Observability(Frozen):
    """Metrics, dashboards, alerts: Prometheus, Grafana and the monitors of everything served.

    Attributes:
        enabled: install Prometheus and monitor what is served.
        retention: how long metrics are kept, as Prometheus writes it.
        grafana: install Grafana with the dashboards.
    """

    enabled: bool = True
    retention: Annotated[str, Field(pattern=r"^[1-9](\d{0,4}h|\d{0,3}d|\d{0,2}w|y)$")] = "15d"
    grafana: bool = True

    @model_validator(mode="after")
    def _on(self) -> Observability:
        asked = sorted(self.model_fields_set & {"retention", "grafana"})
        if not self.enabled and asked:
            keys = " and ".join(f"`{key}`" for key in asked)
            raise ValueError(f"nothing is installed with `enabled: false`, so {keys} would be ignored; take it out")
        return self


class Tags(Frozen):
    """Tags on every AWS resource; written directly under ``tags``.

    Attributes:
        values: the tags, key to value.
    """

    values: dict[str, str] = {}

    @field_validator("values")
    @classmethod
    def _ours_to_give(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if key.lower().startswith(RESERVED_TAGS):
                raise ValueError(f"the tag `{key}` belongs to AWS, Kubernetes, Karpenter or Headwater; use another key")
            if not re.fullmatch(r"[\w .:/=+@-]{1,128}", key) or not re.fullmatch(r"[\w .:/=+@-]{0,256}", text):
                raise ValueError(
                    f"AWS takes letters, digits, spaces and . : / = + - @ _ in a tag, 128 in its key and 256 in its "
                    f"value; `{_printable(key)}` has others or more"
                )
        return value

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return {"values": value} if isinstance(value, dict) and set(value) != {"values"} else value
