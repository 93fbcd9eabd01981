"""The cause of a trial that does not count: the check that did not pass, else the reason without
the parts that differ each time (time stamps, process ids, ports, keys)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from culvert.results import Status

_CHANGING = re.compile(
    r"[\w+/]{4}\u2026[\w+/=]{4}"  # a key as WireGuard's programs shorten it
    r"|(?<![\w+/])[A-Za-z0-9+/]{43}="  # a key of 32 bytes in base64
    r"|\b(?=[0-9a-f]*\d)(?:0x)?[0-9a-f]{6,}\b"  # an address or an id in hex
    r"|\d+(?:[.,]\d+)*"
)


def cause_of(status: Status, reason: str, evidence: Mapping[str, Any]) -> str:
    """Equal for trials of one VPN that have the same cause.

    ``evidence`` is the journal's JSON; without checks the reason decides.
    """
    if status is Status.INVALID:
        for check in evidence.get("checks", ()):
            if not check["passed"]:
                return str(check["name"])
    return _CHANGING.sub("#", reason)
