"""What a VPN's control servers received while a path was measured.

Its ends may have sent as much beside the path's packets.
"""

from __future__ import annotations

from culvert.proof.reconcile import LinkCount
from culvert.topology.graph import Role
from culvert.trial.session import Session
from culvert.trial.watch import Watched


def to_control(session: Session, watched: Watched) -> LinkCount:
    """From all nodes together; nothing where a real link carries other traffic too."""
    nodes = () if session.lab.real_links else session.lab.of_role(Role.CONTROL)
    accounts = [(node, watched.others[node.name]) for node in nodes if node.name in watched.others]
    devices = [used.device(node.underlay.device) for node, used in accounts]
    known = [device for device in devices if device is not None]
    packets = sum(device.rx_packets for device in known)
    frame_bytes = sum(device.rx_bytes for device in known)
    return LinkCount.of_frames(packets, frame_bytes, "the control servers")
