"""Where studies come from: a file of the user, or one of those that Culvert ships."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from culvert.errors import StudyError
from culvert.study.table import near


def shipped_studies() -> dict[str, Path]:
    """Name and file of every shipped study, sorted by name."""
    folder = Path(str(files("culvert") / "studies"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_study(where: str | Path) -> Path:
    """The file that a path or the name of a shipped study means. Raises StudyError."""
    path = Path(where)
    if path.is_file():
        return path
    shipped = shipped_studies()
    word = str(where)
    if word in shipped:
        return shipped[word]
    if path.is_dir():
        raise StudyError(word, "it is a directory", "give the study's TOML file")
    if path.name != word or path.suffix:
        raise StudyError(word, "there is no such file", "check the path")
    raise StudyError(
        f'study "{word}"', "there is no such file or shipped study", near(word, shipped)
    )
