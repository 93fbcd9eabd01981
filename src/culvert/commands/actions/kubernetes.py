"""``culvert kubernetes``: build, image, manifest and check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from culvert.console import out, print_json, say
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs.kubernetes import image
from culvert.labs.kubernetes.embedded.programs import build
from culvert.labs.kubernetes.image import import_archive
from culvert.labs.kubernetes.kind import Kubernetes
from culvert.labs.kubernetes.pods import printed
from culvert.run.pods import check
from culvert.run.pods.requested import clusters_of
from culvert.topology.spec import Placement

RUN = "RUN"
"""In the place of a run's id."""


def build_programs(jobs: int | None) -> dict[str, object]:
    """Build the programs of the embedded cluster; return their versions."""
    build.build_probe(say)
    programs = build.build(say, jobs=jobs)
    return {
        "kubernetes": programs.kubernetes,
        "etcd": programs.etcd,
        "calico": programs.calico,
        "containerd": programs.packages["containerd"],
        "compiler": programs.go,
        "directory": str(programs.path),
        "built_s": programs.built_s,
    }


def make_image(path: Path, *, into_containerd: bool, as_json: bool) -> None:
    """Write the probe's image as an OCI archive, and import it."""
    made = image.probe_image()
    image.write(made, path)
    done: dict[str, object] = {"image": made.name, "file": str(path), "bytes": path.stat().st_size}
    lines = [f"{made.name} is in {path}"]
    if into_containerd:
        import_archive(path)
        done |= {"imported": True}
        lines.append(f"imported into this machine's containerd as {made.name}")
    if as_json:
        print_json(done)
        return
    out.print("\n".join(lines), markup=False)
    if not into_containerd:
        out.print(
            f"the cluster's nodes find it after {image.COPY.format(path)}, or after --import on "
            "each",
            markup=False,
            style="dim",
        )


def print_manifest(reference: str, *, prove: bool, namespace: str) -> None:
    """Print all that a run creates, as a list for kubectl (JSON is YAML too)."""
    items = printed.everything(RUN, reference, prove=prove, namespace=namespace)
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))


def check_cluster(lab: Kubernetes, vpn: str, traffic: Sequence[str], *, as_json: bool) -> int:
    """Prove a cluster's traffic and print it; the exit code. Raises UsageError, and NotPossible for
    everything else that prevents it."""
    placements = [_placement(word) for word in traffic] or list(check.PLACEMENTS)
    try:
        with clusters_of(lab) as clusters:
            if not as_json:
                clusters.say = say
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
    verdict = "no clear text between the nodes" if found.ok else "NOT PROVED"
    out.print(f"{verdict}, after {found.seconds:.1f} s", markup=False)
    return found.exit_code


def _placement(word: str) -> Placement:
    try:
        return Placement(word)
    except ValueError:
        known = ", ".join(Placement)
        raise UsageError(f"traffic '{word}'", "is unknown", f"use {known}") from None
