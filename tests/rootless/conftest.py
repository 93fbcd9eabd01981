"""An ordinary user, where root can make one and the kernel lets them have namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.machine import rootless
from tests.unprivileged import User


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Skips where an ordinary user gets no namespaces."""
    refusal = rootless.refusal()
    if refusal is not None:
        pytest.skip(f"{refusal.why}: {refusal.remedy}")
    return User.at(tmp_path / "home")
