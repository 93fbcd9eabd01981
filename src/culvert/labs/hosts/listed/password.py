"""The password of sudo on the hosts, as the user types it."""

from __future__ import annotations

from getpass import getpass

from culvert.errors import UsageError

OPTION = "ask-sudo-password"


def typed(*, asked: bool) -> str | None:
    """None if it is not asked for. Raises UsageError if nothing can be typed."""
    if not asked:
        return None
    try:
        return getpass("sudo password on the hosts: ")
    except EOFError:
        raise UsageError(
            f"--{OPTION}",
            "there is no terminal to type it at, and standard input is empty",
            "run it at a terminal, or set ansible_become_password in a vault",
        ) from None
