"""The largest inner packet that crosses unfragmented: measured with packets, not computed.

dekker2020's table 3 lists these. They depend on the cipher and on the tunnel's MTU. A tunnel whose
MTU is too large fragments its outer packets, which the inner network does not see.
"""

from __future__ import annotations

from dataclasses import replace

from culvert.errors import VpnError
from culvert.labs.witness import View
from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS
from culvert.probe.results import EchoOnce, parse
from culvert.trial.session import Session

ATTEMPTS = 3
LOSSY_ATTEMPTS = 12
"""On a link with loss more attempts are needed, or a random loss would count as too large."""
TIMEOUT_MS = 150


def find_max_size(session: Session) -> int:
    """Largest inner IP packet in bytes that is answered and not fragmented on the underlay."""
    tunnel = session.vpn.id, session.lab.spec.underlay, str(replace(session.link, seed=0))
    return session.max_sizes.of(tunnel, lambda: _search(session))


def _search(session: Session) -> int:
    mtu = session.inner_mtu(session.source)
    if mtu is None:
        raise VpnError(session.vpn.id, "its interface is gone", "see the VPN's log")
    echo = session.b.begin(
        "echo", bind=session.inner(session.target), token=session.token, idle_s=30
    )
    port = echo.port()
    try:
        low, high = SMALLEST, mtu + 1
        if _crosses(session, port, mtu):
            return mtu
        if not _crosses(session, port, low):
            raise VpnError(
                session.vpn.id,
                f"not even {low}-byte packets cross unfragmented",
                "try it in 'culvert up'",
            )
        while high - low > 1:
            middle = (low + high) // 2
            if _crosses(session, port, middle):
                low = middle
            else:
                high = middle
        return low
    finally:
        echo.stop()


def _crosses(session: Session, port: int, size: int) -> bool:
    attempts = LOSSY_ATTEMPTS if session.link.impairment else ATTEMPTS
    timeout_ms = session.patience_ms(TIMEOUT_MS)
    capture = session.outside.begin(session.source.name, View.SENT, record=0)
    capture.ready()
    answer = session.a.call(
        "echo_once",
        attempts * timeout_ms / 1000 + 5,
        to=session.inner(session.target),
        port=port,
        payload_size=size - UDP_HEADERS,
        df=True,
        attempts=attempts,
        timeout_ms=timeout_ms,
        **session.marks,
    )
    captured = capture.end()
    return parse(EchoOnce, answer).answered and captured.fragments == 0
