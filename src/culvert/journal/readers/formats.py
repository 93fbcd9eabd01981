"""The formats of imports, in their own module because --help needs the names."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from culvert.journal.readers.foreign_run import Found


class ForeignFormat(StrEnum):
    """The tool that wrote the results; each has a module of that name with ``read``."""

    KNB = "knb"
    IPERF3 = "iperf3"
    HEY = "hey"
    PING = "ping"
    FLENT = "flent"
    VPN_BENCH = "vpn-bench"


def reader(form: ForeignFormat) -> Callable[[Path], Found]:
    """The reader of the format."""
    module = import_module(f"culvert.journal.readers.{form.name.lower()}")
    read: Callable[[Path], Found] = module.read
    return read
