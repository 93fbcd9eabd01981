"""Kubeconfigs, looked at before the client reads them: it neither limits nor checks them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from culvert.errors import UsageError
from culvert.files.plain import open_plain, read_plain
from culvert.files.yaml_size import YamlBounds, refuse_excess

MOST_BYTES = 1 << 20
MOST_PARTS = 20_000
"""Greatest number of values, with those that aliases repeat; a hundred clusters have three
thousand."""
_MARKS = "\n,[{:"
_LISTS = ("clusters", "contexts", "users")
_FILES = ("tokenFile", "certificate-authority", "client-certificate", "client-key")
_REMEDY = "name one with --kubeconfig, and a context in it with --context"


def files_of(kubeconfig: Path | None) -> list[Path]:
    """The given one; else those of $KUBECONFIG or the user's own, as far as they exist."""
    if kubeconfig is not None:
        return [kubeconfig]
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(os.path.expanduser(name)) for name in named.split(":") if name]  # noqa: PTH111
    return [path for path in paths if os.path.lexists(path)]


def refuse_unusable(path: Path) -> None:
    """Raise UsageError for what is no kubeconfig: another kind of file, too large, of a wrong
    shape, or with names of files that are none."""
    import yaml

    what = f"the kubeconfig {path}"
    try:
        text = read_plain(path, MOST_BYTES).decode()
        if sum(map(text.count, _MARKS)) > MOST_PARTS:
            raise _unusable(what, f"it has more than {MOST_PARTS} values")
        refuse_excess(text, YamlBounds(MOST_PARTS, MOST_BYTES))
        content = yaml.safe_load(text)
    except FileNotFoundError as error:
        raise UsageError(what, "there is no such file", "check it") from error
    except OSError as error:
        raise _unusable(what, f"it cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        lines = str(error).strip().splitlines() or ["it is no YAML"]
        raise _unusable(what, lines[0][:200]) from error
    if not isinstance(content, dict):
        raise _unusable(what, "it is no mapping")
    _refuse_shape(what, content)
    for key, value in _values(content):
        if key in _FILES and isinstance(value, str):
            _refuse_special(what, key, path.parent / value)


def _refuse_shape(what: str, content: Mapping[Any, Any]) -> None:
    """Each list has entries with a name, and a mapping that is named after the list."""
    for name in _LISTS:
        entries = content.get(name) or []
        body = name.removesuffix("s")
        if not isinstance(entries, list):
            raise _unusable(what, f"its {name} are no list")
        for entry in entries:
            named = isinstance(entry, dict) and isinstance(entry.get("name"), str)
            if not named or not isinstance(entry.get(body) or {}, dict):
                raise _unusable(what, f"its {name} have an entry that is no {body} with a name")


def _values(content: Any) -> Iterator[tuple[Any, Any]]:
    """All values with their keys."""
    todo = [(None, content)]
    while todo:
        key, value = todo.pop()
        yield key, value
        if isinstance(value, dict):
            todo += value.items()
        elif isinstance(value, list):
            todo += [(key, one) for one in value]


def _refuse_special(what: str, key: str, path: Path) -> None:
    with suppress(OSError):  # one that is missing may be another user's: the client names it
        try:
            open_plain(path).close()
        except UsageError as error:
            raise _unusable(what, f"its {key} {path}: {error.why}") from error


def _unusable(what: str, why: str) -> UsageError:
    return UsageError(what, why, _REMEDY)
