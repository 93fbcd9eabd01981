"""``[build.NAME]``: a build of a VPN's source that one cell measures instead of what is installed.

``wireguard/go@head`` is ``wireguard/go`` whose programs are searched in the directory of the build
``head`` before all others: two builds of one program are two VPNs of a study.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from culvert.study.table import Table

_AT = "@"


class BuildTable(Table):
    """``programs`` is the directory of the built programs, absolute; ``commit`` is that of their
    source."""

    programs: Annotated[str, Field(pattern="^/")]
    commit: str = ""

    @property
    def directory(self) -> Path:
        return Path(self.programs)


def split_build(vpn: str) -> tuple[str, str]:
    """``wireguard/go@head`` as ``wireguard/go`` and ``head``; without a build, an empty name."""
    whole, _, build = vpn.partition(_AT)
    return whole, build


def built(vpn: str, build: str) -> str:
    """A VPN of a build, as a study names it."""
    return f"{vpn}{_AT}{build}" if build else vpn
