"""``culvert kubernetes check``, ``image`` and ``manifest``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from culvert import __version__
from culvert.console import out, print_json
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs.kubernetes import image
from culvert.labs.kubernetes.pods import manifests
from culvert.run.pods import check
from culvert.run.pods.request import ClusterRequest
from culvert.run.pods.requested import clusters_of
from culvert.topology.placement import Placement

RUN = "RUN"
"""In the place of a run's id."""


def write_image(path: Path, *, as_json: bool) -> None:
    """Write the probe's image as an OCI archive."""
    made = image.probe_image(__version__)
    image.write(made, path)
    if as_json:
        print_json({"image": made.name, "file": str(path), "bytes": path.stat().st_size})
        return
    out.print(f"{made.name} is in {path}", markup=False)
    out.print(
        f"push it:   skopeo copy oci-archive:{path} docker://REGISTRY/probe:{__version__}\n"
        f"or import it on each node:   ctr -n k8s.io images import {path.name}",
        markup=False,
        style="dim",
    )


def print_manifest(reference: str, *, prove: bool) -> None:
    """Print all that a run creates, as a list for kubectl (JSON is YAML too)."""
    items = manifests.everything(RUN, reference, prove=prove)
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))


def check_cluster(
    request: ClusterRequest, vpn: str, traffic: Sequence[str], *, as_json: bool
) -> int:
    """Prove a cluster's traffic and print it; the exit code. Raises UsageError, and NotPossible for
    everything else that prevents it."""
    placements = [_placement(word) for word in traffic] or list(check.PLACEMENTS)
    try:
        with clusters_of(request) as clusters:
            found = check.summary(clusters, vpn, placements)
    except UsageError:
        raise
    except CulvertError as error:  # its own exit code would mean that traffic is clear
        raise NotPossible(error.what, error.why, error.remedy) from error
    if as_json:
        proved = [one.as_json() for one in found.proved]
        print_json({"ok": found.ok, "seconds": found.seconds, "traffic": proved})
        return found.exit_code
    for one in found.proved:
        word = "yes" if one.ok else "NO " if one.known else "?  "
        out.print(f"{word}  {one.text}", markup=False)
    failed = next((one for one in found.proved if not one.ok), None)
    remedies = [each.remedy for each in failed.checks if not each.passed] if failed else []
    if failed is not None:
        out.print(f"remedy: {failed.remedy or next(iter(remedies), '')}", markup=False)
    verdict = "nothing is clear between the nodes" if found.ok else "NOT PROVED"
    out.print(f"{verdict}, after {found.seconds:.1f} s", markup=False)
    return found.exit_code


def _placement(word: str) -> Placement:
    try:
        return Placement(word)
    except ValueError:
        known = ", ".join(Placement)
        raise UsageError(f"traffic '{word}'", "is unknown", f"use {known}") from None
