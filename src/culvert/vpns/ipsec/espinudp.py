"""The UDP socket on which the kernel receives ESP (RFC 3948); it lives as long as a program.

Packets with an SPI go from there to the kernel's IPsec, for manual keys and IKE alike.
"""

from __future__ import annotations

import sys

from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import wait_for_fact
from culvert.vpns.ipsec.esp import NAT_PORT

_HOLD = """
import signal, socket, sys
UDP_ENCAP, UDP_ENCAP_ESPINUDP = 100, 2  # linux/udp.h
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.setsockopt(socket.IPPROTO_UDP, UDP_ENCAP, UDP_ENCAP_ESPINUDP)
held.bind(("0.0.0.0", int(sys.argv[1])))
print("bound", flush=True)
signal.pause()
"""
_DEADLINE_S = 10.0


def hold(vpn: str, node: Node) -> Process:
    """Open it on the node. Raises VpnError with the program's output if it cannot be opened."""
    # -I -S: nothing but Python itself, which starts at once.
    argv = [sys.executable, "-I", "-S", "-c", _HOLD, str(NAT_PORT)]
    process = node.daemon(argv, name="espinudp", capabilities=frozenset())
    wait_for_fact(
        lambda: "bound" in process.log_text(),
        vpn=vpn,
        process=process,
        what=f"node {node.name} opened UDP port {NAT_PORT} for ESP",
        deadline_s=_DEADLINE_S,
    )
    return process
