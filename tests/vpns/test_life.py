"""What can happen to a tunnel that is up, with every driver that has it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from culvert.errors import NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.measurements.streams.udp_stream import UdpRun, UdpStream
from culvert.probe.client import Probe
from culvert.run.trials.stage import before
from culvert.trial.session import Session
from culvert.vpns.abilities import dropping, rekeying, resuming
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import captured_on, pings_answered

from ..conftest import LabFactory
from .tunnels import PINGS, answered, bring_up, driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
HANDSHAKES = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")


def up(word: str, lab: LabFactory) -> tuple[Vpn, Lab]:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    vpn, pair = driver(word), lab()
    bring_up(vpn, pair)
    return vpn, pair


@pytest.mark.parametrize("word", [*HANDSHAKES, "openvpn/aes-256-gcm+tcp"])
def test_a_warm_start_is_a_new_handshake_of_the_same_processes(lab: LabFactory, word: str) -> None:
    vpn, pair = up(word, lab)
    pids = [process.pid for name in "ab" for process in vpn.processes[name]]
    for _ in range(3):
        dropping(vpn).drop(pair.path)
        assert pings_answered(pair.a, vpn.inner(pair.b).ip, count=1) == 0
        with captured_on(pair.a) as capture:
            resuming(vpn).resume(pair.path)
            assert any(vpn.is_handshake(packet) for packet in capture.packets())
        assert answered(vpn, pair) == (PINGS, PINGS)
    assert pids == [process.pid for name in "ab" for process in vpn.processes[name]]
    vpn.stop(pair)


@pytest.mark.parametrize("word", [*HANDSHAKES, "openvpn/aes-256-cbc+psk"])
def test_a_responder_sends_nothing_to_an_initiator_that_disconnected(
    lab: LabFactory, word: str
) -> None:
    vpn, pair = up(word, lab)
    ask = ["ping", "-q", "-c", "5", "-i", "0.01", "-W", "0.1", str(vpn.inner(pair.a).ip)]
    with captured_on(pair.a) as capture:
        assert pair.b.run(ask, check=False).returncode == 0
        vpn.leave(pair.a)
        capture.packets()
        assert pair.b.run(ask, check=False).returncode != 0
        assert capture.packets() == []
    vpn.stop(pair)


@pytest.mark.parametrize("word", [*HANDSHAKES, "openvpn/aes-256-cbc+psk"])
def test_an_initiator_that_was_restarted_is_let_in_at_once(lab: LabFactory, word: str) -> None:
    vpn, pair = up(word, lab)
    responder = [process.pid for process in vpn.processes["b"]]
    for _ in range(2):
        vpn.crash(pair.a)
        vpn.join(pair.a)
        vpn.reach(pair.path)
        assert answered(vpn, pair) == (PINGS, PINGS)
    assert responder == [process.pid for process in vpn.processes["b"]]
    vpn.stop(pair)


@pytest.mark.parametrize("word", ["strongswan/esp-aes256gcm", "openvpn/aes-256-gcm+reneg"])
def test_a_rekey_is_a_new_handshake(lab: LabFactory, word: str) -> None:
    vpn, pair = up(word, lab)
    with captured_on(pair.a) as capture:
        rekeying(vpn).rekey(pair.path)
        assert any(vpn.is_handshake(packet) for packet in capture.packets())
    assert answered(vpn, pair) == (PINGS, PINGS)
    vpn.stop(pair)


@pytest.mark.parametrize("word", ["strongswan/esp-aes256gcm"])
def test_a_vpn_that_waits_for_a_processor_is_not_dead(lab: LabFactory, word: str) -> None:
    vpn, pair = up(word, lab)
    daemon = vpn.processes["b"][0].pid
    with Probe(pair.a) as a, Probe(pair.b) as b:
        os.kill(daemon, signal.SIGSTOP)
        threading.Timer(0.8, os.kill, (daemon, signal.SIGCONT)).start()
        checks = before(Session(pair, vpn, pair.path, a, b))
    assert [check for check in checks if not check.passed] == []
    vpn.stop(pair)


@pytest.mark.parametrize("word", ["strongswan/esp-aes256gcm"])
def test_what_it_has_held_back_too_long_meets_no_closed_port(lab: LabFactory, word: str) -> None:
    vpn, pair = up(word, lab)
    daemon = vpn.processes["b"][0].pid
    with Probe(pair.a) as a, Probe(pair.b) as b:
        session = Session(pair, vpn, pair.path, a, b)
        stream = UdpStream(to=session.inner(pair.b), sizes=(512,), duration_s=0.2, rate_pps=5000)
        run = UdpRun(session, stream)
        with session.watch(sample_one_in=1) as watched:
            run.start()
            os.kill(daemon, signal.SIGSTOP)
            found = run.finish()
            os.kill(daemon, signal.SIGCONT)
            # Behind all that was held back.
            ask = ["ping", "-q", "-c", "1", "-W", "5", str(vpn.inner(pair.b).ip)]
            assert pair.a.run(ask).returncode == 0
    assert found.unique < found.sent.packets
    device = watched.nodes["b"].accounted.device(pair.b.underlay.device)
    assert device is not None
    assert device.tx_packets == 1  # the answer to the ping
    vpn.stop(pair)


def test_wireguard_waits_for_its_own_timer(
    lab: LabFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    vpn, pair = up("wireguard/go", lab)
    monkeypatch.setattr(type(vpn), "rekey_deadline_s", 0.2)
    with pytest.raises(VpnError, match="renewed its keys"):
        rekeying(vpn).rekey(pair.path)
    vpn.stop(pair)


@pytest.mark.parametrize(
    ("word", "event"),
    [
        ("openvpn/aes-256-gcm", lambda vpn, pair: rekeying(vpn).rekey(pair.path)),
        ("openvpn/aes-256-cbc+psk", lambda vpn, pair: dropping(vpn).drop(pair.path)),
        ("vxlan/plain", lambda vpn, pair: dropping(vpn).drop(pair.path)),
        ("vxlan/plain", lambda vpn, pair: vpn.crash(pair.a)),
        ("none", lambda vpn, pair: rekeying(vpn).rekey(pair.path)),
    ],
    ids=["rekey", "drop with a static key", "drop without keys", "crash", "rekey of nothing"],
)
def test_what_a_vpn_cannot_is_said(
    lab: LabFactory, word: str, event: Callable[[Vpn, Lab], None]
) -> None:
    vpn, pair = up(word, lab)
    with pytest.raises(NotPossible) as caught:
        event(vpn, pair)
    assert caught.value.remedy
    vpn.stop(pair)
