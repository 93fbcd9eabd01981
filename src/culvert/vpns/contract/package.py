"""The package of a new driver, written from templates: driver, role, contract test, README."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path
from string import Template

from culvert.errors import UsageError
from culvert.files.folder import any_folder

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

    Raises UsageError for a name that no VPN can have, or a directory that exists.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"name '{name}'", "has characters other than a-z, 0-9 and -", "use myvpn")
    if os.path.lexists(directory):
        raise UsageError(str(directory), "exists already", "give another with --out")
    words = {"name": name, "module": name.replace("-", "_"), "cls": _class_name(name)}
    templates = resources.files("culvert.vpns.contract").joinpath("templates")
    written = []
    try:
        with any_folder(directory, make=True) as folder:
            for template, place in _TEMPLATES.items():
                text = templates.joinpath(f"{template}{_SUFFIX}").read_text("utf-8")
                path = Template(place).substitute(words)
                with folder.inside(path) as (below, last):
                    below.write(last, Template(text).substitute(words).encode())
                written.append(directory / path)
    except OSError as error:
        raise UsageError(
            str(directory), f"it cannot be written: {error.strerror}", "give another with --out"
        ) from error
    return written


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
