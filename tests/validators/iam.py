"""IAM policy documents judged by parliament, and by rules of our own: no wildcard action, no star where an ARN will do.

parliament judges one statement at a time and knows identity policies only; what it says about a statement that another
one completes, or about the resource of a trust or key policy, is no finding here.
"""

import fnmatch
import json
import re
import sys
import types
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.validators.unknown import is_unknown

Statement = dict[str, Any]
TRUST, IDENTITY, RESOURCE, KEY = "trust", "identity", "resource", "key"
# Characters without white space; IAM and STS quotas, 2026-11-30.
_LIMITS = {TRUST: 2048, IDENTITY: 6144, RESOURCE: 20480, KEY: 32768}
# AWS's own public parameters belong to no account; parliament knows only a customer's.
_ALSO = {"arn:*:ssm:*:*:parameter/*": "arn:*:ssm:*::parameter/aws/*"}
# Conditions younger than parliament's data (Service Authorization Reference, 2026-11-30).
_KNOWN_CONDITIONS = frozenset({("elasticloadbalancing:CreateAction", "elasticloadbalancing:AddTags")})
_TRUST_ACTIONS = {"sts:AssumeRole", "sts:TagSession", "sts:AssumeRoleWithWebIdentity", "sts:SetSourceIdentity"}
_BROAD = re.compile(r"(FullAccess|AdministratorAccess|PowerUserAccess|IAMFull\w*|SystemAdministrator)\b|Admin$")


@cache
def _parliament() -> Any:
    """The package, imported without the pkg_resources that it asks for: setuptools no longer carries it."""
    stand_in = types.ModuleType("pkg_resources")
    stand_in.resource_filename = lambda package, name: str(  # type: ignore[attr-defined]
        Path(str(sys.modules[package].__file__)).parent / name
    )
    before = sys.modules.get("pkg_resources")
    sys.modules["pkg_resources"] = stand_in
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import parliament
    finally:
        sys.modules.pop("pkg_resources")
        if before is not None:
            sys.modules["pkg_resources"] = before
    return parliament


def documents(token: str, inputs: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Every policy document in a resource's inputs, as (property, kind, text)."""
    kinds = {
        "aws:iam/role:Role": {"assumeRolePolicy": TRUST},
        "aws:iam/policy:Policy": {"policy": IDENTITY},
        "aws:iam/rolePolicy:RolePolicy": {"policy": IDENTITY},
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": {"policy": IDENTITY},
        "aws:sqs/queue:Queue": {"policy": RESOURCE},
        "aws:sqs/queuePolicy:QueuePolicy": {"policy": RESOURCE},
        "aws:s3/bucketPolicy:BucketPolicy": {"policy": RESOURCE},
        "aws:ec2/vpcEndpoint:VpcEndpoint": {"policy": RESOURCE},
        "aws:efs/fileSystemPolicy:FileSystemPolicy": {"policy": RESOURCE},
        "aws:secretsmanager/secret:Secret": {"policy": RESOURCE},
        "aws:ecr/repositoryPolicy:RepositoryPolicy": {"policy": RESOURCE},
        "aws:kms/key:Key": {"policy": KEY},
    }
    for key, kind in kinds.get(token, {}).items():
        if inputs.get(key) is not None:
            yield key, kind, inputs[key]
    for index, inline in enumerate(inputs.get("inlinePolicies") or [] if token == "aws:iam/role:Role" else []):
        if inline.get("policy") is not None:
            yield f"inlinePolicies[{index}].policy", IDENTITY, inline["policy"]


def managed_policy_error(arn: Any) -> str | None:
    """Why a managed policy must not be attached; None when it may."""
    if is_unknown(arn):
        return None
    if not isinstance(arn, str) or not re.fullmatch(r"arn:aws[a-z-]*:iam::(aws|\d{12}):policy/[\w+=,.@/-]+", arn):
        return f"{arn!r} is no ARN of a policy"
    name = arn.rpartition("/")[2]
    return f"{name} grants far more than one job needs" if "::aws:" in arn and _BROAD.search(name) else None


def validate(text: Any, kind: str) -> list[str]:
    """Findings for one policy document; a document that is not known yet has none."""
    if is_unknown(text):
        return []
    try:
        document = json.loads(text)
    except (ValueError, TypeError) as error:
        return [f"no JSON: {error}"]
    if not isinstance(document, dict):
        return ["no JSON object"]
    found = []
    if document.get("Version") != "2012-10-17":
        found.append(f"Version: {document.get('Version')!r}, must be '2012-10-17'")
    if set(document) - {"Version", "Id", "Statement"}:
        found.append(f"unknown keys {sorted(set(document) - {'Version', 'Id', 'Statement'})}")
    size = len(re.sub(r"\s", "", text))
    if size > _LIMITS[kind]:
        found.append(f"{size} characters, at most {_LIMITS[kind]} are allowed")
    statements = _many(document.get("Statement"))
    if not statements:
        found.append("Statement: none")
    sids = [s.get("Sid") for s in statements if s.get("Sid")]
    found += [f"Sid {sid!r}: a second one" for index, sid in enumerate(sids) if sid in sids[:index]]
    for index, statement in enumerate(statements):
        where = str(statement.get("Sid") or f"Statement[{index}]")
        found += [f"{where}: {error}" for error in _own(statement, kind)]
        found += [f"{where}: {error}" for error in _judged(statement, statements, kind)]
    return found


def _own(statement: Statement, kind: str) -> Iterator[str]:
    allow = statement.get("Effect") == "Allow"
    if statement.get("Effect") not in ("Allow", "Deny"):
        yield f"Effect: {statement.get('Effect')!r}"
    for key in ("NotAction", "NotResource", "NotPrincipal"):
        if allow and key in statement:
            yield f"{key}: allows everything but a few"
    actions = _many(statement.get("Action"))
    root = kind == KEY and re.fullmatch(r"arn:aws[a-z-]*:iam::\d{12}:root", str(_aws(statement)))
    for action in actions if allow else []:
        if "*" in action and not (root and action == "kms:*"):
            yield f"Action: {action!r} is a wildcard"
        if kind == TRUST and action not in _TRUST_ACTIONS:
            yield f"Action: {action!r} is no way to take on a role"
    if (kind == IDENTITY) == ("Principal" in statement):
        yield "Principal: must be absent" if kind == IDENTITY else "Principal: missing"
    if kind == TRUST and ("Resource" in statement or "NotResource" in statement):
        yield "Resource: a trust policy has none"
    if allow and _everyone(statement.get("Principal")) and not statement.get("Condition"):
        yield "Principal: everyone, with no condition"
    for service in _many((_principal(statement)).get("Service")):
        if not re.fullmatch(r"[a-z0-9.-]+\.amazonaws\.com(\.cn)?", service):
            yield f"Principal: {service!r} is no service"


def _judged(statement: Statement, statements: list[Statement], kind: str) -> Iterator[str]:
    """parliament's findings, without those that this kind of policy or the other statements answer."""
    one = {**statement, "Resource": "*"} if kind == TRUST else statement
    text = json.dumps({"Version": "2012-10-17", "Statement": [one]})
    for finding in _parliament().analyze_policy_string(text).findings:
        if finding.issue == "RESOURCE_STAR":
            if kind == IDENTITY and not statement.get("Condition"):
                yield f"Resource: '*', yet these take an ARN: {', '.join(finding.detail)}"
        elif finding.issue == "RESOURCE_MISMATCH":
            for miss in finding.detail:
                if not any(_reaches(other, miss["action"], miss["required_format"]) for other in statements):
                    yield f"Resource: no statement lets {miss['action']} reach {miss['required_format']}"
        elif not _is_known(finding):
            yield f"{finding.issue}: {finding.detail or finding.location}"


def _is_known(finding: Any) -> bool:
    if finding.issue != "UNKNOWN_CONDITION_FOR_ACTION":
        return False
    return any(f"condition {key} for action {action}" in str(finding.detail) for key, action in _KNOWN_CONDITIONS)


def _reaches(statement: Statement, action: str, arn: str) -> bool:
    """Whether the statement allows the action on some resource of the form."""
    allowed = any(fnmatch.fnmatchcase(action.lower(), a.lower()) for a in _many(statement.get("Action")))
    if statement.get("Effect") != "Allow" or not allowed:
        return False
    forms = [arn, _ALSO.get(arn, arn)]
    resources = _many(statement.get("Resource"))
    return any(r == "*" or _parliament().is_arn_match("", form, r) for r in resources for form in forms)


def _principal(statement: Statement) -> dict[str, Any]:
    principal = statement.get("Principal")
    return principal if isinstance(principal, dict) else {}


def _aws(statement: Statement) -> Any:
    return _principal(statement).get("AWS")


def _everyone(principal: Any) -> bool:
    return principal == "*" or (isinstance(principal, dict) and "*" in _many(principal.get("AWS")))


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
