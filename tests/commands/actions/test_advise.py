"""``culvert advise``: what it prints and refuses."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tests.analysis.test_advice import rows
from tests.cli import Cli


def test_a_rate_of_zero_is_refused(say: Cli, tmp_path: Path) -> None:
    said = say("advise", tmp_path, "--rate", "0bit/s", "--clients", "5")
    said.refused(2, "--rate 0bit/s", "too small")


def test_a_rate_without_a_unit_is_refused(say: Cli, tmp_path: Path) -> None:
    said = say("advise", tmp_path, "--rate", "1000", "--clients", "5")
    assert said.code == 2
    assert "--rate 1000" in said.err


def test_a_directory_without_a_run_is_refused(say: Cli, tmp_path: Path) -> None:
    said = say("advise", tmp_path, "--rate", "1Gbit/s", "--clients", "5")
    assert said.code == 2
    assert str(tmp_path) in said.err


def test_each_load_has_its_requirement_its_figures_and_what_would_tell(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {8: [3e8, 3.2e8]}
    enough = {8: [3e8 + 1e6 * block for block in range(9)]}
    load = {"protocol": "udp", "packet_size": "max", "direction": "up"}
    frame = pl.concat([rows(enough, **load), rows(few, **load | {"protocol": "tcp"})])
    run = {"lab": "netns", "environment": {"cpu": {"model": "Xeon", "threads": 2}}}
    opened = nullcontext(SimpleNamespace(rows=lambda: frame, run=lambda: run))
    monkeypatch.setattr("culvert.commands.actions.advise.Journal.open", lambda _: opened)
    said = say("advise", tmp_path, "--rate", "200Mbit/s", "--clients", "8")
    assert said.code == 0
    first, second = said.out.strip().split("\n\n")[:2]
    assert first.startswith("required: 200 Mbit/s, 8 clients together; load from the clients, ")
    assert "largest packets" not in second
    for part in ("enough", "304 Mbit/s [", "80 % with 8 clients", "in 9 trials"):
        assert part in " ".join(first.split())
    for part in ("over TCP", "cannot tell", "To tell, measure clients = 8, in 6 blocks or more"):
        assert part in " ".join(second.split())
    assert said.out.rstrip().endswith(f"{tmp_path}: Xeon, 2 CPUs, lab netns")
    plan = {"plan": {"blocks": {"min": 20, "max": 40, "until": "ci <= 5%"}}}
    run["canonical"] = json.dumps(plan)
    said = say("advise", tmp_path, "--rate", "200Mbit/s", "--clients", "8", "--json")
    asked = [one["to_measure"] for one in json.loads(said.out)]
    assert asked == ["", "clients = 8, in 7 blocks or more"]


def test_a_search_has_a_table_of_its_own(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = {8: [3e8 + 1e6 * block for block in range(9)]}
    frame = rows(carried, "gateway_search", "pdr_bps", packet_size="max")
    run = {"lab": "netns", "environment": {"cpu": {"model": "Xeon", "threads": 2}}}
    opened = nullcontext(SimpleNamespace(rows=lambda: frame, run=lambda: run))
    monkeypatch.setattr("culvert.commands.actions.advise.Journal.open", lambda _: opened)
    said = say("advise", tmp_path, "--rate", "200Mbit/s", "--clients", "8")
    assert "highest rate with little loss, largest packets" in " ".join(said.out.split())
    assert "goodput, PDR [95 %]" in said.out
