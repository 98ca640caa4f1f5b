"""Rules and queries on made-up series, judged by Prometheus' own promtool."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.build import find
from tools.judges import JUDGES

Groups = list[dict[str, Any]]
Series = dict[str, str]
"""Values in promtool's notation, one a minute, by series."""
END = "1495m"
"""When a trouble that began after 1400 minutes has lasted."""


def find_promtool() -> Path:
    """The built promtool; without it the test is skipped, or fails where judges are required."""
    found = find(next(j for j in JUDGES if j.module == "prometheus"))
    if found is None:
        why = "promtool is not built; `make tools` builds it"
        if os.environ.get("HEADWATER_JUDGES") == "required":
            pytest.fail(why)
        pytest.skip(why)
    return found["promtool"]


class Rules:
    """Rule groups before promtool, in a folder for its files."""

    def __init__(self, promtool: Path, folder: Path, groups: Groups) -> None:
        self.promtool, self.folder, self.groups = promtool, folder, groups
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")

    def errors(self) -> str:
        """What promtool says of the rules by themselves; empty when they are valid."""
        return self._run("check", "rules", "rules.yaml")

    def judged(self, series: Series, **checks: Any) -> str:
        """What promtool says of the rules over these series; empty when it agrees with the checks."""
        inputs = [{"series": name, "values": values} for name, values in series.items()]
        test = {
            "rule_files": ["rules.yaml"],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": inputs, **checks}],
        }
        (self.folder / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
        return self._run("test", "rules", "test.yaml")

    def silent(self, series: Series, *names: str, at: str = END) -> str:
        """Empty when none of the alerts is raised at that time."""
        return self.judged(
            series, alert_rule_test=[{"eval_time": at, "alertname": name, "exp_alerts": []} for name in names]
        )

    def raised(self, series: Series, name: str, /, **labels: str) -> str:
        """Empty when the alert is raised at the end, with ``labels`` beside those of its rule."""
        rule = next(r for g in self.groups for r in g["rules"] if r["alert"] == name)
        expected = [{"exp_labels": {**rule["labels"], **labels}, "exp_annotations": rule["annotations"]}]
        return self.judged(series, alert_rule_test=[{"eval_time": END, "alertname": name, "exp_alerts": expected}])

    def evaluated(self, series: Series, values: dict[str, float]) -> str:
        """Empty when each query gives its value after five minutes, as the only sample and without labels."""
        return self.judged(
            series,
            promql_expr_test=[
                {"expr": query, "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": value}]}
                for query, value in values.items()
            ],
        )

    def _run(self, *words: str) -> str:
        ran = subprocess.run([self.promtool, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        return "" if ran.returncode == 0 else ran.stdout + ran.stderr
