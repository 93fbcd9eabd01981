"""Reading bytes as a file of a format."""

from __future__ import annotations

from pathlib import Path

from culvert.journal.readers.foreign_run import ForeignRun, Found
from culvert.journal.readers.formats import ForeignFormat, reader


def found_in(directory: Path, form: ForeignFormat, content: bytes | str) -> Found:
    path = directory / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return reader(form)(path)


def figures(run: ForeignRun) -> dict[str, float]:
    """Metrics by name; those of a node as ``name@node``."""
    return {"@".join([one.name, *map(str, one.labels.values())]): one.value for one in run.metrics}
