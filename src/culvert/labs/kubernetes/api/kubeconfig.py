"""Which kubeconfigs are read; the client checks what is in them."""

from __future__ import annotations

import os
from pathlib import Path

from culvert.errors import UsageError


def files_of(kubeconfig: Path | None) -> list[Path]:
    """The given one; else those of $KUBECONFIG or the user's own, as far as they exist. Raises
    UsageError for one that is not a file."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = (
        [Path(os.path.expanduser(name)) for name in named.split(":") if name]  # noqa: PTH111
        if kubeconfig is None
        else [kubeconfig]
    )
    found = [path for path in paths if kubeconfig is not None or os.path.lexists(path)]
    for path in found:
        if not path.is_file():
            why = "is not a file" if os.path.lexists(path) else "the file does not exist"
            raise UsageError(
                f"the kubeconfig {path}",
                why,
                "name one with --kubeconfig, and a context in it with --context",
            )
    return found
