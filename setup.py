"""What pyproject.toml cannot declare: a wheel has programs, and no extension of one Python."""

from __future__ import annotations

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class WheelOfPrograms(bdist_wheel):
    """Of every Python 3, on one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, ABI and platform (packaging.python.org, platform compatibility tags)."""
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"bdist_wheel": WheelOfPrograms})
