"""The runs that enter a site: those in directories, and bundles, which are verified first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from culvert.bundle import manifest
from culvert.bundle.seal import Packing
from culvert.bundle.verify import verify
from culvert.errors import CulvertError, UsageError, some
from culvert.history.places import LeftOut, Place, places


def runs_of(given: Sequence[Path], unpacked: Path) -> tuple[list[Place], list[LeftOut]]:
    """The runs at or below the paths. Bundles among them are verified, and unpacked into a
    directory. Raises UsageError if no run is left."""
    folders = [one for one in given if not one.is_file()]
    refused: list[LeftOut] = []
    for number, bundle in enumerate(_bundles(given)):
        why = _problem(bundle, unpacked / f"{number:04}-{bundle.name.partition('.')[0]}")
        refused += [LeftOut(bundle, why)] if why else []
    if any(unpacked.iterdir()):
        folders.append(unpacked)
    found = []
    for place in places(folders) if folders else []:
        # A bundle that somebody unpacked: its files are as its manifest says, or it is refused.
        listed = (place.directory / manifest.NAME).exists()
        why = _problem(place.directory) if listed and place.root != unpacked else ""
        if why:
            refused.append(LeftOut(place.directory, why))
        else:
            found.append(place)
    if not found:
        why = "; ".join(f"{one.what}: {one.why}" for one in refused) or "they contain no run"
        raise UsageError(" ".join(map(str, given)), why, "give directories with runs, or bundles")
    return found, refused


def _bundles(given: Sequence[Path]) -> Iterator[Path]:
    for top in given:
        if top.is_file():
            yield top
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(folder, one) for one in sorted(names) if Packing.of_name(Path(one)))


def _problem(what: Path, extract: Path | None = None) -> str:
    try:
        return some(verify(what, extract).problems)
    except CulvertError as error:
        return error.why
