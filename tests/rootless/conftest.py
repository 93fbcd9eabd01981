"""An ordinary user, where root can make one and the kernel lets them have namespaces."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.machine import rootless
from tests.unprivileged import User


@pytest.fixture
def user() -> Iterator[User]:
    """Skips where an ordinary user gets no namespaces. (pytest's own directories are root's.)"""
    refusal = rootless.refusal()
    if refusal is not None:
        pytest.skip(f"{refusal.why}: {refusal.remedy}")
    with tempfile.TemporaryDirectory(prefix="culvert-user-") as directory:
        Path(directory).chmod(0o755)
        yield User.at(Path(directory) / "home")
