"""The id of a run: every object that a run creates has it in its name."""

from __future__ import annotations

import secrets

RUN_ID = r"[a-z0-9]{4,8}"
"""Short, because names of sockets in a run's directory may have 108 bytes."""


def new_run_id() -> str:
    """Six random hexadecimal digits."""
    return secrets.token_hex(3)
