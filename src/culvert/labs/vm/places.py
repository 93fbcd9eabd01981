"""Where guest kernels are kept."""

from __future__ import annotations

import os
from pathlib import Path

from culvert.tools import tools_directory


def kernels() -> Path:
    """Built and fetched kernels, one folder each: with Culvert's tools where that can be written
    (or read, if there are kernels already), else in the user's cache."""
    shared = tools_directory() / "kernels"
    if shared.is_dir() or os.geteuid() == 0:
        return shared
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "culvert" / "kernels"
