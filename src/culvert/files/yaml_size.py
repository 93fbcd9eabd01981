"""How large a YAML document becomes: found from its events, before anything is built from it.

An alias stands for all that its anchor holds (YAML 1.2.2, section 3.2.2.2), and a merge key copies
it: nine lines can hold 10^9 values. A number of base 60 takes the square of its length, and a
mapping the square of its size if its keys are numbers with one hash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_NUMBER = re.compile(r"[-+]?[0-9][0-9_:.]*")
_WHOLE = re.compile(r"[-+]?(?:0x[0-9a-fA-F_]+|[0-9][0-9_]*(?::[0-5]?[0-9])*)")
MOST_DIGITS = 60
MOST_KEY_DIGITS = 17
"""Numbers with one hash differ by 2^61 - 1: all but one of them are longer."""
MOST_DIRECTIVES = 16
"""libyaml compares each with all of those before it."""


@dataclass(frozen=True)
class YamlBounds:
    """Most values, characters of values, and levels, with all that aliases stand for."""

    values: int
    characters: int
    depth: int = 64


class ExcessError(ValueError):
    """A document beyond its bounds; the text is the reason."""


@dataclass
class _Size:
    values: int = 0
    characters: int = 0

    def add(self, other: _Size) -> None:
        self.values += other.values
        self.characters += other.characters


@dataclass
class _Open:
    """A collection that has begun; None as anchor if it has none."""

    anchor: str | None
    is_mapping: bool
    size: _Size = field(default_factory=_Size)
    parts: int = 0

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and self.parts % 2 == 0


def refuse_excess(text: str, bounds: YamlBounds) -> None:
    """Raise ExcessError for a document beyond the bounds, yaml.YAMLError for what is no YAML."""
    if text.count("\n%") > MOST_DIRECTIVES:
        raise ExcessError(f"it has more than {MOST_DIRECTIVES} directives")
    _Measured(bounds).read(text)


class _Measured:
    def __init__(self, bounds: YamlBounds) -> None:
        self._bounds = bounds
        self._open: list[_Open] = []
        self._anchors: dict[str, _Size] = {}
        self._whole = _Open(None, is_mapping=False)

    def read(self, text: str) -> None:
        import yaml  # noqa: PLC0415 - most commands read no YAML

        # libyaml's parser, where PyYAML has it, is ten times as fast.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(text, Loader=loader):
            match event:
                case yaml.DocumentStartEvent():
                    self._anchors.clear()
                case yaml.AliasEvent():
                    self._alias(event.anchor)
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.CollectionStartEvent():
                    self._begin(event.anchor, isinstance(event, yaml.MappingStartEvent))
                case yaml.CollectionEndEvent():
                    self._end()

    def _alias(self, anchor: str) -> None:
        if any(one.anchor == anchor for one in self._open):
            raise ExcessError("an alias in it stands for what it is part of")
        self._add(self._anchors.get(anchor, _Size()))

    def _scalar(self, event: Any) -> None:
        text: str = event.value
        is_key = bool(self._open) and self._open[-1].expects_key
        most, form = (MOST_KEY_DIGITS, _WHOLE) if is_key else (MOST_DIGITS, _NUMBER)
        may_be_number = event.implicit[0] or event.tag is not None
        if may_be_number and len(text) > most and form.fullmatch(text):
            raise ExcessError(f"a number has more than {most} digits")
        size = _Size(1, len(text))
        if event.anchor is not None:
            self._anchors[event.anchor] = size
        self._add(size)

    def _begin(self, anchor: str | None, is_mapping: bool) -> None:
        if len(self._open) == self._bounds.depth:
            raise ExcessError("it is nested too deeply")
        if anchor is not None:
            self._anchors.pop(anchor, None)
        self._open.append(_Open(anchor, is_mapping, _Size(1)))

    def _end(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = done.size
        self._add(done.size)

    def _add(self, size: _Size) -> None:
        inner = self._open[-1] if self._open else self._whole
        inner.parts += 1
        inner.size.add(size)
        if inner.size.values > self._bounds.values:
            raise ExcessError(f"it has more than {self._bounds.values} values")
        if inner.size.characters > self._bounds.characters:
            raise ExcessError(f"its values have more than {self._bounds.characters} characters")
