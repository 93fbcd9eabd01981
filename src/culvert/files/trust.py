"""Trusted owners of files to write to: root, this user, and the user who called sudo."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from contextlib import suppress
from typing import NamedTuple


class FileOwner(NamedTuple):
    """User and group ids."""

    uid: int
    gid: int


def sudo_user() -> FileOwner | None:
    """The user who called sudo, as sudo reports it; None without sudo."""
    uid, gid = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not (_is_id(uid) and _is_id(gid)):
        return None
    return FileOwner(int(uid), int(gid))


def trusted(uid: int) -> bool:
    """Whether links of this user may be followed for writing."""
    caller = sudo_user()
    return uid in (0, os.geteuid()) or (caller is not None and uid == caller.uid)


def others_can_write(status: os.stat_result) -> bool:
    """Whether users other than the owner can change a directory. A private group, which many
    distributions give each user, does not count."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _private_group(status)


def give_to_caller(descriptor: int) -> None:
    """Give files that root creates to the user who called sudo, if the file system allows it."""
    caller = sudo_user()
    if caller is None:
        return
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != caller:
        with suppress(PermissionError):  # a network file system may refuse
            os.fchown(descriptor, caller.uid, caller.gid)


def _private_group(status: os.stat_result) -> bool:
    if status.st_gid == 0:
        return True
    try:
        user, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {user.pw_name}
    return alone and user.pw_gid == group.gr_gid and group.gr_name == user.pw_name


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 11
