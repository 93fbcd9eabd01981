"""The page: one HTML file with everything inside, that cannot reach out even if it wanted to.

A content security policy forbids every load and allows only the two scripts of ours, by their
hashes: a script that slipped into a study's title would not run even if escaping it had failed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from culvert.report.charts import sections
from culvert.report.charts.common import PAGE
from culvert.report.model import Data, Figure
from culvert.report.view import facts, headline_views, leaf, trial_views, trust

_VEGA_LITE = "6.1"


@dataclass(frozen=True)
class _Panel:
    """Where a chart goes and what it is."""

    id: str
    height_px: int


def render(data: Data) -> str:
    """The HTML text of a run's report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("culvert.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["leaf"] = leaf
    environment.filters["panels"] = _panels
    environment.tests["tree"] = lambda value: isinstance(value, Mapping) and bool(value)
    found = sections(data)
    vega, script = _safe_script(_bundle()), _safe_script(_template("report.js"))
    return environment.get_template("report.html").render(
        data=data,
        run=data.run,
        counts=data.counts,
        trust=trust(data),
        facts=facts(data),
        headlines=headline_views(data),
        sections=found,
        charts={
            "config": PAGE,
            "panels": {
                panel.id: spec
                for section in found
                for figure in section.figures
                for panel, spec in zip(_panels(figure), _specs(figure), strict=True)
            },
        },
        trials=trial_views(data),
        style=Markup(_template("report.css")),  # noqa: S704  our own file
        vega=vega,
        script=script,
        policy="; ".join(
            (
                "default-src 'none'",
                f"script-src {_hash(vega)} {_hash(script)}",
                "style-src 'unsafe-inline'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    )


def _panels(figure: Figure) -> list[_Panel]:
    return [
        _Panel(f"{figure.name}-{index}", _height(panel.to_dict()))
        for index, panel in enumerate(figure.panels)
    ]


def _height(spec: Mapping[str, Any]) -> int:
    """Room for the chart and its title, axis and legend, so that nothing jumps when it is drawn."""
    return int(spec.get("height", 300)) + 96


def _specs(figure: Figure) -> list[dict[str, Any]]:
    """Specifications without what the page already has: theme and schema address."""
    specs = []
    for panel in figure.panels:
        spec = panel.to_dict()
        spec.pop("$schema", None)
        spec.pop("config", None)
        specs.append(spec)
    return specs


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in a scope of their own."""
    return f"(function(){{{vl_convert.javascript_bundle(vl_version=_VEGA_LITE)}\n}})();"


def _template(name: str) -> str:
    return resources.files("culvert.report").joinpath("templates", name).read_text("utf-8")


def _safe_script(text: str) -> Markup:
    """A script that cannot end its own element."""
    kept = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(kept)  # noqa: S704  our own file and the libraries'


def _hash(script: Markup) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
