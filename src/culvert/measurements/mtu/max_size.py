"""The largest inner packet that crosses unfragmented: measured with packets, not computed.

dekker2020's table 3 lists these. They depend on the cipher and on the tunnel's MTU. A tunnel whose
MTU is too large fragments its outer packets, which the inner network does not see.
"""

from __future__ import annotations

from dataclasses import replace

from culvert.errors import VpnError
from culvert.labs.node import Node
from culvert.measurements.mtu.path import largest
from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS
from culvert.trial.echo import Echo
from culvert.trial.outside import View
from culvert.trial.session import Session

ATTEMPTS = 3
LOSSY_ATTEMPTS = 12
"""On a link with loss more attempts are needed, or a random loss would count as too large."""
TIMEOUT_MS = 150


def find_max_size(session: Session) -> int:
    """Largest inner IP packet in bytes that is answered and not fragmented on the underlay."""
    spec, link = session.lab.spec, str(replace(session.link, seed=0))
    tunnel = session.vpn.id, spec.underlay, spec.inner, link
    return session.max_sizes.of(tunnel, lambda: _search(session))


def interface_mtu(session: Session, node: Node) -> int:
    """The MTU of a node's interface of the VPN. Raises VpnError if the interface is gone."""
    mtu = session.inner_mtu(node)
    if mtu is None:
        raise VpnError(session.vpn.id, "its interface is gone", "see the VPN's log")
    return mtu


def _search(session: Session) -> int:
    mtu = interface_mtu(session, session.source)
    with Echo(session, idle_s=30) as echo:
        found = largest(SMALLEST, mtu, lambda size: _crosses(session, echo, size))
    if found is None:
        raise VpnError(
            session.vpn.id,
            f"not even {SMALLEST}-byte packets cross unfragmented",
            "try pings in a tunnel that 'culvert up' keeps",
        )
    return found


def _crosses(session: Session, echo: Echo, size: int) -> bool:
    capture = session.outside.begin(session.source.name, View.NODE, record=0)
    capture.ready()
    answer = echo.once(
        size - UDP_HEADERS,
        df=True,
        attempts=LOSSY_ATTEMPTS if session.link.impairment else ATTEMPTS,
        timeout_ms=session.patience_ms(TIMEOUT_MS),
    )
    return capture.end().fragments == 0 and answer.answered
