"""``culvert kubernetes``: build the embedded cluster's programs."""

from __future__ import annotations

from culvert.console import err
from culvert.labs.kubernetes.embedded.programs import build
from culvert.labs.kubernetes.embedded.programs.probe import build_probe


def build_programs(jobs: int | None) -> dict[str, object]:
    """Build the programs of the embedded cluster; return their versions."""

    def say(text: str) -> None:
        err.print(text, markup=False, style="dim")

    build_probe(say)
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
