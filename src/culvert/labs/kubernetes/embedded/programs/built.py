"""The programs of the embedded cluster as they are kept with Culvert's tools.

::

    TOOLS/kubernetes/RECIPE/          RECIPE: a digest of all that determines the programs
        record.json                   versions, and the time it took
        root/usr/...                  mounted over /usr of the cluster's nodes
        crds.yaml                     Calico's resource definitions
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from culvert.errors import NotPossible, UsageError
from culvert.files.plain import read_plain
from culvert.json_text import read_json
from culvert.tools import tool_directories

KUBERNETES = "v1.34.4"
ETCD = "v3.6.4"
CALICO_MODULE = "github.com/projectcalico/calico"
CALICO = "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520"
"""A pseudo-version of the module: the tree of the release below."""
CALICO_RELEASE = "v3.28.5"
SUITE = "bookworm"
PACKAGES = (
    *("containerd", "runc", "libseccomp2", "containernetworking-plugins"),
    *("iptables", "libxtables12", "libip4tc2", "libip6tc2", "libnftnl11", "libmnl0"),
    *("ipset", "libipset13", "conntrack", "libnfnetlink0", "libnetfilter-conntrack3"),
    *("hey", "iperf3", "libiperf0", "libsctp1", "busybox-static"),
)
"""Debian's packages, and the libraries of theirs that a small system may lack."""
COMPONENTS = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    *("kubelet", "kube-proxy", "kubectl"),
)
"""The names by which the one program of Kubernetes is started."""
RECORD = "record.json"
MOST_RECORD_BYTES = 1 << 16
BUILD_IT = "culvert kubernetes build (about 14 CPU-minutes and 12 GB, once)"


@dataclass(frozen=True)
class ClusterPrograms:
    """Programs that are built. ``packages`` are Debian's, with versions; ``built_s`` the time."""

    path: Path
    go: str
    packages: dict[str, str]
    built_s: float
    kubernetes: str = KUBERNETES
    etcd: str = ETCD
    calico: str = CALICO_RELEASE

    @property
    def root(self) -> Path:
        return self.path / "root"

    @property
    def crds(self) -> Path:
        return self.path / "crds.yaml"

    def program(self, name: str) -> Path:
        return self.root / "usr/bin" / name

    def save(self, directory: Path) -> None:
        content = {name: value for name, value in asdict(self).items() if name != "path"}
        text = json.dumps(content, indent=1) + "\n"
        (directory / RECORD).write_text(text, encoding="utf-8")


def sources() -> Traversable:
    """The folders of Go sources with pinned modules: hyperkube, calico, pause."""
    return resources.files("culvert.labs.kubernetes.embedded.programs") / "go"


def recipe() -> str:
    """A digest of everything that determines the programs, 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for word in (platform.machine(), KUBERNETES, ETCD, CALICO, SUITE, *PACKAGES):
        digest.update(f"{word}\n".encode())
    for folder in sorted(sources().iterdir(), key=lambda entry: entry.name):
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            digest.update(f"{folder.name}/{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def built() -> ClusterPrograms | None:
    """The programs of this version's recipe; None if they are not built."""
    for directory in tool_directories():
        path = directory / "kubernetes" / recipe()
        try:
            return ClusterPrograms(path, **read_json(read_plain(path / RECORD, MOST_RECORD_BYTES)))
        except (OSError, ValueError, TypeError, UsageError):
            continue  # missing, or of another version of Culvert
    return None


def require_built() -> ClusterPrograms:
    """The programs; raises NotPossible if they are not built."""
    programs = built()
    if programs is None:
        raise NotPossible("the embedded cluster", "its programs are not built", BUILD_IT)
    return programs
