"""Versions of installed programs: of Debian packages, and of Go programs.

A Go program is read, and no Go is needed. Source: the linker's ``.go.buildinfo`` blob as described
in Go's ``debug/buildinfo`` (inline strings, Go 1.18 and newer).
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.labs.host import Host

_MAGIC = b"\xff Go buildinf:"
_ALIGN = 16
_HEADER = 32
_FLAGS_OFFSET = 15
_INLINE_STRINGS = 0x2
_SENTINEL = 16
"""Bytes that the linker puts before and after the module list as marks."""


def package_version(host: Host, package: str) -> str | None:
    """The version of an installed Debian package; None if it is not installed, or without dpkg."""
    query = host.find("dpkg-query")
    if query is None:
        return None
    words = ["--show", "--showformat=${db:Status-Status} ${Version}", package]
    shown = host.run([query, *words], check=False)
    status, _, version = shown.stdout.partition(" ")
    return version.strip() if shown.returncode == 0 and status == "installed" else None


@dataclass(frozen=True)
class GoBuild:
    """``module`` and ``version`` are those of the module with the program's package, which may have
    been built as a requirement of another module. None where the program was not built as a module
    (Debian's packages)."""

    go: str
    module: str | None
    version: str | None


def read_go_build(host: Host, program: str) -> GoBuild | None:
    """The build information of a program; None if it is not a Go program of 1.18 or newer."""
    try:
        return _parse(host.read(program))
    except (OSError, ValueError):  # unreadable, or truncated
        return None


def go_version(host: Host, program: str) -> str:
    """Versions of a Go program's module and compiler, in words."""
    build = read_go_build(host, program)
    return f"{build.version} ({build.go})" if build and build.version else "unknown"


def _parse(data: bytes) -> GoBuild | None:
    start = data.find(_MAGIC)
    while start != -1:
        if start % _ALIGN == 0 and len(data) >= start + _HEADER:
            break
        start = data.find(_MAGIC, start + 1)
    if start == -1 or not data[start + _FLAGS_OFFSET] & _INLINE_STRINGS:
        return None
    go, end = _string(data, start + _HEADER)
    listing, _ = _string(data, end)
    package, modules = "", {}
    for line in listing[_SENTINEL:-_SENTINEL].decode(errors="replace").splitlines():
        word, *fields = line.split("\t")
        if word == "path" and fields:
            package = fields[0]
        elif word in ("mod", "dep") and len(fields) >= 2:
            modules[fields[0]] = fields[1]
    holding = [name for name in modules if f"{package}/".startswith(f"{name}/")]
    module = max(holding, key=len, default=None)
    return GoBuild(go.decode(errors="replace"), module, modules[module] if module else None)


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    """A string with its length (an unsigned varint) before it, and the offset of its end."""
    length = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("the build information is truncated")
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if at + length > len(data):
        raise ValueError("the build information is truncated")
    return data[at : at + length], at + length
