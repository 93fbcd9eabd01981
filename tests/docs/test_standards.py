"""The map of standards names only what measurements have."""

from __future__ import annotations

import re

from culvert.analysis.declared import measurements

from .tables import ROOT

NAME = re.compile(r"`([a-z][a-z0-9_]+)\.([a-z][a-z0-9_]+)`")


def test_each_metric_and_parameter_exists() -> None:
    text = (ROOT / "docs/methodology/standards.md").read_text()
    named = set(NAME.findall(text))
    assert len(named) > 30
    unknown = []
    for kind, name in named:
        one = measurements().get(kind)
        metrics = {spec.name for spec in getattr(one, "metrics", ())}
        parameters = set(one.Parameters.model_json_schema()["properties"]) if one else set()
        if name not in metrics | parameters:
            unknown.append(f"{kind}.{name}")
    assert not unknown
