"""Builds the programs of the embedded cluster, and the static probe of its pods.

Kubernetes, etcd and Calico come from Go's module proxy at pinned versions, each module checked
against go.sum; containerd, runc, CNI plugins, iptables and the instruments from Debian's packages,
which are unpacked and not installed: no service of theirs starts on this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.resources import as_file
from pathlib import Path

import culvert
from culvert import tools
from culvert.debian import Archive, version_numbers
from culvert.errors import CulvertError, NotPossible
from culvert.json_text import read_json
from culvert.labs.building import alone, roomy, run_step
from culvert.labs.kubernetes.embedded.programs.built import (
    CALICO,
    CALICO_MODULE,
    COMPONENTS,
    KUBERNETES,
    PACKAGES,
    SUITE,
    ClusterPrograms,
    built,
    recipe,
    sources,
)
from culvert.labs.probes import static_probe

_CHECKOUT = Path(culvert.__file__).parents[2]
"""Of an editable installation: it has the sources of the probe."""
SPACE_BYTES = 12 << 30
OLDEST_GO = (1, 24)
NEEDS_GO = "install Go 1.24 or newer (https://go.dev/dl), then try again"
GO_PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
_CHECKED = {
    # Never fetch another Go, and check each module whatever the user's settings are.
    "GOTOOLCHAIN": "local",
    "GOSUMDB": "sum.golang.org",
    "GONOSUMDB": "none",
    "GOINSECURE": "none",
    "GOFLAGS": "",
    "GOWORK": "off",
    "CGO_ENABLED": "0",
}
_VERSION = "k8s.io/component-base/version"
_NFT = "xtables-nft-multi"
_IPTABLES = tuple(f"{name}{kind}" for name in ("iptables", "ip6tables") for kind in ("", "-save",
             "-restore"))  # fmt: skip

Say = Callable[[str], None]


def build_probe(say: Say) -> None:
    """Build it where the sources are: minutes at first, a moment if nothing has changed.

    Raises NotPossible without the sources and without a probe that was built before.
    """
    if not (_CHECKOUT / "crates/probe/Cargo.toml").is_file():
        static_probe("the image of the embedded cluster's pods")
        return
    if shutil.which("cargo") is None:
        raise NotPossible("cargo", "is not on PATH", "install Rust (README.md says which version)")
    home = tools.tools_directory() / "probes"
    with alone(home):
        say("compiling the static probe")
        run_step(
            ["make", "-C", str(_CHECKOUT), "probe-static", f"TOOLS={home.parent}"],
            home,
            what="the static probe",
            remedy=f"run `make probe-static` in {_CHECKOUT}",
            progress=lambda lines: say(f"  {lines} lines of cargo's output"),
        )


def build(say: Say, *, jobs: int | None = None) -> ClusterPrograms:
    """The programs; they are built first if missing, which takes minutes of all CPUs.

    The module and build caches of Go are kept. Raises NotPossible if a program is missing,
    CulvertError if the build fails.
    """
    programs = built()
    if programs is not None:
        return programs
    go = _go()
    home = tools.tools_directory() / "kubernetes"
    with alone(home):
        return built() or _build(say, go, home, jobs or os.cpu_count() or 1)


def _build(say: Say, go: str, home: Path, jobs: int) -> ClusterPrograms:
    began = time.monotonic()
    target = home / recipe()
    with (
        tempfile.TemporaryDirectory(prefix="culvert-cluster-", dir=roomy(SPACE_BYTES)) as scratch,
        tempfile.TemporaryDirectory(prefix=".new-", dir=home) as fresh,
        as_file(sources()) as folder,
    ):
        work, tree = Path(scratch), Path(fresh) / "tree"
        shutil.copytree(folder, work / "go")
        root = tree / "root"
        programs = root / "usr/bin"
        programs.mkdir(parents=True)
        packages = _unpack(say, work / "apt", root)
        compiler = _Compiler(go, jobs, work / "go", say)
        say(f"compiling Kubernetes {KUBERNETES} and etcd with {jobs} processes")
        compiler.build("hyperkube", ".", programs / "hyperkube", _kubernetes_flags())
        for name in COMPONENTS:
            (programs / name).symlink_to("hyperkube")
        compiler.build("pause", ".", programs / "pause")
        say(f"compiling Calico {CALICO}")
        plugins = root / "usr/lib/cni"
        compiler.build("calico", f"{CALICO_MODULE}/cni-plugin/cmd/calico", plugins / "calico")
        (plugins / "calico-ipam").symlink_to("calico")
        compiler.build("calico", f"{CALICO_MODULE}/node/cmd/calico-node", programs / "calico-node")
        crds = compiler.directory_of("calico", CALICO_MODULE) / "manifests/crds.yaml"
        shutil.copyfile(crds, tree / "crds.yaml")
        took_s = round(time.monotonic() - began, 1)
        ClusterPrograms(target, compiler.version, packages, took_s).save(tree)
        tree.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        tree.rename(target)
    done = built()
    if done is None:
        raise CulvertError(str(target), "the record cannot be read", "build again")
    return done


def _unpack(say: Say, lists: Path, root: Path) -> dict[str, str]:
    """Debian's packages in ``root``; returns their versions."""
    archive = Archive(lists, (SUITE,))
    archive.open()
    versions = {}
    for package in PACKAGES:
        versions[package] = archive.version(package)
        say(f"fetching {package} {versions[package]}")
        archive.unpack(package, versions[package], root)
    for name in ("bin", "sbin", "lib"):
        _merge(root / name, root / "usr" / name)
    for name in _IPTABLES:  # Debian's alternatives system would make these links
        link = root / "usr/sbin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(_NFT)
    return versions


def _merge(directory: Path, target: Path) -> None:
    """Move the files of ``directory`` to the same places below /usr, as on a system with /usr
    merged."""
    for file in sorted(directory.rglob("*")):
        if file.is_dir() and not file.is_symlink():
            continue
        place = target / file.relative_to(directory)
        place.parent.mkdir(parents=True, exist_ok=True)
        file.rename(place)
    shutil.rmtree(directory, ignore_errors=True)


def _kubernetes_flags() -> str:
    major, minor = version_numbers(KUBERNETES)[:2]
    settings = {"gitVersion": KUBERNETES, "gitMajor": str(major), "gitMinor": str(minor)}
    return " ".join(f"-X {_VERSION}.{name}={value}" for name, value in settings.items())


def _go() -> str:
    """The path of Go; raises NotPossible if it is missing or too old."""
    found = next((path for name in ("go", *GO_PLACES) if (path := tools.find(name))), None)
    if found is None:
        raise NotPossible("go", f"is neither on PATH nor at {GO_PLACES[0]}", NEEDS_GO)
    version = _version_of(str(found))
    if version_numbers(version) < OLDEST_GO:
        raise NotPossible(version, "is too old for Kubernetes", NEEDS_GO)
    return str(found)


def _version_of(go: str) -> str:
    return _output([go, "env", "GOVERSION"], Path("/")).strip()


def _output(argv: Sequence[str], directory: Path) -> str:
    done = subprocess.run(
        argv,
        cwd=directory,
        env={**os.environ, **_CHECKED},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        printed = done.stderr.strip().splitlines()
        raise CulvertError(" ".join(argv[:2]), printed[-1] if printed else "failed", NEEDS_GO)
    return done.stdout


class _Compiler:
    """Go, in the folders of sources below ``directory``."""

    def __init__(self, go: str, jobs: int, directory: Path, say: Say) -> None:
        self._say = say
        self._go = go
        self._jobs = jobs
        self._directory = directory
        self.version = _version_of(go)

    def build(self, folder: str, package: str, target: Path, flags: str = "") -> None:
        """Compile and link a static program without symbols."""
        run_step(
            [
                *(self._go, "build", "-v", "-p", str(self._jobs), "-trimpath"),
                *("-ldflags", f"-s -w {flags}".strip(), "-o", str(target), package),
            ],
            self._directory / folder,
            what=f"the build of {target.name}",
            remedy="check that the Go module proxy answers (go env GOPROXY), then try again",
            environment=_CHECKED,
            progress=lambda packages: self._say(f"  {packages} packages of {target.name}"),
        )

    def directory_of(self, folder: str, module: str) -> Path:
        """The directory of a module's source in Go's cache."""
        text = _output([self._go, "list", "-m", "-json", module], self._directory / folder)
        return Path(read_json(text)["Dir"])
