"""Evidence, conditions and parameters in any form: a stranger's journal may have them."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from rich.console import Console

from culvert.analysis.advice import Requirement, advise
from culvert.report.charts.gateway import gateway_figures
from culvert.report.tables import tables
from culvert.report.terminal.summary import summary_of

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
