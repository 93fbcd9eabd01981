"""The page: one HTML file that contains everything and cannot load anything else.

A content security policy forbids every load and allows only the page's two scripts, by their
hashes: a script in a study's title would not run even if escaping failed.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from culvert.labs.registry import DEFAULT
from culvert.report.charts import Section
from culvert.report.charts.common import PAGE
from culvert.report.html.bundle import bundle
from culvert.report.leaves import at, leaf
from culvert.report.model import Data, Figure
from culvert.report.numbers import duration
from culvert.report.run_info import moment
from culvert.report.views.claims import claims_view
from culvert.report.views.comparisons import comparison_table, instruments_table
from culvert.report.views.conclusion import behaviour_sentences, conclusion
from culvert.report.views.delivered import delivered_views
from culvert.report.views.headline import headline_views
from culvert.report.views.leaks import leak_matrices
from culvert.report.views.nat_matrix import nat_matrices
from culvert.report.views.paper import paper_tables
from culvert.report.views.surroundings import surroundings_table
from culvert.report.views.switches import switches_table
from culvert.report.views.topology import third_nodes_table, topology_views
from culvert.report.views.trials import trial_list
from culvert.report.views.trust import limits, trust
from culvert.report.views.underlay import underlay_views, vpn_views
from culvert.report.visible import visible_output
from culvert.study.vpn_id import BASELINE


@dataclass(frozen=True)
class _Panel:
    """The element of a chart and its specification."""

    id: str
    height_px: int


@dataclass(frozen=True)
class SharedFiles:
    """Of a site, relative to the page: the drawing library, and the page with links to all."""

    vega: str
    home: str


def render(data: Data, sections: Sequence[Section], shared: SharedFiles | None = None) -> str:
    """The HTML text of a run's report: one file, or a page of a site."""
    environment = templates()
    leaks = leak_matrices(data)
    matrices = nat_matrices(data), leaks
    in_matrices = frozenset[str]().union(*(one.conditions for one in matrices))
    vega = Markup("") if shared else drawing_script()
    script = _report_script()
    allowed = "'self'" if shared else _hash(vega)
    return environment.get_template("report.html").render(
        shared=shared,
        data=data,
        run=data.run,
        counts=data.counts,
        conclusion=conclusion(data, leaks),
        trust=trust(data),
        facts=facts(data),
        reproduce=reproduce(data),
        headlines=[
            view
            for view in headline_views(data)
            if view.columns or view.condition not in in_matrices
        ],
        matrices=[one for one in matrices if one.matrices or one.missing],
        paired=data.columns.design.paired,
        claims=claims_view(data),
        paper_tables=paper_tables(data),
        sections=sections,
        charts=chart_data(figure for section in sections for figure in section.figures),
        behaviour=behaviour_sentences(data),
        comparisons=comparison_table(data),
        instruments=instruments_table(data),
        switches=switches_table(data),
        surroundings=surroundings_table(data),
        listed=trial_list(data),
        limits=limits(data),
        underlay=underlay_views(data),
        topologies=topology_views(data),
        third_nodes=third_nodes_table(data),
        delivered=delivered_views(data),
        vpns=vpn_views(data),
        style=Markup(template("report.css")),  # noqa: S704  our own file
        vega=vega,
        script=script,
        policy="; ".join(
            (
                "default-src 'none'",
                f"script-src {allowed} {_hash(script)}",
                "style-src 'unsafe-inline'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    )


@cache
def templates(package: str = "culvert.report") -> jinja2.Environment:
    """The templates of a package, and the report's."""
    names = dict.fromkeys((package, "culvert.report"))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name, "templates") for name in names]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=visible_output,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["leaf"] = leaf
    environment.filters["panels"] = panels
    environment.tests["tree"] = lambda value: isinstance(value, Mapping) and bool(value)
    return environment


@cache
def drawing_script() -> Markup:
    """The libraries that draw charts."""
    return _safe_script(bundle())


@cache
def _report_script() -> Markup:
    return _safe_script(template("report.js") + template("charts.js"))


def chart_data(figures: Iterable[Figure]) -> dict[str, Any]:
    """The specifications of all panels by their element, and the theme."""
    return {
        "config": PAGE,
        "panels": {
            place.id: panel
            for figure in figures
            for place, panel in zip(panels(figure), figure.panels, strict=True)
        },
    }


def panels(figure: Figure) -> list[_Panel]:
    """The elements of a figure's panels."""
    return [
        # Space for title, axis and legend: the layout does not move when the chart is drawn.
        _Panel(f"{figure.name}-{index}", int(panel["height"]) + 96)
        for index, panel in enumerate(figure.panels)
    ]


def template(name: str) -> str:
    """A file of the report's templates as it is."""
    return resources.files("culvert.report").joinpath("templates", name).read_text("utf-8")


def _safe_script(text: str) -> Markup:
    """A script that cannot close its own element."""
    kept = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(kept)  # noqa: S704  our own file and the libraries'


def _hash(script: Markup) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_TRADEMARK = re.compile(r"\((?:R|TM)\)")


def facts(data: Data) -> list[tuple[str, str]]:
    """The facts on run and machine at the top of the page."""
    run, environment = data.run, data.run.environment
    begin = moment(run.started_at)
    found = [
        (
            "Imported" if run.imported else "Measured",
            begin.strftime("%Y-%m-%d %H:%M UTC") if begin else run.started_at,
        ),
        ("Took", _took(data)),
        ("Trials", _trials(data)),
        ("Lab", run.lab),
        ("Kernel", at(environment, "kernel", "release")),
        ("Processor", _TRADEMARK.sub("", at(environment, "cpu", "model"))),
        ("CPUs", at(environment, "cpu", "threads")),
        ("Governor", _governor(data)),
        ("Culvert", run.culvert_version),
    ]
    return [(name, value) for name, value in found if value]


def _took(data: Data) -> str:
    run = data.run
    return "" if run.imported or run.duration_s is None else duration(run.duration_s)


def _governor(data: Data) -> str:
    governors = at(data.run.environment, "cpu", "frequency", "governors")
    return governors or ("" if data.run.imported else "none visible")


def _trials(data: Data) -> str:
    if data.run.imported:
        return str(data.counts.total)
    blocks = data.trials["block"].n_unique()
    return f"{data.counts.total} in {'one block' if blocks == 1 else f'{blocks} blocks'}"


def reproduce(data: Data) -> str:
    """The commands that repeat the run, quoted for a shell."""
    run = data.run
    words = ["culvert", "run", "study.toml", "--out", "again"]
    words += ["--scale", run.scale] if run.scale else []
    words += ["--lab", run.lab] if run.lab not in ("", DEFAULT) else []
    install = "sudo culvert install --study study.toml" if {*data.vpns} - {BASELINE} else ""
    return "\n".join(filter(None, (install, shlex.join(words), "culvert report again")))
