"""Only regular files are read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.files.plain import open_plain, read_plain
from tests.effort import cpu_s


@pytest.mark.parametrize("what", ["pipe", "device", "directory", "socket"])
def test_only_plain_files_are_read_and_nobody_waits(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "directory":
            path.mkdir()
        case _:
            subprocess.run(
                ["python3", "-c", f"import socket; socket.socket(1).bind('{path}')"], check=True
            )
    begun = cpu_s()
    with pytest.raises(UsageError, match="not a file"):
        open_plain(path)
    with pytest.raises(UsageError):
        read_plain(path, 10)
    assert cpu_s() - begun < 1


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("precious")
    assert read_plain(path, 8) == b"precious"
    with pytest.raises(UsageError, match="larger"):
        read_plain(path, 3)
