"""Value types that several tables of a study file share: names and packet sizes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from culvert.study.table import problem

BASELINE = "none"

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
