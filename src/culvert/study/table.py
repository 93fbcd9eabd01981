"""The base of all tables of a study file: unknown keys are errors, and errors have a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


def problem(
    why: str, remedy: str, key: Iterable[str | int] = (), *, unknown: str = ""
) -> PydanticCustomError:
    """An error to raise in a validator; ``key`` is the path from the validated value to the wrong
    one. ``unknown`` is a key that is no slip of one of its table's."""
    context = {"why": why, "remedy": remedy, "key": [*key], "unknown": unknown}
    return PydanticCustomError("study", "{why}", context)


def near(word: str, known: Iterable[str]) -> str:
    """'did you mean "x"?', or the list of all known words if none is similar."""
    words = sorted(known)
    if matches := similar(word, words):
        return "did you mean " + " or ".join(f'"{match}"' for match in matches) + "?"
    return "known are " + ", ".join(words) if words else "leave it out"


def similar(word: str, known: Iterable[str]) -> list[str]:
    """At most two known words that the word may be a slip of."""
    return get_close_matches(word, sorted(known), n=2, cutoff=0.6)


def known_keys(model: type[BaseModel]) -> list[str]:
    """The keys that a table of this model accepts."""
    return [field.alias or name for name, field in model.model_fields.items()]


class Table(BaseModel):
    """A table of a study file. Strict: true is not 1, and "5" is not 5."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        known = known_keys(cls)
        for key in value if isinstance(value, dict) else ():
            if key not in known:
                word = str(key)
                why = f'"{word}" is not a key here'
                unknown = "" if similar(word, known) else word
                raise problem(why, near(word, known), [word], unknown=unknown)
        return value


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise problem(
            f'"{value}" is not a name',
            "use up to 64 letters, digits, points, dashes and underscores",
        )
    return value


Name = Annotated[str, AfterValidator(_name)]
Mtu = Annotated[int, Field(ge=576, le=65535)]
"""Bytes of an IP packet; every IPv4 host accepts 576 (RFC 1122)."""


def shape(value: object) -> str:
    """The tag of a value that may be a table or a single word or number."""
    return "table" if isinstance(value, dict | BaseModel) else "word"
