"""How a comparison is written, apart from the code that does it: --help needs the names."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """For people, for programs, for a pull request, for a CI's test report."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
