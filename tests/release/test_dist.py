"""`make dist`, and its wheel in an environment without Rust and without this clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from release.__main__ import MOST_BYTES
from release.wheels import Platform, library_missing

from culvert.labs.probes import program_architecture
from tests.cli import small_study
from tests.test_pins import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

PROGRAMS = ("culvert-probe", "culvert-wire")


def uv() -> str:
    beside = ROOT / ".tools/uv/bin/uv"
    found = shutil.which("uv") or (str(beside) if beside.exists() else None)
    assert found, "make setup installs uv"
    return found


def run(*words: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def interpreted(program: Path) -> bool:
    """Whether an ELF file names a dynamic loader."""
    return b"/ld-" in program.read_bytes()[:4096]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of amd64, as `make dist ARCH=amd64` builds it."""
    if shutil.which("cargo") is None:  # sudo may have another PATH
        pytest.skip("cargo is not on PATH")
    if why := library_missing(Platform.AMD64):
        pytest.skip(f"no standard library for static programs is to be had: {why}")
    out = tmp_path_factory.mktemp("dist")
    run(uv(), *_sync(), cwd=ROOT)
    release(out)
    (found,) = out.glob("*.whl")
    return found


def release(out: Path) -> None:
    """As `make deb ARCH=amd64` does it."""
    env = {**os.environ, "PATH": f"{Path(uv()).parent}:{os.environ['PATH']}"}
    run(
        sys.executable,
        *("-m", "release", "--only", "amd64", "--deb", "--out"),
        out,
        cwd=ROOT,
        env=env,
    )


def _sync() -> Sequence[str]:
    return ("sync", "--locked", "--inexact", "--no-install-project", "--group", "dist")


def test_it_has_static_programs_roles_studies_and_docs(wheel: Path, tmp_path: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for program in PROGRAMS:
            (packed,) = [name for name in names if name.endswith(f".data/scripts/{program}")]
            unpacked = Path(archive.extract(packed, tmp_path))
            assert program_architecture(unpacked) == "x86_64"
            assert not interpreted(unpacked)
            content = unpacked.read_bytes()
            assert b".cargo/registry" not in content
            assert b"culvert-release-" not in content
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=tmp_path)
    info = f"culvert-{wheel.name.split('-')[1]}.dist-info"
    assert f"{info}/sboms/culvert.spdx.json" in names
    assert f"{info}/licenses/NOTICE-third-party.txt" in names
    for name in ("ansible/roles/wireguard/tasks/main.yml", "studies/quick.toml", "docs/api.md"):
        assert f"culvert/{name}" in names


def test_a_second_build_has_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    release(tmp_path)
    for made in (wheel, package_of(wheel)):
        assert (tmp_path / made.name).read_bytes() == made.read_bytes()


def package_of(wheel: Path) -> Path:
    (found,) = wheel.parent.glob("culvert_*_amd64.deb")
    return found


@pytest.mark.lab
def test_the_debian_package_works_and_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    """On this machine's files, which an overlay keeps as they are."""
    python = run("/usr/bin/python3", "-c", "import sys; print(sys.version_info[:2])", cwd=tmp_path)
    if python.strip() != str(sys.version_info[:2]):
        pytest.skip(f"Debian's Python is another than that of the package: {python.strip()}")
    package = package_of(wheel)  # not below the folder that the script hides
    said = run("unshare", "--mount", "sh", "-ec", INSTALL, "sh", tmp_path, package, cwd=tmp_path)
    assert said.splitlines()[0] == f"culvert {wheel.name.split('-')[1]}"
    assert "Usage: culvert run" in said
    assert said.splitlines()[-1] == "purged"


INSTALL = """
mount -t tmpfs scratch "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" root "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
cp "$2" "$1/root/culvert.deb"
cat >"$1/root/try" <<'END'
set -e
dpkg --install /culvert.deb >/dev/null
culvert --version
culvert run --help
! culvert doctor --json | grep -q Traceback
dpkg --purge culvert >/dev/null
[ ! -e /usr/lib/culvert ] && [ ! -e /usr/bin/culvert ] && echo purged
END
chroot "$1/root" sh /try
"""


@pytest.mark.lab
def test_it_measures_in_an_environment_without_rust_and_the_clone(
    wheel: Path, tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    run(uv(), "venv", "--quiet", "--python", sys.executable, venv, cwd=tmp_path)
    run(uv(), "pip", "install", "--quiet", "--python", venv / "bin/python", wheel, cwd=tmp_path)
    env = {  # without cargo and go
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(tmp_path),
        "CULVERT_TOOLS": str(tmp_path / "tools"),  # not the machine's
    }
    study = small_study(tmp_path / "small.toml", "none", "vxlan/plain", blocks=2)
    culvert = venv / "bin/culvert"
    done = subprocess.run(
        [culvert, "run", study, "--out", "results/small"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    # vxlan/plain encrypts nothing: its trials are invalid, which shows that proofs work here.
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the canary was readable in" in done.stdout
    assert "all blocks are measured" in done.stdout
    report = run(culvert, "report", "results/small", cwd=tmp_path, env=env)
    assert "report.html" in report
    assert run(culvert, "--version", cwd=tmp_path, env=env).split()[1] == wheel.name.split("-")[1]
    doctor = run(uv(), "tool", "run", "--from", wheel, "culvert", "doctor", cwd=tmp_path)
    assert "probe" in doctor
