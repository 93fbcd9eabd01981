"""``culvert kubernetes``: build, image, manifest and check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.console import out, print_json, say
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs.kubernetes import image
from culvert.labs.kubernetes.embedded.programs import build
from culvert.labs.kubernetes.image import import_archive
from culvert.labs.kubernetes.kind import Kubernetes
from culvert.labs.kubernetes.pods import printed
from culvert.labs.kubernetes.registry import Reference, push
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


@dataclass(frozen=True)
class ImageRequest:
    """What becomes of the probe's image; ``push`` is REGISTRY/NAME:TAG."""

    path: Path | None
    push: str | None = None
    plain_http: bool = False
    into_containerd: bool = False

    def require_valid(self) -> Reference | None:
        """Where it is pushed; raises UsageError for options that do not agree."""
        if self.path is None and self.push is None:
            raise UsageError("the image", "needs a FILE or --push", "name a FILE, or add --push")
        if self.path is None and self.into_containerd:
            raise UsageError("--import", "needs the archive", "name a FILE")
        if self.push is None and self.plain_http:
            raise UsageError("--plain-http", "applies to --push only", "leave it out")
        return None if self.push is None else Reference.parse(self.push)


def make_image(request: ImageRequest, *, as_json: bool) -> None:
    """Write the probe's image as an OCI archive, push it, import it."""
    to = request.require_valid()
    made = image.probe_image()
    done: dict[str, object] = {"image": made.name}
    lines = []
    if request.path is not None:
        image.write(made, request.path)
        done |= {"file": str(request.path), "bytes": request.path.stat().st_size}
        lines.append(f"{made.name} is in {request.path}")
    if to is not None:
        digest = push(made, to, plain_http=request.plain_http)
        done |= {"pushed": str(to), "digest": digest}
        lines.append(f"pushed to {to}: use it with --image {to.registry}/{to.name}@{digest}")
    if request.path is not None and request.into_containerd:
        import_archive(request.path)
        done |= {"imported": True}
        lines.append(f"imported into this machine's containerd as {made.name}")
    if as_json:
        print_json(done)
        return
    out.print("\n".join(lines), markup=False)
    if to is None and not request.into_containerd:
        out.print(
            "the cluster's nodes find it after --push REGISTRY/NAME:TAG, or after --import on each",
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
