"""Package versions from the distribution's package manager."""

from __future__ import annotations

from culvert.labs.host import Host


def package_version(host: Host, package: str) -> str | None:
    """The version of an installed Debian package; None if it is not installed, or without dpkg."""
    query = host.find("dpkg-query")
    if query is None:
        return None
    words = ["--show", "--showformat=${db:Status-Status} ${Version}", package]
    shown = host.run([query, *words], check=False)
    status, _, version = shown.stdout.partition(" ")
    return version.strip() if shown.returncode == 0 and status == "installed" else None
