"""Variables and limits of whoever starts the command: no traceback, and nothing of them is shown
that controls a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.hidden import IN_PYTHON
from culvert.journal.journal import Journal
from culvert.labs.guest import VARIABLE, guest
from tests.cli import TRACE, culvert
from tests.journal.dummies import HEAD, trial

NASTY = "\x1b[2J\u202eb"
VARIABLES = {
    "columns": {"COLUMNS": "-5", "LINES": "99999999999", "TERM": NASTY},
    "places": {"HOME": f"/{NASTY}", "TMPDIR": "/nowhere", "XDG_CACHE_HOME": "/dev/null"},
    "tools": {"CULVERT_TOOLS": f"/dev/null/{NASTY}", "TZ": "../../etc/passwd"},
    "sudo": {"SUDO_UID": "9" * 5000, "SUDO_GID": "-1"},
}
LIMITS = {
    "files": "ulimit -n 24",
    "sizes": "ulimit -f 0",
    "streams": "exec <&- >&- 2>&-",
    "umask": "umask 777",
}
CODES = (0, 1, 2, 3)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("surroundings") / "results"
    with Journal.create(directory, HEAD) as journal:
        journal.record(trial(0))
    return directory


@pytest.mark.parametrize("name", VARIABLES)
def test_python_variables_have_no_effect(results: Path, name: str) -> None:
    said = culvert("verify", results, env=VARIABLES[name])
    assert said.code == 0, said.err
    assert not re.search(f"[{IN_PYTHON}]", said.out + said.err)


@pytest.mark.parametrize("name", LIMITS)
def test_low_resource_limits_are_errors_without_a_traceback(results: Path, name: str) -> None:
    before = ("sh", "-c", f'{LIMITS[name]}; exec "$@"', "sh")
    said = culvert("verify", results, before=before)
    assert said.code in CODES
    assert TRACE not in said.err
    assert "a defect" not in said.err


@pytest.mark.parametrize(
    "text",
    ["{", "[1]", "[" * 50_000, '{"x": 1}', "7"],
    ids=["half", "list", "deep", "key", "number"],
)
def test_a_variable_that_describes_no_guest(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UsageError, match="does not describe a guest") as caught:
        guest()
    assert caught.value.remedy == f"unset {VARIABLE}"
