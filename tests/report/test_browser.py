"""The page in a real browser: every chart is drawn, nothing is loaded, nothing is complained of."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .page_reader import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed"),
]


def visit(page: Path, profile: Path, *options: str) -> tuple[str, list[str]]:
    """The document after its scripts have run, and what the page wrote to the console."""
    ended = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            f"--user-data-dir={profile}",
            *options,
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
    return ended.stdout, console


@pytest.mark.parametrize("which", ["plain", "nasty"])
def test_every_chart_is_drawn_and_the_console_is_silent(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    _, text = request.getfixturevalue(which)
    document, console = visit(printed(text, tmp_path / "report.html"), tmp_path / "profile")
    assert console == []
    drawn = re.search(r'data-drawn="(\d+)"', document)
    assert drawn is not None
    assert int(drawn[1]) == len(Page(text).charts)
    assert "could not be drawn" not in Page(document).text
    assert document.count("<svg") >= int(drawn[1])


def test_charts_in_a_narrow_window_have_room_for_their_labels(
    plain: tuple[Path, str], tmp_path: Path
) -> None:
    page = printed(plain[1], tmp_path / "report.html")
    document, _ = visit(page, tmp_path / "profile", "--window-size=400,900")
    widths = [int(width) for width in re.findall(r'class="marks" width="(\d+)"', document)]
    assert len(widths) == len(Page(plain[1]).charts)
    assert min(widths) >= 480


def printed(text: str, page: Path) -> Path:
    """The report as a page that is printed: charts out of sight are drawn too."""
    head, script = text.rsplit("<script>", 1)
    script, tail = script.rsplit("</script>", 1)
    longer = f'{script}dispatchEvent(new Event("beforeprint"));'
    head = head.replace(_digest(script), _digest(longer))
    page.write_text(f"{head}<script>{longer}</script>{tail}")
    return page


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_a_load_or_a_foreign_script_would_be_refused(
    plain: tuple[Path, str], tmp_path: Path
) -> None:
    """That the console would tell: without this the test above could not fail."""
    evil = "<img src='http://198.18.0.1/x.png'><script>document.title = 'taken over'</script>"
    page = tmp_path / "evil.html"
    page.write_text(plain[1].replace("<main", evil + "<main"), encoding="utf-8")
    document, console = visit(page, tmp_path / "profile")
    assert len([line for line in console if "Content Security Policy" in line]) >= 2
    assert "<title>taken over" not in document
