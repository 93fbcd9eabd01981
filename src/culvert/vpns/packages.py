"""Versions as the distribution's package manager knows them."""

from __future__ import annotations

import subprocess


def package_version(package: str) -> str | None:
    """The version of an installed Debian package; None where there is no such one, or no dpkg."""
    try:
        told = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    status, _, version = told.stdout.partition(" ")
    return version.strip() if told.returncode == 0 and status == "installed" else None
