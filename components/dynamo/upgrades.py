"""One release line at a time: what runs now is compared with what is asked for, before the operator is touched.

The stack file can say where an upgrade starts (``upgradeFrom``), but it need not; state knows.
"""

from __future__ import annotations

import pulumi

from headwater.plan.dynamo_rules import upgrade_fault
from headwater.refusal import Refusal

KEY = "headwater:dynamo.version"


def check(args: pulumi.ResourceHookArgs) -> None:
    """Stop an update of the operator's release that skips a line or goes back.

    Raises:
        Refusal: with the lines to go through first.
    """
    old, new = (args.old_inputs or {}).get("version"), (args.new_inputs or {}).get("version")
    if not isinstance(old, str) or not isinstance(new, str):
        return
    fault = upgrade_fault(KEY, old, new)
    if fault is not None:
        raise Refusal([fault])


def guard(name: str) -> pulumi.ResourceHookBinding:
    """Bind the check to a release; it runs in a preview with state, too.

    Args:
        name: of the hook, unique in the program.
    """
    hook = pulumi.ResourceHook(name, check, opts=pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_update=[hook])
