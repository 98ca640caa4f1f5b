"""The program: load, plan, deploy, export."""

import pulumi

from components.deploy import deploy
from components.program import load_settings, outputs
from headwater.plan import build_plan

settings = load_settings()
plan = build_plan(settings)
deployment = deploy(plan)
for name, value in outputs(plan, deployment).items():
    pulumi.export(name, value)
