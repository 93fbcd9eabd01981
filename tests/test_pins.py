"""What `make setup` downloads is pinned by checksum."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
LOCKED = {
    package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
}


def hashed(package: dict[str, Any]) -> bool:
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    return bool(files) and all(file["hash"].startswith("sha256:") for file in files)


def test_pip_installs_nothing_without_a_checksum() -> None:
    recipes = re.findall(r"pip install.*", MAKEFILE)
    assert recipes
    assert all("--require-hashes" in recipe for recipe in recipes)
    text = (ROOT / "uv-requirements.txt").read_text()
    assert re.search(r"^uv==\d+\.\d+\.\d+ \\$", text, re.MULTILINE)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", text)) == 4


def test_what_builds_the_package_is_locked_with_all_that_it_needs() -> None:
    requires = PYPROJECT["build-system"]["requires"]
    assert PYPROJECT["dependency-groups"]["build"] == requires
    assert "sync --locked --inexact --no-build-isolation-package culvert" in MAKEFILE
    assert "build" in PYPROJECT["tool"]["uv"]["default-groups"]
    wanted = dict(requirement.split("==") for requirement in requires)
    assert wanted == {name: LOCKED[name]["version"] for name in wanted}
    seen: set[str] = set()
    while wanted.keys() - seen:
        name = (wanted.keys() - seen).pop()
        seen.add(name)
        wanted |= {needed["name"]: "" for needed in LOCKED[name].get("dependencies", [])}
    assert "semantic-version" in seen
    assert all(hashed(LOCKED[name]) for name in seen)


def test_everything_locked_has_a_checksum() -> None:
    remote = [package for package in LOCKED.values() if "registry" in package["source"]]
    assert len(remote) == len(LOCKED) - 1
    assert all(map(hashed, remote))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_a_wheel_requires_needs_no_compiler(machine: str) -> None:
    wanted, seen = {"culvert"}, set[str]()
    while wanted - seen:
        name = (wanted - seen).pop()
        seen.add(name)
        wanted |= {needed["name"] for needed in LOCKED[name].get("dependencies", [])}
    fits = re.compile(rf"-none-any\.whl$|-manylinux\w*_{machine}[.\w]*\.whl$")
    assert "numpy" in seen
    for name in seen - {"culvert"}:
        assert any(fits.search(wheel["url"]) for wheel in LOCKED[name].get("wheels", [])), name
