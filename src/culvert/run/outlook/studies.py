"""Studies before they run: the problems of a file, its outline, and those that are shipped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from culvert.errors import StudyError
from culvert.plan.plan import Plan
from culvert.plan.warnings import warnings_of
from culvert.run.outlook import outline
from culvert.run.outlook.expected import estimate_of
from culvert.run.outlook.shortfalls import Machine, shortfalls
from culvert.study.catalogue import Catalogue
from culvert.study.shipped import shipped_studies
from culvert.study.study import Study


def check(names: Sequence[str], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Problems and warnings of each file, with line and remedy."""
    found = []
    for name in names:
        try:
            study = Study.load(name, catalogue)
        except StudyError as error:
            problems = [
                {"what": one.what, "why": one.why, "remedy": one.remedy}
                for one in error.all_problems
            ]
            nothing: dict[str, Any] = {"warnings": [], "shortfalls": []}
            found.append({"study": name, "ok": False, "problems": problems, **nothing})
            continue
        warned = warnings_of(study)
        for scale in study.file.scale:
            smaller = Study.load(name, catalogue, scale=scale)
            warned += [
                f"scale {scale}: {line}" for line in warnings_of(smaller) if line not in warned
            ]
        missing = [one.as_json() for one in shortfalls(study, Machine.here())]
        rest: dict[str, Any] = {"warnings": warned, "shortfalls": missing}
        found.append({"study": name, "ok": True, "problems": [], **rest})
    return found


def as_json(study: Study, catalogue: Catalogue) -> dict[str, Any]:
    """The outline of a study, its claims, published values, warnings and shortfalls."""
    plan = Plan.of(study)
    estimate = estimate_of(study, plan, catalogue)
    return {
        **outline.as_json(study, plan, estimate),
        "title": study.title,
        "scales": sorted(study.file.scale),
        "claims": [
            {
                "id": claim.id,
                "text": claim.text,
                "source": claim.source,
                "place": claim.place,
                "test": claim.test,
            }
            for claim in study.file.claim
        ],
        "published": [
            {
                "vpn": one.vpn,
                "measurement": one.measurement,
                "metric": one.metric,
                "condition": one.where.condition,
                "parameters": {key: json.loads(value) for key, value in one.where.parameters},
                "value": one.value,
                "unit": one.unit,
                "printed": one.printed,
                "place": one.place,
            }
            for one in study.published
        ],
        "warnings": warnings_of(study),
        "shortfalls": [one.as_json() for one in shortfalls(study, Machine.here())],
    }


def listing(catalogue: Catalogue) -> list[dict[str, Any]]:
    """The shipped studies: name, title, cells, estimate in seconds, scales."""
    found = []
    for name in shipped_studies():
        study = Study.load(name, catalogue)
        plan = Plan.of(study)
        estimate = estimate_of(study, plan, catalogue)
        found.append(
            {
                "name": name,
                "title": study.title,
                "cells": len(plan.cells),
                "claims": len(study.file.claim),
                "max_s": estimate.max_s if estimate.max_s != float("inf") else None,
                "scales": sorted(study.file.scale),
            }
        )
    return found
