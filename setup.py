"""What pyproject.toml cannot declare: a wheel has programs, and no extension of one Python."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

REPOSITORY = "https://github.com/culvert/culvert"
MUSL = "-unknown-linux-musl"
"""Ends the name of a target whose programs are static: they run beside every C library."""


class WheelOfPrograms(bdist_wheel):
    """Of every Python 3, on one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, ABI and platform (packaging.python.org, platform compatibility tags)."""
        target = os.environ.get("CARGO_BUILD_TARGET", "")  # as setuptools-rust reads it
        if not target.endswith(MUSL):
            return "py3", "none", super().get_tag()[2]
        machine = target.removesuffix(MUSL)
        return "py3", "none", f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """With the bill of materials that a release leaves in ``sboms`` (PEP 770)."""
        super().egg2dist(egginfo_path, distinfo_path)
        if Path("sboms").is_dir():
            shutil.copytree("sboms", Path(distinfo_path) / "sboms")


def readme() -> str:
    """With absolute links: an index shows it without the repository."""
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[([^]]*)\]\((?!https?:)", rf"![\1]({REPOSITORY}/raw/main/", text)
    return re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#)", rf"[\1]({REPOSITORY}/blob/main/", text)


setup(
    cmdclass={"bdist_wheel": WheelOfPrograms},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
