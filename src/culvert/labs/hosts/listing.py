"""What ``ansible-inventory --list`` prints. It takes a second: ``begin`` starts it early, with few
imports."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from culvert import tools
from culvert.errors import UsageError

READ_S = 60.0
_begun: dict[Path, subprocess.Popen[str]] = {}


def begin(path: Path) -> None:
    """Start to read an inventory, for a later ``of``. Raises NotPossible without Ansible."""
    beside = Path(sys.executable).parent / "ansible-inventory"
    program = (
        beside
        if beside.exists()
        else tools.require("ansible-inventory", f"{sys.executable} -m pip install ansible-core")
    )
    _begun[path] = subprocess.Popen(
        [str(program), "-i", str(path), "--list"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            # Otherwise a file that cannot be read is an empty inventory.
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True",
            "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
            "ANSIBLE_FORCE_COLOR": "False",
            "ANSIBLE_NOCOLOR": "True",
        },
    )


def of(path: Path) -> dict[str, Any]:
    """The inventory, from the program that was begun, if one was. Raises UsageError."""
    if path not in _begun:
        begin(path)
    process = _begun.pop(path)
    what, see = f"inventory {path}", f"see `ansible-inventory -i {shlex.quote(str(path))} --list`"
    try:
        printed, complained = process.communicate(timeout=READ_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise UsageError(what, f"Ansible did not read it within {READ_S:g} s", see) from None
    if process.returncode == 0:
        try:
            found = json.loads(printed)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
    lines = [line.strip() for line in complained.splitlines() if line.strip()]
    why = " ".join(lines[-3:]) or "it printed nothing"
    raise UsageError(what, f"Ansible cannot read it: {why}", see)
