"""A condition's settings of the processors, and of packet steering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Steering:
    """Receive packet steering, receive flow steering, transmit packet steering on the underlay's
    devices (the kernel's Documentation/networking/scaling.rst). None: the kernel's settings."""

    rps: bool | None = None
    rfs: bool | None = None
    xps: bool | None = None

    def __bool__(self) -> bool:
        return any(setting is not None for setting in (self.rps, self.rfs, self.xps))


UNSTEERED = Steering()


@dataclass(frozen=True)
class Processors:
    """``quota`` maps a node's name to the share of each of its CPUs that its programs get.

    ``aes`` False keeps programs from using AES instructions, True requires a processor that has
    them, None leaves it unchanged.
    """

    aes: bool | None = None
    quota: Mapping[str, float] = field(default_factory=dict)
    steering: Steering = UNSTEERED
    interrupts: tuple[int, ...] = ()
    """The CPUs that handle the machine's interrupts; empty: unchanged."""


AS_THEY_ARE = Processors()
