"""AmneziaWG: a fork of wireguard-go whose packets a filter does not recognise as WireGuard's.

Not every registry of Go's modules has it, so the host's user builds it.
"""

from __future__ import annotations

from dataclasses import replace

from culvert.vpns.wireguard.device import QUIET, Program
from culvert.vpns.wireguard.packet import Format
from culvert.vpns.wireguard.uapi import Pair

AMNEZIA = Program(
    "amneziawg-go",
    environment=QUIET,
    sockets="/run/amneziawg",
    remedy="build https://github.com/amnezia-vpn/amneziawg-go and put it on PATH",
)
_JUNK_PACKETS = 4
_LEAST, _MOST = 40, 70
_FORMAT = Format(
    types=(1_316_174_001, 877_312_609, 1_903_457_218, 502_664_387),
    prefixes=(24, 40, 0, 0),
    junk=(_LEAST, _MOST),
)
"""What all its versions have; any types above 4 do. Nothing is put before data: version 3.1 puts it
before all but the first packet after the setting, which is lost."""


def _settings() -> tuple[Pair, ...]:
    junk = (("jc", str(_JUNK_PACKETS)), ("jmin", str(_LEAST)), ("jmax", str(_MOST)))
    prefixes = ((f"s{number}", str(size)) for number, size in enumerate(_FORMAT.prefixes, start=1))
    types = ((f"h{number}", str(kind)) for number, kind in enumerate(_FORMAT.types, start=1))
    return (*junk, *prefixes, *types)


DISGUISED = replace(AMNEZIA, format=_FORMAT, settings=_settings())
