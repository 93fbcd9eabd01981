"""The properties of the guest that a command runs in, passed in an environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from culvert.errors import UsageError
from culvert.json_text import read_json

VARIABLE = "CULVERT_GUEST"
MOST_NODES = 3


@dataclass(frozen=True)
class Guest:
    """The guest's hypervisor and kernel; ``not_comparable`` is its label, empty if speeds are
    comparable."""

    hypervisor: str
    kernel: str
    not_comparable: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment variable for the commands in the guest."""
        return {VARIABLE: json.dumps(asdict(self))}


def guest() -> Guest | None:
    """The guest that this process runs in; None if it does not run in a guest of Culvert. Raises
    UsageError for a variable of another form."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        return Guest(**{name: str(value) for name, value in read_json(text).items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"the variable {VARIABLE}", "it does not describe a guest", f"unset {VARIABLE}"
        ) from error


def described() -> dict[str, Any]:
    """The guest's properties for the journal's environment; empty outside of a guest."""
    found = guest()
    if found is None:
        return {}
    return {"guest": asdict(found), "not_comparable": found.not_comparable}


def processors(cores: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The cores for the nodes. In a guest without comparable speeds, several nodes share a single
    CPU, so that studies run there unchanged."""
    found = guest()
    if found is not None and found.not_comparable and len(cores) == 1:
        return cores * MOST_NODES
    return cores
