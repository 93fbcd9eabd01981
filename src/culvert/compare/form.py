"""Output formats of a comparison, in their own module because --help needs the names."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """For a terminal, for programs, for a pull request, for the test report of a CI system."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
