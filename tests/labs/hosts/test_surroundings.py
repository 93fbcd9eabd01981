"""Load, temperatures and stolen time of each host, before and after a trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.facts.surroundings import Surroundings
from tests.cli import Cli
from tests.labs.hosts.studies import round_trips

BEFORE = """\
0.75 1.50 2.25 3/456 7890
cpu  100 0 50 800 20 5 5 20 7 0
zone 0 47250
zone 3 -1500
zone 4 \n"""
BEFORE += f"zone 5 {'9' * 5000}\n"  # more digits than int() takes
AFTER = BEFORE.replace("800", "880").replace("5 20 7", "5 40 9").replace("47250", "51000")


def test_they_are_read() -> None:
    before, after = Surroundings.parse(BEFORE), Surroundings.parse(AFTER)
    assert before == Surroundings(0.75, {"0": 47.25, "3": -1.5}, 1000, 20)
    assert before.facts() == {"load": 0.75, "temperatures_c": {"0": 47.25, "3": -1.5}}
    # 20 of 100 ticks; those of guests are in the user's already.
    assert after.facts(before)["stolen_percent"] == pytest.approx(20.0)
    assert after.facts(after) == after.facts()


@given(st.text(alphabet="cpuzone 0123456789.-/\n"))
def test_what_a_host_does_not_have_is_left_out(printed: str) -> None:
    found = Surroundings.parse(printed)
    assert found.ticks >= found.stolen >= 0
    json.dumps(found.facts())


@pytest.mark.lab
def test_a_trial_has_those_of_each_host(say: Cli, demo: DemoHosts, tmp_path: Path) -> None:
    out = tmp_path / "run"
    study = round_trips(tmp_path, probes=50)
    say("run", study, "--lab", "hosts", "--inventory", demo.inventory, "--out", out)
    with Journal.open(out) as journal:
        for text in journal.trials()["evidence"]:
            nodes = json.loads(text)["underlay"]
            assert set(nodes) == {"a", "b"}
            for facts in nodes.values():
                assert facts["surroundings before"]["load"] >= 0
                assert 0 <= facts["surroundings after"]["stolen_percent"] <= 100
