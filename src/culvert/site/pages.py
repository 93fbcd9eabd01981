"""The files of a site, but for the reports: pages, badges, styles, scripts, data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import resources
from importlib.metadata import version
from itertools import groupby
from typing import Any

from culvert.features.framework import framework
from culvert.features.known import known
from culvert.files.names import slugs
from culvert.history.document import of_series
from culvert.history.places import LeftOut
from culvert.history.series import Series
from culvert.history.words import METHOD
from culvert.report.html.page import chart_data, drawing_script, template, templates
from culvert.site.badge import badge
from culvert.site.entry import Entry, Figure, Line
from culvert.site.trends import trends
from culvert.study.vpn_id import family_of


@dataclass(frozen=True)
class Site:
    """``entries``: the newest first."""

    entries: tuple[Entry, ...]
    series: tuple[Series, ...]
    refused: tuple[LeftOut, ...]

    @property
    def newest(self) -> list[Entry]:
        """The newest run of each study on each machine; without figures only if all are."""
        found: dict[tuple[str, str], Entry] = {}
        for one in sorted(self.entries, key=_without_figures):
            found.setdefault((one.study, one.machine), one)
        return list(found.values())


@dataclass(frozen=True)
class _Version:
    """A version of a VPN, in how many runs and when."""

    vpn: str
    version: str
    runs: int
    first: str
    last: str


_Lines = list[tuple[Entry, Line]]


def pages(site: Site) -> Iterator[tuple[str, bytes]]:
    """Names and contents."""
    environment = templates("culvert.site")
    environment.filters["of_column"] = _of_column
    common = {"version": version("culvert"), "count": len(site.entries), "method": METHOD}
    lines = [(one, line) for one in site.newest for line in one.lines]
    studies = [
        (name, list(found)) for name, found in groupby(sorted(site.entries, key=_study), key=_study)
    ]
    families = sorted({line.family for one in site.entries for line in one.lines})
    study_pages = slugs(name for name, _ in studies)
    family_pages = slugs(families)
    environment.filters["study_page"] = study_pages.__getitem__
    environment.filters["family_page"] = family_pages.__getitem__

    def page(name: str, root: str, own: _Lines, **values: Any) -> bytes:
        figures = values.get("figures", [])
        return (
            environment.get_template(name)
            .render(
                **common,
                root=root,
                lines=own,
                columns=_columns(own),
                charts=chart_data(figures) if figures else None,
                **values,
            )
            .encode("utf-8", "replace")
        )

    first = {"studies": studies, "families": families, "refused": site.refused}
    yield "index.html", page("index.html", "", lines, **first)
    for study, runs in studies:
        own = [(one, line) for one, line in lines if one.study == study]
        figures = list(trends([one for one in site.series if one.study == study]))
        values = {"study": study, "runs": runs, "figures": figures}
        yield f"study/{study_pages[study]}.html", page("study.html", "../", own, **values)
    rows = {row.name: row for row in framework(known(), [], [])}
    badges = list(_badges(lines))
    for family in families:
        own = [(one, line) for one, line in lines if line.family == family]
        values = {
            "family": family,
            "cards": [
                (one, card)
                for one in site.newest
                for card in one.cards
                if any(card.vpn == line.vpn for _, line in own)
            ],
            "versions": _versions(site, family),
            "figures": list(trends([one for one in site.series if family_of(one.vpn) == family])),
            "features": list(rows[family].cells.items()) if family in rows else [],
            "badges": [(name, text) for name, text, line, _ in badges if line.family == family],
        }
        yield f"vpn/{family_pages[family]}.html", page("vpn.html", "../", own, **values)
    for name, _, _, content in badges:
        yield f"badge/{name}", content.encode()
    yield from _assets()
    yield "culvert.json", json.dumps(_document(site), ensure_ascii=False).encode("utf-8", "replace")


def _assets() -> Iterator[tuple[str, bytes]]:
    """What every page of every site loads."""
    own_files = resources.files("culvert.site").joinpath("templates")
    style = template("report.css") + own_files.joinpath("site.css").read_text("utf-8")
    yield "site.css", style.encode()
    script = own_files.joinpath("site.js").read_text("utf-8") + template("charts.js")
    yield "site.js", script.encode()
    yield "vega.js", str(drawing_script()).encode()
    yield ".nojekyll", b""


def _without_figures(one: Entry) -> bool:
    return not any(line.figures for line in one.lines)


def _study(one: Entry) -> str:
    return one.study


def _columns(lines: _Lines) -> list[str]:
    """All questions of the lines, in the order of the report."""
    return list(dict.fromkeys(figure.title for _, line in lines for figure in line.figures))


def _of_column(figures: Sequence[Figure], title: str) -> Figure | None:
    return next((one for one in figures if one.title == title), None)


def _versions(site: Site, family: str) -> list[_Version]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in site.entries:
        for key in {(line.vpn, line.version) for line in one.lines if line.family == family}:
            found.setdefault(key, []).append(one.started_at)
    versions = [_Version(*key, len(times), min(times), max(times)) for key, times in found.items()]
    return sorted(versions, key=lambda one: (one.vpn, one.first))


def _badges(lines: _Lines) -> Iterator[tuple[str, str, Line, str]]:
    """Name, text, line and SVG of each figure; of one study the newest run has it."""
    newest: dict[tuple[str, str, str, str], tuple[Line, Figure]] = {}
    for one, line in lines:
        for figure in line.figures:
            parts = (one.study, line.condition, line.vpn, figure.title)
            newest.setdefault(parts, (line, figure))
    short = [slugs(each) for each in zip(*newest, strict=True)]
    words = {key: [own[part] for own, part in zip(short, key, strict=True)] for key in newest}
    joined = Counter("-".join(own) for own in words.values())
    for parts, (line, figure) in newest.items():
        apart = "--" if joined["-".join(words[parts])] > 1 else "-"
        name = f"{apart.join(words[parts])}.svg"
        subject = f"{line.vpn} {figure.title}"
        content = badge(subject, figure.absolute, figure.badge)
        yield name, f"{subject}: {figure.absolute} {figure.badge}".rstrip(), line, content


def _document(site: Site) -> dict[str, Any]:
    return {
        "runs": [_of_run(one) for one in site.entries],
        "series": [of_series(one) for one in site.series],
        "refused": [{"what": one.what.name, "why": one.why} for one in site.refused],
    }


def _of_run(one: Entry) -> dict[str, Any]:
    names = [field.name for field in fields(one) if field.name != "tables"]
    shown = {name: getattr(one, name) for name in names}
    return shown | {
        "lines": [asdict(line) for line in one.lines],
        "cards": [asdict(card) for card in one.cards],
    }
