"""A run in a guest, in which the nodes are namespaces."""

from __future__ import annotations

from pathlib import Path

from culvert.labs.vm import lab
from culvert.run.request import RunRequest


def run_in_guest(
    request: RunRequest, *, as_json: bool, vehicle: str | None, kernel: Path | None
) -> int:
    """Run the study in a guest; return the exit code."""
    study, _, _ = request.prepared()  # reports errors of the study before a guest starts
    directory = request.directory_for(study).absolute()
    arguments = request.arguments(directory) + (["--json"] if as_json else [])
    return lab.run(arguments, directory, vehicle=vehicle, kernel=kernel)
