"""Many clients of one gateway on hosts: each client's probe is its own, and all begin together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from tests.cli import Cli

pytestmark = [pytest.mark.lab, pytest.mark.slow]
STUDY = """name = "gateway"
vpns = ["none"]
[lab]
topology = "star"
clients = 3
[[measurement]]
kind = "gateway_load"
clients = 3
rate = "100/s"
packet_size = 200
duration = "500ms"
[[measurement]]
kind = "session_storm"
clients = 3
[[measurement]]
kind = "gateway_load"
clients = 2
to = "behind"
[[measurement]]
kind = "gateway_load"
clients = 32
[plan]
blocks = 1
"""


def test_loads_and_storms_run_over_ssh_and_a_host_behind_the_gateway_is_refused(
    say: Cli, four: DemoHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The machine's own tools may have a static probe of an older Culvert.
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))
    study, out = tmp_path / "gateway.toml", tmp_path / "run"
    study.write_text(STUDY)
    told = say("run", study, "--lab", "hosts", "--inventory", four.inventory, "--out", out)
    with Journal.open(out) as journal:
        trials, rows = journal.trials(), journal.rows()
    found = {
        (measurement, (given := json.loads(parameters)).get("to"), given.get("clients")): (
            status,
            reason,
        )
        for measurement, parameters, status, reason in trials.select(
            "measurement", "parameters", "status", "reason"
        ).iter_rows()
    }
    assert found["gateway_load", "gateway", 3] == ("ok", ""), told.out + told.err
    assert found["session_storm", None, 3] == ("ok", ""), told.out + told.err
    status, reason = found["gateway_load", "behind", 2]
    assert status == "unsupported"
    assert "a host behind the gateway" in reason
    status, reason = found["gateway_load", "gateway", 32]
    assert status == "unsupported"
    assert "4 hosts for 33 nodes" in reason
    before, _, _ = told.out.partition("gateway_load")
    assert "use at most 3 clients" in " ".join(before.split())
    active = rows.filter(metric="active_clients")["value"].to_list()
    assert active == [3.0]
