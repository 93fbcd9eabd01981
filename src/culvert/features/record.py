"""Results of the tests of features, in a file of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from culvert.errors import UsageError
from culvert.features.criteria import Criterion
from culvert.files.plain import read_plain
from culvert.files.target import locked, write
from culvert.json_text import read_json
from culvert.privilege import is_root
from culvert.tools import users_directory

MACHINES = Path("/var/lib/culvert")
_FILE = "features.json"
_LOCK = "features.lock"
MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Record:
    """One test of one VPN. ``holds`` None: the test could not decide, for the reason ``detail``."""

    vpn: str
    criterion: Criterion
    test: str
    holds: bool | None
    detail: str
    version: str
    kernel: str
    at: str
    """ISO 8601, UTC."""


def state_directory() -> Path:
    """$CULVERT_STATE, else root's directory, else the user's (XDG Base Directory Specification)."""
    chosen = os.environ.get("CULVERT_STATE")
    if chosen:
        return Path(chosen)
    if is_root():
        return MACHINES
    return users_directory("XDG_STATE_HOME", ".local/state") / "culvert"


def read_records() -> list[Record]:
    """All records, the oldest first; none if no test ever ran. Raises UsageError if the file cannot
    be read."""
    path = state_directory() / _FILE
    try:
        rows = read_json(read_plain(path, MOST_BYTES))
        return [Record(**{**row, "criterion": Criterion(row["criterion"])}) for row in rows]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(
            str(path), f"it cannot be read: {error}", "remove it, and verify again"
        ) from error


def add_records(new: Iterable[Record]) -> Path:
    """Store records; each replaces an older one of the same VPN and test. Returns the file.

    Two commands at the same time lose none of each other's. Raises UsageError if the file cannot be
    written.
    """
    fresh, path = list(new), state_directory() / _FILE
    replaced = {(one.vpn, one.test) for one in fresh}
    try:
        with locked(path.with_name(_LOCK)):
            kept = [one for one in read_records() if (one.vpn, one.test) not in replaced]
            text = json.dumps([asdict(one) for one in (*kept, *fresh)], indent=1)
            write(path, f"{text}\n".encode())
    except OSError as error:
        raise UsageError(
            str(path),
            f"it cannot be written: {error.strerror}",
            "set CULVERT_STATE to a directory that can be written",
        ) from error
    return path
