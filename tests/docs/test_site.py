"""The documentation as a site: every page has a place, every link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .tables import ROOT

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_every_page_is_in_the_order_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "tutorial.html").is_file()


def test_links_of_the_readme_lead_somewhere() -> None:
    links = [link for link in LINK.findall((ROOT / "README.md").read_text()) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# A\n\n[b](b.md) [c](#nowhere)\n")
    settings = (ROOT / "mkdocs.yml").read_text().partition("nav:\n  - README")[0]
    (tmp_path / "mkdocs.yml").write_text(settings)
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=tmp_path,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert built.returncode != 0
    assert "b.md" in built.stderr
    assert "nowhere" in built.stderr
