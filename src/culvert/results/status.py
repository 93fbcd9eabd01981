"""The result of a trial."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The result of a trial. All except OK have a reason and a remedy."""

    OK = "ok"
    INVALID = "invalid"
    """Measured, but not proved: its figures do not count."""
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
