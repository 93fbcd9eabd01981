"""Names: from the data's name of a VPN to its id in Culvert, and the name of the baseline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from culvert.errors import UsageError
from culvert.study.vpn_id import BASELINE

MOST_CHARACTERS = 64
_ORDER = re.compile(r"^\d+[-_. ]+(?=.)")
"""Numbers that sort directories: 31-netbird-direct."""
_STRANGE = re.compile(r"[^A-Za-z0-9._/+-]+")
_BARE = re.compile(r"(native|none|bare|baseline|no-?vpn)(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True)
class Naming:
    """The user's options on names. ``ids``: the data's name (or ours) to an id; ``every``: the id
    of all runs; ``baseline``: the name of the runs without a VPN. ``known``: ids of all names of a
    known data set."""

    ids: Mapping[str, str] = field(default_factory=dict)
    every: str = ""
    baseline: str = ""
    known: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, words: Sequence[str], baseline: str) -> Naming:
        """From ``--vpn ID`` and ``--vpn NAME=ID``. Raises UsageError."""
        ids: dict[str, str] = {}
        every = ""
        for word in words:
            name, equals, vpn = word.rpartition("=")
            if not vpn or vpn != cleaned(vpn) or (equals and not name):
                raise UsageError(
                    f"--vpn '{word}'",
                    "is not an id of a VPN",
                    "write ID, or NAME=ID, as netbird=wg/k",
                )
            if equals:
                ids[name] = vpn
            elif every:
                raise UsageError(
                    f"--vpn '{word}'", f"all runs are of {every} already", "write NAME=ID for each"
                )
            else:
                every = vpn
        if every and ids:
            raise UsageError(
                f"--vpn '{every}'",
                "it cannot be combined with NAME=ID",
                "give one id, or one for each name",
            )
        return cls(ids, every, baseline)

    def knowing(self, ids: Mapping[str, str]) -> Naming:
        """With the ids of a known data set, if the user gave no names."""
        return self if self.every or self.ids or self.baseline else replace(self, known=ids)

    def resolve(self, names: Iterable[str]) -> dict[str, str]:
        """Ids by name, for all names of an import in the order of the data. Raises UsageError."""
        found = list(dict.fromkeys(names))
        self._refuse_unknown(found)
        if self.every:
            return dict.fromkeys(found, self.every)
        if self.known:
            return {name: self.known.get(name) or self.known[plain(name)] for name in found}
        named = {name: self._given(name) or cleaned(plain(name)) for name in found}
        given = set(self.ids.values())
        bare = [name for name in found if _BARE.match(plain(name)) and named[name] not in given]
        wanted = next((n for n in found if self.baseline in (n, plain(n))), None)
        first = wanted or (bare[0] if bare and BASELINE not in named.values() else None)
        for name in found:
            if name == first:
                named[name] = BASELINE
            elif name in bare and named[name] != BASELINE:
                named[name] = f"{BASELINE}/{named[name]}"
        return named

    def _given(self, name: str) -> str:
        return self.ids.get(name) or self.ids.get(plain(name), "")

    def _refuse_unknown(self, found: Sequence[str]) -> None:
        known = {*found, *map(plain, found)}
        for word in (*self.ids, *([self.baseline] if self.baseline else [])):
            if word not in known:
                raise UsageError(
                    f"'{word}'",
                    "the data does not contain this name",
                    f"it has {', '.join(sorted(map(plain, found))[:20])}",
                )


def plain(name: str) -> str:
    """The name without its sorting number."""
    return _ORDER.sub("", name)


def cleaned(name: str) -> str:
    """An id that is safe in a table, a file name and a terminal; never empty."""
    return _STRANGE.sub("-", name).strip("-/")[:MOST_CHARACTERS].strip("-/") or "unnamed"
