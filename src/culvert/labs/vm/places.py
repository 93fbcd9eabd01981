"""The directory of guest kernels."""

from __future__ import annotations

from pathlib import Path

from culvert.privilege import is_root
from culvert.tools import cache_directory, tool_directories, tools_directory


def kernels() -> Path:
    """Built and fetched kernels, one folder each: in the directory of Culvert's tools if it is
    writable (or readable with kernels in it), else in the user's cache."""
    if is_root():
        return tools_directory() / "kernels"
    for directory in tool_directories():
        if (directory / "kernels").is_dir():
            return directory / "kernels"
    return cache_directory() / "kernels"
