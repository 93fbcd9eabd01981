"""What ``ansible-inventory --list`` prints. It takes a second: ``begin`` starts it early, with few
imports."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from culvert import tools
from culvert.console import err
from culvert.errors import UsageError
from culvert.json_text import read_json

QUIET_S = 3.0
"""Longest time without a word: 20,000 hosts take Ansible 13 s."""

_begun: dict[Path, subprocess.Popen[bytes]] = {}


def begin(path: Path) -> None:
    """Start to read an inventory, for a later ``of``. Raises NotPossible without Ansible,
    UsageError without an inventory.

    Ctrl-C reaches the program too, with a program that is the inventory."""
    if not (path.is_file() or path.is_dir()):
        why = "is neither a file nor a directory" if path.exists() else "does not exist"
        raise UsageError(f"inventory {path}", why, "check the path")
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
        env={
            # Ansible's own is in the home directory, which an account may not have.
            "ANSIBLE_LOCAL_TEMP": tempfile.gettempdir(),
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
    what, see = f"inventory {path}", f"see `ansible-inventory -i {shlex.quote(str(path))} --list`"
    with _begun.pop(path) as process:
        try:
            printed, errors = process.communicate(timeout=QUIET_S)
        except subprocess.TimeoutExpired:
            err.print(f"reading {what}", markup=False)
            printed, errors = process.communicate()
    if process.returncode == 0:
        try:
            return dict(read_json(printed))
        except (TypeError, ValueError) as error:
            why = f"what Ansible prints of it cannot be read: {error}"
            raise UsageError(what, why, see) from error
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines()]
    why = " ".join([line for line in lines if line][-3:]) or "it printed nothing"
    raise UsageError(what, f"Ansible cannot read it: {why}", see)
