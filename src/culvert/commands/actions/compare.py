"""``culvert compare``: from the command line to an exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from culvert.analysis.compare.comparison import MOST_ALPHA, MOST_TOLERANCE
from culvert.compare.document import document
from culvert.compare.form import Form
from culvert.compare.junit import junit
from culvert.compare.outcome import CompareOutcome, compare
from culvert.compare.sheet import markdown, render
from culvert.compare.side import sides
from culvert.compare.words import sheet
from culvert.console import PIPE_WIDTH, SafeConsole, out
from culvert.errors import UsageError
from culvert.files.target import replacing

_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")


def run_compare(
    words: list[str],
    vpns: list[str],
    form: Form,
    file: Path | None,
    *,
    tolerance: str,
    alpha: str,
    only: Sequence[str],
    metrics: str | None,
) -> bool:
    """Print or write the comparison; true if something became slower. The options as written.

    Raises UsageError.
    """
    largest = share(tolerance, "--tolerance")
    rate = error_rate(alpha)
    a, b = sides(words, vpns)
    outcome = compare(a, b, tolerance=largest, alpha=rate, only=only, metrics=metrics_of(metrics))
    write(outcome, form, file)
    return outcome.regressed


def share(text: str, option: str, *, most: float = MOST_TOLERANCE) -> float:
    """``3%`` or ``0.03`` as 0.03. Raises UsageError."""
    found = _SHARE.fullmatch(text)
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= value <= most:
        raise UsageError(
            f"{option} {text}", f"it must be a share from 0 to {100 * most:g} %", "write 3%"
        )
    return value


def error_rate(text: str) -> float:
    """Of ``--alpha``. Raises UsageError."""
    rate = share(text, "--alpha", most=MOST_ALPHA)
    if rate == 0:
        raise UsageError("--alpha", "with an error rate of 0 nothing can be shown", "write 5%")
    return rate


def metrics_of(text: str | None) -> tuple[str, ...]:
    """``key`` (the default), ``all``, or names and patterns separated by commas."""
    if text is None or text == "key":
        return ()
    if text == "all":
        return ("*",)
    return tuple(word.strip() for word in text.split(",") if word.strip())


def write(outcome: CompareOutcome, form: Form, file: Path | None) -> None:
    """Write to the file, without one to standard output. Raises UsageError."""
    if file is None:
        if form is Form.TEXT:
            out.print(render(sheet(outcome)))
        else:
            out.file.write(_text(outcome, form))
            out.file.flush()
        return
    try:
        with replacing(file) as target:
            target.write(_text(outcome, form).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(
            str(file), f"it cannot be written: {error.strerror}", "choose another place"
        ) from error


def _text(outcome: CompareOutcome, form: Form) -> str:
    if form is Form.JSON:
        return json.dumps(document(outcome), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if form is Form.MARKDOWN:
        return markdown(sheet(outcome))
    if form is Form.JUNIT:
        return junit(outcome)
    plain = SafeConsole(width=PIPE_WIDTH, highlight=False, color_system=None)
    with plain.capture() as captured:
        plain.print(render(sheet(outcome)))
    return captured.get()
