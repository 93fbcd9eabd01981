"""Starting programs through culvert-probe exec."""

from __future__ import annotations

from pathlib import Path
from subprocess import DEVNULL

import pytest

from culvert.errors import LabError
from culvert.labs.namespace import launch
from culvert.labs.namespace.launch import Launcher


def test_a_program_that_is_not_executed_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = tmp_path / "probe"
    probe.write_text("#!/bin/sh\nexec sleep 1000\n")
    probe.chmod(0o755)
    monkeypatch.setattr(launch, "START_DEADLINE_S", 0.2)
    launcher = Launcher(probe, tmp_path / "netns")
    with pytest.raises(LabError, match=r"start of true: it was not executed within 0.2 s"):
        launcher.start(["true"], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
