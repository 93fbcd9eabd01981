"""Finds a study: a file of the user, or one that Culvert ships."""

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
    """The file for a path, or for the name of a shipped study. Raises StudyError."""
    path, word = Path(where), str(where)
    if not word:
        raise StudyError("the study", "its name is empty", "give a file, or a shipped study")
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise StudyError(
            f"{word[:60]}{'...' if len(word) > 60 else ''}",
            f"it cannot be read: {error.strerror}",
            "check the path",
        ) from error
    shipped = shipped_studies()
    if word in shipped:
        return shipped[word]
    if path.is_dir():
        raise StudyError(word, "it is a directory", "give the study's TOML file")
    if path.exists():
        raise StudyError(word, "it is not a regular file", "give the study's TOML file")
    if path.name != word or path.suffix:
        raise StudyError(word, "the file does not exist", "check the path")
    raise StudyError(f'study "{word}"', "no such file or shipped study exists", near(word, shipped))
