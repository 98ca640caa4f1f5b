"""The platform with no serving stack on it."""

from components.platform import Platform
from components.program import load_settings
from headwater.plan import build_plan

plan = build_plan(load_settings())
platform = Platform("platform", plan)
