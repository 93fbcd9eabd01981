"""One clear packet between hosts, or one beside the tunnel: it is found, the trial is invalid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.measurements.udp.udp import Udp, UdpParameters
from culvert.results import Status
from culvert.run.trials.paths import open_session
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from tests.proof.planted import CLEAR, HEADERS, assert_each_is_found, send
from tests.run.cells import measure, vpn
from tests.vpns.tunnels import bring_up, driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.slow]
LOAD = {"duration": "500ms", "packet_size": 1000, "rate": "50Mbit/s"}


@pytest.mark.parametrize("text", ["wireguard/go", "openvpn/aes-256-gcm"])
def test_one_packet_between_hosts_is_found(fleet: Fleet, text: str) -> None:
    if reason := skip_reason(text):
        pytest.skip(reason)
    with ExitStack() as stack:
        lab = stack.enter_context(HostsLab(fleet, LabSpec()))
        tunnel = driver(text)
        stack.callback(tunnel.stop, lab)
        bring_up(tunnel, lab)
        assert_each_is_found(open_session(stack, lab, tunnel, lab.path), text)


def test_one_packet_beside_super_packets_is_found() -> None:
    with (
        DemoHosts(link=LinkSpec(offloads=True)) as demo,
        Fleet(read_inventory(demo.inventory), new_run_id()) as fleet,
    ):
        test_one_packet_between_hosts_is_found(fleet, "wireguard/go")


class OneInClear(Udp):
    """A load, and one packet to the tunnel's port whose payload is clear."""

    def run(self, session: Session, parameters: UdpParameters) -> Outcome:
        watch = session.watch
        clear = HEADERS["wireguard/go"] + CLEAR["8 bytes, from within"](session.canary)

        @contextmanager
        def planted(**words: Any) -> Iterator[Watched]:
            with watch(**words) as found:
                session.source.run(send(session, clear, 1))
                yield found

        session.watch = planted  # type: ignore[method-assign]
        return super().run(session, parameters)


def test_a_trial_between_hosts_with_one_clear_packet_is_invalid(fleet: Fleet) -> None:
    def make_lab(spec: LabSpec) -> HostsLab:
        return HostsLab(fleet, spec)

    honest = measure(vpn("wireguard/go"), Udp(), LOAD, make_lab=make_lab)
    assert (honest.status, honest.reason) == (Status.OK, "")
    finding = measure(vpn("wireguard/go"), OneInClear(), LOAD, make_lab=make_lab)
    assert finding.status is Status.INVALID
    failures = {check.name: check.detail for check in finding.evidence.checks if not check.passed}
    (name,) = (each for each in failures if each.startswith("no clear text on the underlay"))
    assert failures[name].startswith("the canary was readable in 1 packets")
