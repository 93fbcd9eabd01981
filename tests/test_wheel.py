"""The wheel is for every Python 3 on one platform, and the source distribution can build it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.test_pins import ROOT

_TAG = """
from distutils.core import run_setup
wheel = run_setup("setup.py", stop_after="init").get_command_obj("bdist_wheel")
wheel.ensure_finalized()
print(*wheel.get_tag())
"""


def python(*words: object) -> str:
    argv = [sys.executable, *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_tag_names_the_platform_alone() -> None:
    names = python("-c", "import setuptools\n" + _TAG).split()
    assert names[:2] == ["py3", "none"]
    assert names[2].startswith("linux_")


def test_what_cargo_needs_is_in_the_source_distribution(tmp_path: Path) -> None:
    here = ["egg_info", "--egg-base", tmp_path]
    python("setup.py", "-q", *here, "sdist", "--formats", "tar", "--dist-dir", tmp_path)
    (archive,) = tmp_path.glob("culvert-*.tar")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    crates = [*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("crates/*/src/**/*.rs")]
    needed = [ROOT / "Cargo.toml", ROOT / "Cargo.lock", *crates]
    assert len(crates) > 2
    assert {str(path.relative_to(ROOT)) for path in needed} <= names
