"""An image's archive imported into this machine's containerd, where the kubelet finds it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from culvert.errors import LabError, NotPossible

NAMESPACE = "k8s.io"
"""The kubelet's namespace of containerd."""
DEADLINE_S = 120.0


def import_archive(path: Path) -> None:
    """Raises NotPossible without ctr, LabError if it fails."""
    ctr = shutil.which("ctr")
    if ctr is None:
        raise NotPossible(
            "the import of the image",
            "ctr, the command of containerd, is missing",
            "run it on a node of the cluster, or push the image: --push REGISTRY/NAME:TAG",
        )
    argv = [ctr, "-n", NAMESPACE, "images", "import", str(path)]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired:
        why = f"ctr did not end within {DEADLINE_S:g} s"
        raise LabError(f"the import of {path}", why, "see the state of containerd") from None
    if done.returncode != 0:
        raise LabError(
            f"the import of {path}",
            (done.stderr.strip() or done.stdout.strip())[-300:] or f"exit code {done.returncode}",
            "run it as root on a node whose containerd runs",
        )
