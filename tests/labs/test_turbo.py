"""Turbo boost of a machine: read, and required."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.labs.cpu.turbo import require_turbo, turbo
from culvert.labs.this_machine import ThisMachine
from culvert.machine.record.cpu import BOOST, NO_TURBO


class Files(ThisMachine):
    """A machine with these files."""

    def __init__(self, **files: str) -> None:
        places = {"no_turbo": NO_TURBO, "boost": BOOST}
        self.files = {places[name]: text for name, text in files.items()}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path].encode()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"no_turbo": "1\n"}, False),
        ({"no_turbo": "0\n"}, True),
        ({"boost": "1\n"}, True),
        ({"boost": "0\n"}, False),
        ({}, None),
    ],
)
def test_the_state_is_that_of_the_drivers_file(
    files: dict[str, str], expected: bool | None
) -> None:
    assert turbo(Files(**files)) is expected


def test_every_machine_must_have_the_state_and_report_it() -> None:
    on, off, silent = Files(boost="1"), Files(no_turbo="1"), Files()
    require_turbo(False, [off, off])
    require_turbo(True, [on])
    with pytest.raises(NotPossible, match="is on") as caught:
        require_turbo(False, [off, on])
    assert f"write 1 to {NO_TURBO}" in caught.value.remedy
    with pytest.raises(NotPossible, match="is not reported"):
        require_turbo(True, [silent])
