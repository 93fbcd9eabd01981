"""Video, pages and QUIC over SSH, between hosts of one kernel and between those of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from tests.cli import Cli
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.slow]
_STUDY = """\
name = "apps-over-ssh"
vpns = ["none", "wireguard/go"]
[lab]
topology = "pair"
[[measurement]]
kind = "stream"
duration = "1s"
[[measurement]]
kind = "http"
version = [2, 3]
duration = "500ms"
[[measurement]]
kind = "quic"
gso = [true, false]
handshakes = 3
duration = "500ms"
warmup = "100ms"
[plan]
blocks = 1
"""


@pytest.mark.vpn
@pytest.mark.parametrize("hosts", ["demo", "four"])
def test_applications_are_measured_over_ssh(
    say: Cli, request: pytest.FixtureRequest, tmp_path: Path, hosts: str
) -> None:
    if why_not := skip_reason("wireguard/go"):
        pytest.skip(why_not)
    made: DemoHosts = request.getfixturevalue(hosts)
    study, out = tmp_path / "study.toml", tmp_path / "run"
    study.write_text(_STUDY)
    told = say("run", study, "--lab", "hosts", "--inventory", made.inventory, "--out", out)
    with Journal.open(out) as journal:
        trials, rows = journal.trials(), journal.rows()
    assert set(trials["status"]) == {"ok"}, told.out + told.err
    assert {"stream", "http", "quic"} <= set(trials["measurement"])
    assert {"frame_delay_p50_us", "page_load_p50_ms", "goodput_bps"} <= set(rows["metric"])
