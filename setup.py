"""What pyproject.toml cannot declare: a wheel has programs, and no extension of one Python."""

from __future__ import annotations

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

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


setup(cmdclass={"bdist_wheel": WheelOfPrograms})
