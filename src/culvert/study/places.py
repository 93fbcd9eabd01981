"""Where a key of a study file belongs, for those who wrote it into another table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args, get_origin

from culvert.errors import some
from culvert.study.catalogue import Catalogue
from culvert.study.model import StudyFile
from culvert.study.table import Table, known_keys

TOP = "the file's first lines"


def places_of(key: str, catalogue: Catalogue) -> list[str]:
    """The tables that have the key, the outermost first, without those inside of one that has it.
    Empty if none has."""
    level: list[tuple[str, type[Table]]] = [(TOP, StudyFile)]
    seen: set[type[Table]] = set()
    found: list[str] = []
    while level:
        having = {place for place, table in level if key in known_keys(table)}
        found += [place for place, _ in level if place in having]
        seen |= {table for _, table in level}
        level = [
            one
            for place, table in level
            if place == TOP or place not in having
            for one in _inside(place, table, seen)
        ]
    measurements = catalogue.measurements.items()
    kinds = sorted(kind for kind, one in measurements if key in known_keys(one.Parameters))
    return [*found, f"[[measurement]] of {some(kinds)}"] if kinds else found


def _inside(
    place: str, table: type[Table], seen: set[type[Table]]
) -> Iterator[tuple[str, type[Table]]]:
    for name, field in table.model_fields.items():
        word = field.alias or name
        for kind, inner in _tables(field.annotation):
            if inner in seen:
                continue
            if place != TOP:
                yield f"{word} of {place}", inner
            elif kind is tuple:
                yield f"[[{word}]]", inner
            else:
                yield f"[{word}.NAME]" if kind is Mapping else f"[{word}]", inner


def _tables(annotation: object, kind: object = None) -> Iterator[tuple[object, type[Table]]]:
    """The tables in an annotation, and whether they are in a tuple or a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield kind, annotation
    origin = get_origin(annotation)
    kind = origin if origin is tuple or origin is Mapping else kind
    for argument in get_args(annotation):
        yield from _tables(argument, kind)
