"""The wire by hand: what it says and its exit codes are its own."""

from __future__ import annotations

import pytest

from culvert import tools
from culvert.errors import NotPossible
from tests.cli import culvert


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("wire",), "cable"),
        (("wire", "cable", "--help"), "--delay"),
        (("wire", "--version"), "culvert-wire"),
    ],
)
def test_help_is_the_programs_own(words: tuple[str, ...], says: str) -> None:
    said = culvert(*words)
    assert (said.code, says in said.out) == (0, True)


def test_a_wrong_option_has_the_programs_exit_code() -> None:
    said = culvert("wire", "cable", "--colour", "blue")
    assert said.code == 2
    assert "--colour" in said.err


def test_a_program_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find", lambda _: None)
    with pytest.raises(NotPossible) as refused:
        tools.become(["culvert-wire"], "run make setup")
    assert "make setup" in refused.value.remedy
