"""One role, run with variables of a test; optionally within a namespace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert import tools
from culvert.install.roles import ANSIBLE, playbook_program


@dataclass(frozen=True)
class Applied:
    """Whether the role succeeded, how many of its tasks changed something, and its output."""

    ok: bool
    changed: int
    output: str


def apply(
    role: str,
    variables: Mapping[str, object],
    home: Path,
    *,
    within: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    path: Sequence[Path] = (),
) -> Applied:
    """Apply a role of the package to this machine; ``path`` is searched for programs first."""
    done = subprocess.run(
        [
            *within,
            str(playbook_program()),
            "--inventory=this-machine,",
            "--connection=local",
            str(ANSIBLE / "install.yml"),
            "--extra-vars",
            json.dumps(
                {"culvert_role": role, "ansible_python_interpreter": sys.executable, **variables}
            ),
        ],
        env={
            "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_REMOTE_TMP": str(home / "remote"),
            "LC_ALL": "C.UTF-8",
            "HOME": str(home),
            "PATH": os.pathsep.join((*map(str, path), tools.search_path())),
            **(environment or {}),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"changed=(\d+)", done.stdout)
    return Applied(
        done.returncode == 0, int(counted[1]) if counted else 0, done.stdout + done.stderr
    )
