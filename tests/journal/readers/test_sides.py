from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.journal.readers.foreign_run import ForeignRun, Side
from culvert.journal.readers.sides import joined
from culvert.results import Metric, Series, Status

from .files import figures

CLIENT = ForeignRun(
    "client.json",
    1,
    measurement="tcp",
    name="tunnel",
    parameters={"direction": "up", "duration": 2},
    duration_s=2.0,
    metrics=[
        Metric("goodput_bps", "bit/s", 90.0),
        Metric("retransmitted_segments", "segments", 3),
        Metric("iperf3_cpu_percent", "%", 4, {"node": "a"}),
        Metric("iperf3_cpu_percent", "%", 5, {"node": "b"}),
    ],
    series=[Series("interval_bps", "bit/s", [1], [99.0])],
    test="cookie",
    received=False,
)
SERVER = replace(
    CLIENT,
    file="server.json",
    name="server",
    parameters={"direction": "up"},
    duration_s=2.1,
    metrics=[
        Metric("goodput_bps", "bit/s", 91.0),
        Metric("iperf3_cpu_percent", "%", 6, {"node": "b"}),
    ],
    series=[Series("interval_bps", "bit/s", [1], [91.0])],
    side=Side.SERVER,
    received=True,
)


def failed(run: ForeignRun) -> ForeignRun:
    return replace(run, status=Status.FAILED, reason="it is truncated", metrics=[], series=[])


@pytest.mark.parametrize("runs", [[CLIENT, SERVER], [SERVER, CLIENT]])
def test_a_test_of_both_sides_is_one_run_with_what_each_counted(runs: list[ForeignRun]) -> None:
    (run,), notes = joined(runs)
    assert notes == ["server.json:1 is the server of client.json:1"]
    assert (run.file, run.name, run.parameters) == (CLIENT.file, CLIENT.name, CLIENT.parameters)
    assert figures(run) == {
        "goodput_bps": 91,
        "retransmitted_segments": 3,
        "iperf3_cpu_percent@a": 4,
        "iperf3_cpu_percent@b": 6,
    }
    assert [list(one.values) for one in run.series] == [[91.0]]
    assert run.duration_s == 2.1
    assert run.reported["server_file"] == "server.json"


def test_what_the_client_received_is_its_own_count_and_the_server_adds_what_it_sent() -> None:
    client = replace(CLIENT, received=True)
    sent = [Metric("sent_bps", "bit/s", 95.0)]
    server = replace(SERVER, received=False, metrics=sent, note="sent only")
    (run,), _ = joined([client, server])
    assert figures(run) == {**figures(client), "sent_bps": 95}
    assert run.note == ""


@pytest.mark.parametrize("received", [True, False])
@pytest.mark.parametrize("bad", [Side.CLIENT, Side.SERVER])
def test_a_side_without_figures_takes_nothing_from_the_other(bad: Side, received: bool) -> None:
    client = replace(CLIENT, received=not received)
    server = replace(SERVER, received=received)
    sides = [failed(client), server] if bad is Side.CLIENT else [client, failed(server)]
    (run,), _ = joined(sides)
    assert (run.status, run.name) == (Status.OK, "tunnel")
    assert figures(run) == figures(server if bad is Side.CLIENT else client)
    assert run.reported["other_side"] == "it is truncated"


@pytest.mark.parametrize(
    "runs",
    [
        [CLIENT, replace(SERVER, test="other")],
        [replace(CLIENT, test=""), replace(SERVER, test="")],
        [CLIENT, replace(SERVER, parameters={"direction": "down"})],
        [CLIENT, replace(SERVER, measurement="udp")],
        [CLIENT, replace(CLIENT, line=2)],
        [CLIENT, SERVER, replace(SERVER, line=2)],
    ],
)
def test_what_does_not_belong_together_stays_apart(runs: list[ForeignRun]) -> None:
    assert joined(runs) == (runs, [])
