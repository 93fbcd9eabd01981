"""Evidence, conditions and parameters in any form: a stranger's journal may have them."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import polars as pl
import pytest
from rich.console import Console

from culvert.analysis.advice import Requirement, advise
from culvert.analysis.pooling import pooling
from culvert.report.charts.gateway import gateway_figures
from culvert.report.tables import tables
from culvert.report.terminal.summary import summary_of
from culvert.report.views.paper import paper_tests

from .conftest import page_of
from .synthetic import make_run

EVIDENCE: tuple[object, ...] = (
    {"checks": 7},
    {"checks": [7, {"name": "x"}, {"passed": False}]},
    {"marks": 7},
    {"vpn": 7, "underlay": 7, "topology": 7},
    {"underlay": {"a": {"passages": {"b": [7]}, "steering": {"eth0": {"rps": 7}}}}},
    {"topology": {"nodes": [7]}},
    {"topology": {"nodes": [{"name": "a"}], "paths": [["a"]]}},
    {"topology": {"nodes": [{"name": n} for n in "abc"], "networks": [["a", "d"]]}},
)


@pytest.mark.parametrize("status", ["ok", "invalid"])
def test_evidence_in_any_form_is_shown_or_left_out(status: str) -> None:
    run = make_run(blocks=len(EVIDENCE), measurements=(("tcp", {}),), faults=False)
    texts = [json.dumps(EVIDENCE[block - 1]) for block in run.trials["block"]]
    evidence = pl.Series("evidence", texts)
    run.trials = run.trials.with_columns(evidence, status=pl.lit(status))
    page = page_of(run)
    assert page.count("rps = 7") > 0
    console = Console(file=io.StringIO(), width=120)
    console.print(summary_of(run.data))
    not_ok = tables(run.data)["not-ok"]
    assert not_ok["trials"].sum() == (run.trials.height if status == "invalid" else 0)


@pytest.mark.parametrize("clients", ["x", None, 1e300, 0, True, [1]])
def test_loads_without_a_number_of_clients_are_left_out(clients: object) -> None:
    run = make_run(blocks=6, measurements=(("gateway_load", {"clients": clients}),), faults=False)
    assert advise(run.rows, Requirement(1e6, 4)) == []
    assert gateway_figures(run.data, "clean") == []


@pytest.mark.parametrize("conditions", [7, [7], [{"cores": 2}], [{"name": [], "cores": "x"}]])
def test_conditions_in_any_form(conditions: object) -> None:
    run = make_run(blocks=2, run={"canonical": json.dumps({"condition": conditions})})
    assert page_of(run).endswith("</html>")


def test_requests_without_scatter_have_no_effective_number() -> None:
    def cell(vpn: str, parameters: str, values: list[float]) -> list[dict[str, object]]:
        common = {"vpn": vpn, "condition": "clean", "measurement": "k8s_api"}
        return [
            {
                **common,
                **{"parameters": parameters, "metric": "response_s", "unit": "s"},
                **{"block": trial, "trial": trial, "value": value * (1 + trial / 100)},
            }
            for trial in (1, 2, 3)
            for value in values
        ]

    rows = [
        *(row for vpn in ("none", "x") for row in cell(vpn, "{}", [1.0, 1.5, 2.0])),
        *cell("x", '{"verb":"get"}', [1.0, 1.5]),
        *({**row, "value": 1.0} for row in cell("y", "{}", [1.0, 1.0])),
    ]
    data = SimpleNamespace(pooled=pooling(pl.DataFrame(rows)), foreign={})
    (said,) = paper_tests(data)  # type: ignore[arg-type]
    assert "cells none and x: Mann-Whitney p = " in said
    assert "over 18 requests treated as independent" in said
    assert "come from 6 runs" in said
