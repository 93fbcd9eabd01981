"""Names of metrics and measurements that have changed. Journals and studies with the old ones are
read under the new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

RENAMED: Mapping[str, str] = {
    "path_switch": "failover",
    "to_relay_blocked_ms": "to_relay_outage_ms",
    "to_direct_blocked_ms": "to_direct_outage_ms",
    "blocked_ms": "outage_ms",
    "hold_ms": "enforcement_delay_ms",
    "cpu_foreign_s": "cpu_other_processes_s",
}
"""The new name by the old one."""
_OLD = re.compile(rf"\b({'|'.join(RENAMED)})\b")


def renamed(text: str) -> str:
    """A text, such as the test of a claim, with the new names."""
    return _OLD.sub(lambda found: RENAMED[found[1]], text)


def spellings(name: str) -> tuple[str, ...]:
    """A name, and those that it had before."""
    return (name, *(old for old, new in RENAMED.items() if new == name))
