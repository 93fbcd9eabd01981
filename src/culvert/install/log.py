"""The effort of installing each VPN on this machine, recorded for later runs.

Installation effort is a result (mackey2020), but only of the installation that did the work: a
second one, with everything installed, takes seconds and is not a result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from culvert import tools
from culvert.errors import UsageError
from culvert.files.plain import read_plain
from culvert.files.target import give_to_caller, make_directory
from culvert.journal.record import InstallRecord
from culvert.json_text import read_json

if TYPE_CHECKING:  # it imports Ansible, which a run does not need
    from culvert.install.roles import InstallResult

FILE = "installs.jsonl"
MOST_BYTES = 16 << 20


def remember(results: Sequence[InstallResult]) -> None:
    """Append results on this machine that installed something. Raises UsageError."""
    append(
        [
            InstallRecord(
                result.vpn,
                result.role,
                result.duration_s,
                result.changed,
                result.ok,
                result.version or "",
            )
            for result in results
            if result.role is not None and (result.changed or not result.ok)
        ]
    )


def append(records: Sequence[InstallRecord]) -> None:
    """One JSON object a line. Raises UsageError."""
    if not records:
        return
    lines = [asdict(one) | {"at": one.at.isoformat(timespec="seconds")} for one in records]
    try:
        make_directory(tools.tools_directory())
        with (tools.tools_directory() / FILE).open("ab") as file:
            give_to_caller(file.fileno())
            file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    except OSError as error:
        raise UsageError(
            str(tools.tools_directory() / FILE),
            f"the duration of the installation cannot be written: {error.strerror}",
            "free some space, or set CULVERT_TOOLS to a directory that can be written to",
        ) from error


def latest_installs(vpns: Collection[str]) -> list[InstallRecord]:
    """The latest installation that installed something, for each VPN of a study (ids with
    variants)."""
    names = {vpn.partition("/")[0] for vpn in vpns}
    latest: dict[str, InstallRecord] = {}
    for line in _lines():
        record = _record(line)
        if record is not None and record.vpn.partition("/")[0] in names:
            latest[record.vpn] = record
    return list(latest.values())


def _record(line: str) -> InstallRecord | None:
    try:
        entry = read_json(line)
        record = InstallRecord(
            vpn=str(entry["vpn"]),
            role=str(entry["role"]),
            duration_s=float(entry["duration_s"]),
            changed=bool(entry["changed"]),
            ok=bool(entry["ok"]),
            version=str(entry["version"] or ""),
            at=datetime.fromisoformat(entry["at"]).astimezone(UTC),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None  # a truncated line: the installation itself may be complete
    return record if math.isfinite(record.duration_s) else None


def _lines() -> list[str]:
    lines: list[str] = []
    for directory in reversed(tools.tool_directories()):
        with suppress(OSError, UsageError):  # no log, no permission to read it, or no file
            text = read_plain(directory / FILE, MOST_BYTES).decode(errors="replace")
            lines += text.splitlines()
    return lines
