"""Licences of what the programs link, as their authors wrote them: most ask for a copy."""

from __future__ import annotations

from pathlib import Path

from release.bill import linked_crates, said
from release.source import Source

NAME = "NOTICE-third-party.txt"
"""setuptools puts NOTICE* beside the licence of the wheel."""
_TEXTS = ("LICEN[CS]E*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*", "LICENSES/*")
_RULE = "~" * 78 + "\n"


def write_notices(source: Source) -> Path:
    """``NOTICE-third-party.txt`` in the tree from which the wheel is built.

    Crates without a file of their own are named with their licence, whose text others have.
    """
    path = source.tree / NAME
    head = "culvert-probe and culvert-wire contain the following software.\n"
    rust = Path(said("rustc", "--print", "sysroot").strip()) / "share/doc/rust"
    parts = [_notice("rust-std", "MIT OR Apache-2.0", rust)]
    parts += [
        _notice(f"{crate.name} {crate.version}", crate.licence, crate.folder)
        for crate in linked_crates(source.tree)
    ]
    path.write_text(_RULE.join([head, *parts]))
    return path


def _notice(name: str, licence: str, folder: Path) -> str:
    files = sorted({file for pattern in _TEXTS for file in folder.glob(pattern) if file.is_file()})
    texts = [file.read_text(errors="replace").strip() for file in files]
    return "\n\n".join([f"{name}: {licence}", *texts]) + "\n"
