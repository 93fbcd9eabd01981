"""A kernel that lacks something skips a test; a guest kernel of ours must lack nothing."""

from __future__ import annotations

import pytest

from culvert.labs.guest import guest
from tests.here import HERE

from ..tunnels import driver, skip_reason


def require(word: str) -> None:
    """Skip where the VPN cannot run, or in a guest fail if more than a program is missing."""
    why_not = skip_reason(word)
    of_the_kernel = [lack for lack in driver(word).missing(HERE) if not lack.installable]
    if of_the_kernel and guest() is not None:
        pytest.fail(f"{word} cannot run in the guest: {why_not}")
    if why_not:
        pytest.skip(why_not)
