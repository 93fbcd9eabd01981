"""The package of a new driver, written from templates: driver, role, contract test, README."""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shlex
import shutil
import sys
from importlib import resources
from pathlib import Path
from string import Template

from culvert.errors import UsageError
from culvert.files.target import write
from culvert.vpns import registry

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "driver.py": "src/culvert_$module/driver.py",
    "init.py": "src/culvert_$module/__init__.py",
    "tasks.yml": "src/culvert_$module/ansible/roles/$name/tasks/main.yml",
    "test_driver.py": "tests/test_driver.py",
}
_SUFFIX = ".template"


def write_package(name: str, directory: Path) -> list[Path]:
    """Write the package into a new directory; returns the files, in order.

    Raises UsageError for a name that no VPN can have or another has, or a directory that exists.
    """
    _refuse_name(name)
    if os.path.lexists(directory):
        raise UsageError(str(directory), "exists already", "give another with --out")
    words = {
        "name": name,
        "module": name.replace("-", "_"),
        "cls": _class_name(name),
        "install": install_command(directory),
    }
    templates = resources.files("culvert.vpns.contract").joinpath("templates")
    written = []
    try:
        for template, place in _TEMPLATES.items():
            text = templates.joinpath(f"{template}{_SUFFIX}").read_text("utf-8")
            path = directory / Template(place).substitute(words)
            write(path, Template(text).substitute(words).encode())
            written.append(path)
    except OSError as error:
        raise UsageError(
            str(directory), f"it cannot be written: {error.strerror}", "give another with --out"
        ) from error
    return written


def install_command(package: Path) -> str:
    """What installs a package into this environment, by what there is: uv on PATH, uv that `make
    setup` fetched, or pip, which ensurepip adds."""
    python, target = sys.executable, shlex.quote(str(package))
    fetched = Path(sys.prefix).parent / ".tools/uv/bin/uv"
    uv = "uv" if shutil.which("uv") else str(fetched) if os.access(fetched, os.X_OK) else None
    if uv is not None:
        return f"{shlex.quote(uv)} pip install --python {shlex.quote(python)} -e {target}"
    python = shlex.quote(python)
    pip = f"{python} -m pip install -e {target}"
    return pip if importlib.util.find_spec("pip") else f"{python} -m ensurepip && {pip}"


def _refuse_name(name: str) -> None:
    known = registry.installed()
    roles = resources.files("culvert").joinpath("ansible/roles").iterdir()
    if not _NAME.fullmatch(name):
        why = "has characters other than a-z, 0-9 and -"
    elif name in known.drivers or name in known.broken:
        why = "is that of a VPN that is installed"
    elif name in {role.name for role in roles}:
        why = "is that of one of Culvert's roles"
    elif keyword.iskeyword(_class_name(name)):
        why = "would make a class with the name of a Python keyword"
    else:
        return
    raise UsageError(f"name '{name}'", why, "use another, such as myvpn")


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
