"""Files that went wrong: cut off, flipped, glued, and with values that no tool writes."""

from __future__ import annotations

import gzip
import random

_SPICES = (
    b"NaN",
    b"-1",
    b"1e999",
    b"-0",
    b"99999999999999999999999999",
    b"null",
    b"{}",
    b"[]",
    b'"',
    b"\\",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r\n",
    b",",
    b"=",
    b"\x1f\x8b\x08",
    b"[" * 200,
    b'{"a":' * 100,
    b"true",
    b"1e308",
    "\u202e٣".encode(),
    b"PING ",
    b"9" * 5000,
)


def hurt(content: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """The content after one to eight accidents."""
    unpacked = content.startswith(b"\x1f\x8b") and chance.random() < 0.5
    data = bytearray(gzip.decompress(content) if unpacked else content)
    for _ in range(chance.randint(1, 8)):
        _accident(data, chance, others)
    return gzip.compress(bytes(data), mtime=0) if unpacked else bytes(data)


def _accident(data: bytearray, chance: random.Random, others: list[bytes]) -> None:
    begin = chance.randrange(len(data) + 1)
    end = min(len(data), begin + chance.choice((1, 2, 5, 20, 200)))
    match chance.randrange(8):
        case 0:
            del data[begin:]
        case 1:
            del data[begin:end]
        case 2 if data:
            data[begin % len(data)] ^= 1 << chance.randrange(8)
        case 3:
            data[begin:begin] = chance.choice(_SPICES)
        case 4:
            data[begin:end] = chance.choice(_SPICES)
        case 5:
            data[begin:begin] = data[begin:end] * chance.randint(1, 5)
        case 6:
            data += chance.choice(others)
        case _:
            _replace_a_number(data, chance)


def _replace_a_number(data: bytearray, chance: random.Random) -> None:
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return
    begin = end = chance.choice(places)
    while end < len(data) and data[end] in b"0123456789.eE+-":
        end += 1
    data[begin:end] = chance.choice(_SPICES)
