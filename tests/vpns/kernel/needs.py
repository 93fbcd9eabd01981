"""A kernel that lacks something skips a test; a guest kernel of ours must lack nothing."""

from __future__ import annotations

import pytest

from culvert.vm.inside import guest

from ..tunnels import skip_reason


def require(word: str) -> None:
    """Skip, or in a guest fail, where the VPN cannot run."""
    why_not = skip_reason(word)
    if why_not and guest() is not None:
        pytest.fail(f"{word} cannot run in the guest: {why_not}")
    if why_not:
        pytest.skip(why_not)
