"""The files of an inventory, looked at before Ansible reads them: it bounds neither what aliases
and ranges of hosts expand to, nor how long it takes.

An inventory is a file, a directory of files, or a program; variables are in ``group_vars`` and
``host_vars`` beside it. What is no YAML (INI, TOML, a vault) is left to Ansible and its limits.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterator
from math import prod
from pathlib import Path

from culvert.errors import UsageError
from culvert.files.plain import open_plain
from culvert.files.yaml_size import ExcessError, YamlBounds, refuse_excess

MOST_BYTES = 4 << 20
"""Greatest size of an inventory with its variables: ten thousand hosts."""
MOST_FILES = 10_000
MOST_HOSTS = 10_000
BOUNDS = YamlBounds(values=300_000, characters=4 * MOST_BYTES)
_SUFFIXES = ("", ".yml", ".yaml", ".json", ".ini", ".toml")
_BESIDE = ("group_vars", "host_vars")
_RANGE = re.compile(r"\[(\w*):(\w+)(?::(\w+))?\]", re.ASCII)
_PLUGIN = re.compile(r"^[ \t{]*[\"']?plugin[\"']?\s*:", re.MULTILINE)
_SHEBANG = "#!"
_SEPARATORS = re.compile(r"[\s,{}\"']+")
_LETTERS = string.ascii_letters
_MOST_DIGITS = 9


def refuse_unusable(path: Path) -> bool:
    """Raise UsageError for what is no inventory, or would become too large.

    Returns whether Ansible alone reads it: no program and no plug-in has a part in it, and takes
    its time.
    """
    read, alone = 0, True
    for count, file in enumerate(_files(path)):
        try:
            content, size, executed = _content(file)
        except FileNotFoundError as error:
            raise UsageError(f"inventory {file}", "does not exist", "check the path") from error
        except OSError as error:
            why = f"it cannot be read: {error.strerror}"
            raise UsageError(f"inventory {file}", why, "check its mode") from error
        read += size
        if read > MOST_BYTES or count == MOST_FILES:
            why = f"it is larger than {MOST_BYTES >> 20} MiB, or has more than {MOST_FILES} files"
            raise UsageError(f"inventory {path}", why, "check that it is the right one")
        program = executed or content.startswith(_SHEBANG)
        alone = alone and not program and not _PLUGIN.search(content)
        if not program:
            _refuse_expansion(file, content)
    return alone


def _files(path: Path) -> Iterator[Path]:
    """The inventory's own, then its variables."""
    directory = path if path.is_dir() else path.parent
    if path == directory:
        yield from _below(path)
        return
    yield path
    for name in _BESIDE:
        yield from _below(directory / name)


def _below(directory: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and Path(name).suffix in _SUFFIXES:
                yield Path(place, name)


def _content(file: Path) -> tuple[str, int, bool]:
    """The text, the size in bytes, and whether Ansible runs it as a program."""
    with open_plain(file) as opened:
        status = os.fstat(opened.fileno())
        data = opened.read(MOST_BYTES) if status.st_size <= MOST_BYTES else b""
    return data.decode(errors="replace"), status.st_size, os.access(file, os.X_OK)


def _refuse_expansion(file: Path, text: str) -> None:
    import yaml  # noqa: PLC0415 - most commands read no YAML

    what, remedy = f"inventory {file}", "write what is needed, without aliases or ranges"
    if _hosts_of_ranges(text) > MOST_HOSTS:
        raise UsageError(what, f"its ranges are more than {MOST_HOSTS} hosts", remedy)
    try:
        refuse_excess(text, BOUNDS)
    except ExcessError as error:
        raise UsageError(what, str(error), remedy) from error
    except yaml.YAMLError:
        return  # INI, or Ansible complains


def _hosts_of_ranges(text: str) -> int:
    """Hosts that names such as a[1:9]b[a:z] stand for; ranges of one name multiply."""
    hosts = 0
    for word in _SEPARATORS.split(text):
        if "[" in word and (ranges := _RANGE.findall(word)):
            hosts += prod(_length(*bounds) for bounds in ranges[:MOST_FILES])
            if hosts > MOST_HOSTS:
                break
    return hosts


def _length(first: str, last: str, step: str) -> int:
    """Of one range; 1 for what is none."""
    if first in _LETTERS and last in _LETTERS and first:
        return max(1, _LETTERS.index(last) - _LETTERS.index(first) + 1)
    if not all(word.isdigit() for word in (first, last, step) if word):
        return 1
    if max(map(len, (first, last, step))) > _MOST_DIGITS:
        return MOST_HOSTS + 1
    return max(1, len(range(int(first or 0), int(last) + 1, int(step or 1) or 1)))
