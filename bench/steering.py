"""Where received packets are processed: on the receiver's CPUs, whoever sends.

A veth hands a packet over in its sender's context, so that a sender would pay for the receiver's
half of the kernel. Receive packet steering (RPS) on the receiving end puts that half onto the
receiver's CPUs, for every contestant alike.
"""

from __future__ import annotations

from culvert.errors import NotPossible
from culvert.labs.base import Lab


def steer_to_receiver(lab: Lab) -> None:
    """Switch RPS on at node b's end of the link; the nodes must have CPUs of their own."""
    if not lab.b.cpus:
        raise NotPossible("steering received packets", "the nodes share all CPUs", "use two CPUs")
    mask = f"{sum(1 << cpu for cpu in lab.b.cpus):x}"
    file = f"/sys/class/net/{lab.b.underlay.device}/queues/rx-0/rps_cpus"
    lab.b.run(["sh", "-c", f"echo {mask} > {file}"])
