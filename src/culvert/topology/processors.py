"""What a condition asks of the processors, and of how packets are dealt to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Steering:
    """Receive packet steering, receive flow steering, transmit packet steering on the underlay's
    devices (the kernel's Documentation/networking/scaling.rst). None: as the kernel has them."""

    rps: bool | None = None
    rfs: bool | None = None
    xps: bool | None = None

    def __bool__(self) -> bool:
        return any(asked is not None for asked in (self.rps, self.rfs, self.xps))


UNSTEERED = Steering()


@dataclass(frozen=True)
class Processors:
    """``quota`` maps a node's name to the share of each of its CPUs that its programs get.

    ``aes`` False keeps programs from using AES instructions, True wants a processor that has them,
    None takes it as it is.
    """

    aes: bool | None = None
    quota: Mapping[str, float] = field(default_factory=dict)
    steering: Steering = UNSTEERED
    interrupts: tuple[int, ...] = ()
    """The CPUs that take the machine's interrupts; empty: as it is."""


AS_THEY_ARE = Processors()
