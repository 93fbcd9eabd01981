"""The directories of guest kernels."""

from __future__ import annotations

from pathlib import Path

from culvert.privilege import is_root
from culvert.tools import cache_directory, tool_directories, tools_directory

_FOLDER = "kernels"


def kernels() -> Path:
    """Where kernels are built and fetched, one folder each: with root's tools, or in the user's
    cache."""
    return (tools_directory() if is_root() else cache_directory()) / _FOLDER


def found(pattern: str) -> list[Path]:
    """The folders of that name: the user's own, and those with Culvert's tools."""
    places = dict.fromkeys((kernels(), *(each / _FOLDER for each in tool_directories())))
    return [path for place in places for path in place.glob(pattern)]
