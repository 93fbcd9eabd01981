"""Instruments on real nodes: under a tunnel that is proved, with its figures and without it."""

from __future__ import annotations

import json
from unittest.mock import Mock

import pytest

from culvert import tools
from culvert.errors import DeadlineExceeded, NotPossible, StudyError
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.instruments import base, run
from culvert.measurements.instruments.base import Instrument, program
from culvert.measurements.rtt.rtt import Rtt
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.udp.udp import Udp
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.study import Study
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from tests.here import HERE

UDP = {"packet_size": 200, "rate": "2000/s", "duration": "1s"}
TCP = {"duration": "1s"}
RTT = {"probes": 50, "protocol": "icmp"}
ALL = [
    *((Udp, UDP, one) for one in ("iperf2", "iperf3", "nuttcp")),
    *((Tcp, TCP, one) for one in ("iperf2", "iperf3", "nuttcp")),
    (Rtt, RTT, "ping"),
]
CELLS = [
    *(("openvpn/aes-128-gcm", *cell) for cell in ALL),
    *(("none", *cell) for cell in ALL[2:4]),
    ("none", *ALL[-1]),
    ("vxlan/plain", *ALL[-1]),
]


def measure(vpn: str, measurement: type, given: dict[str, object], instrument: str) -> TrialFinding:
    words = json.dumps({**given, "instrument": instrument})
    return Execution(
        registry.create(registry.parse(vpn)),
        LabSpec(),
        measurement(),
        measurement.Parameters.model_validate_json(words),  # type: ignore[attr-defined]
        Tunnels(lambda spec: NetnsLab(new_run_id(), spec)),
    ).execute()


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(("vpn", "measurement", "given", "instrument"), CELLS)
def test_measured_and_proved(
    vpn: str, measurement: type, given: dict[str, object], instrument: str
) -> None:
    if registry.create(registry.parse(vpn)).missing(HERE):
        pytest.skip(f"{vpn} is not here")
    finding = measure(vpn, measurement, given, instrument)
    if finding.status is Status.UNSUPPORTED:
        pytest.skip(finding.reason)
    if vpn == "vxlan/plain":  # it encrypts nothing, whatever measures
        assert finding.status is Status.INVALID
        assert "clear text" in finding.reason
        return
    assert (finding.status, finding.reason) == (Status.OK, "")
    found = {metric.name: metric.value for metric in finding.outcome.metrics}
    headline = measurement.headline  # type: ignore[attr-defined]
    assert found[headline] > 0
    if measurement is Udp:
        assert found["offered_packets"] == pytest.approx(2000, rel=0.2)
        assert found["packet_size_bytes"] == 200


def test_a_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find", lambda _: None)
    with pytest.raises(NotPossible) as caught:
        program(HERE, Instrument.IPERF2)
    assert caught.value.remedy == "apt install iperf"


def test_a_receiver_that_never_listens_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "READY_S", 0.01)
    process = Mock(pid=0)
    node = Mock(spawn=Mock(return_value=process), exists=Mock(return_value=False))
    with pytest.raises(DeadlineExceeded), run._listening(node, ["iperf3"], 5201):
        pytest.fail("nothing listens")
    process.stop.assert_called_once_with()


@pytest.mark.parametrize(
    ("kind", "keys", "why"),
    [
        ("tcp", 'instrument = "ping"', "ping does not measure this"),
        ("tcp", 'instrument = "iperf3"\ndirection = "both"', "both ways at once"),
        ("tcp", 'instrument = "iperf3"\nduration = "1.5s"', "parts of a second"),
        ("tcp", 'instrument = "nuttcp"\nnodelay = true', "nodelay"),
        ("udp", 'instrument = "iperf2"\npacket_size = "imix"', "pattern of packet sizes"),
        ("udp", 'instrument = "nuttcp"\nflows = 2', "several flows"),
        ("udp", 'instrument = "iperf3"\nport = 9000', "ports"),
        ("rtt", 'instrument = "iperf3"', "does not measure this"),
        ("rtt", 'instrument = "ping"\nprotocol = "udp"', "echo over udp"),
    ],
)
def test_what_an_instrument_cannot_do_is_refused(kind: str, keys: str, why: str) -> None:
    catalogue = Catalogue(installed_measurements(), lambda word: word)
    text = f'name = "x"\nvpns = ["none"]\n[[measurement]]\nkind = "{kind}"\n{keys}\n'
    with pytest.raises(StudyError, match=why):
        Study.parse(text, catalogue)


def test_every_instrument_but_the_probe_has_a_program() -> None:
    assert set(base._PROGRAMS) == set(Instrument) - {Instrument.PROBE}
