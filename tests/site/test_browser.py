"""The pages in a real browser, from disk; with axe-core where $CULVERT_AXE is its axe.min.js."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.report.test_browser import CHROMIUM, printed, visit

from .conftest import Sites
from .test_site import PAGES

AXE = os.environ.get("CULVERT_AXE", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed"),
]


def test_the_landscape_filters_and_sorts_and_charts_are_drawn(sites: Sites, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(sites.out, out)
    script = out / "site.js"
    script.write_text(
        script.read_text()
        + """
const box = document.querySelector("input[type=search]");
box.value = "openvpn made"; box.dispatchEvent(new Event("input", {bubbles: true}));
document.querySelectorAll("#landscape thead button")[3].click();
"""
    )
    document, console = visit(out / "index.html", tmp_path / "profile")
    assert console == []
    assert ">1 of 3 rows</output>" in document
    values = re.findall(r'data-value="([0-9.]+)"', document)
    assert [float(one) for one in values] == sorted(float(one) for one in values)
    assert 'aria-sort="ascending"' in document
    script.write_text(script.read_text() + 'dispatchEvent(new Event("beforeprint"));')
    document, console = visit(out / "study" / "made.html", tmp_path / "profile")
    assert console == []
    assert "<svg" in document
    (report, *_) = out.glob("run/*/index.html")
    page = printed(report.read_text(), report.with_name("printed.html"))
    document, console = visit(page, tmp_path / "profile")
    assert console == []
    assert re.search(r'data-drawn="[1-9]', document)


@pytest.mark.skipif(not AXE, reason="CULVERT_AXE does not name axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(sites: Sites, tmp_path: Path, dark: bool) -> None:
    out = tmp_path / "out"
    shutil.copytree(sites.out, out)
    shutil.copy(AXE, out / "axe.min.js")
    (out / "axe-run.js").write_text(
        "addEventListener('load', () => setTimeout(() => axe.run().then((found) => {"
        "document.body.setAttribute('data-axe', JSON.stringify(found.violations.map((one) => "
        "[one.id, one.nodes.map((node) => node.html + node.failureSummary)])));}), 2000));"
    )
    found = {}
    for name in PAGES:
        page = out / name
        root = "../" * name.count("/")
        text = page.read_text().replace(
            "</body>", f'<script src="{root}axe.min.js"></script>'
            f'<script src="{root}axe-run.js"></script></body>',
        )  # fmt: skip
        page.write_text(text.replace('<html lang="en">', THEMES[dark]))
        document, _ = visit(page, tmp_path / "profile")
        told = re.search(r'data-axe="([^"]*)"', document)
        assert told is not None
        found[name] = told[1]
    assert found == dict.fromkeys(PAGES, "[]")


THEMES = ('<html lang="en" data-theme="light">', '<html lang="en" data-theme="dark">')
