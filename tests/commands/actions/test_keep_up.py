"""The topology of ``culvert up``, as a word of the command line."""

from __future__ import annotations

import pytest

from culvert.commands.actions.keep_up import _shape
from culvert.errors import UsageError


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("star:0", "write star:3"),
        ("mesh:1001", "write mesh:3"),
        ("star:x", "use pair, routed, star:5, mesh:3 or public"),
        ("ring", "use pair, routed, star:5, mesh:3 or public"),
    ],
)
def test_a_mistake_has_a_remedy_of_the_command_line(word: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=f"topology '{word}'") as caught:
        _shape(word)
    assert caught.value.remedy == remedy
