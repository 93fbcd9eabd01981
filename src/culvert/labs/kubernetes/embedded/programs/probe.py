"""The static probe of pods: it needs nothing of an image's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import culvert
from culvert import tools
from culvert.errors import NotPossible
from culvert.labs.building import alone, run_step
from culvert.labs.probes import static_probe

_CHECKOUT = Path(culvert.__file__).parents[2]
"""Of an editable installation: it has the sources of the probe."""


def build_probe(say: Callable[[str], None]) -> None:
    """Build it where the sources are: minutes at first, a moment if nothing has changed.

    Raises NotPossible without the sources and without a probe that was built before.
    """
    if not (_CHECKOUT / "crates/probe/Cargo.toml").is_file():
        static_probe("the image of the embedded cluster's pods")
        return
    if shutil.which("cargo") is None:
        raise NotPossible("cargo", "is not on PATH", "install Rust (README.md says which version)")
    home = tools.tools_directory() / "probes"
    with alone(home):
        say("compiling the static probe")
        run_step(
            ["make", "-C", str(_CHECKOUT), "probe-static", f"TOOLS={home.parent}"],
            home,
            what="the static probe",
            remedy=f"run `make probe-static` in {_CHECKOUT}",
            progress=lambda lines: say(f"  {lines} lines of cargo's output"),
        )
