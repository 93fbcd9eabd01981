"""A wheel for each platform: static programs, compiled and linked by zig for any of them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from release.backend import BackendCall, call
from release.source import ROOT, Source


@dataclass(frozen=True)
class _Target:
    architecture: str
    triple: str


class Platform(Enum):
    """By Debian's name of the architecture, with the target of Rust's compiler."""

    AMD64 = _Target("amd64", "x86_64-unknown-linux-musl")
    ARM64 = _Target("arm64", "aarch64-unknown-linux-musl")


def library_missing(platform: Platform) -> str:
    """Why its standard library cannot be used; empty if it can. rustup fetches a missing one."""
    triple = platform.value.triple
    asked = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", triple],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode == 0 and Path(asked.stdout.strip()).is_dir():
        return ""
    try:
        added = subprocess.run(
            ["rustup", "target", "add", triple], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return "this Rust does not come from rustup, which would fetch it"
    return "" if added.returncode == 0 else added.stderr.strip().splitlines()[-1]


def make_wheel(platform: Platform, source: Source, out_dir: Path, work_dir: Path) -> Path:
    """Raises CalledProcessError if the compiler fails."""
    built = work_dir / platform.value.architecture
    built.mkdir()
    beside = Path(sys.executable).parent
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # setuptools-rust starts $CARGO, and cargo-zigbuild finds zig by this Python.
    env = {
        "CARGO": str(beside / "cargo-zigbuild"),
        "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
        "CARGO_ZIGBUILD_ZIG_PATH": str(_zig()),
        "CARGO_BUILD_TARGET": platform.value.triple,
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target/dist")),
        "SETUPTOOLS_SCM_PRETEND_VERSION": source.version,
        # No path of this machine gets into the programs.
        "RUSTFLAGS": f"--remap-path-prefix={source.tree}=culvert "
        f"--remap-path-prefix={cargo_home}=cargo",
    }
    name = call(BackendCall.WHEEL, source.tree, built, env)
    return (built / name).replace(out_dir / name)


def _zig() -> Path:
    """The compiler inside the package ziglang."""
    import ziglang  # noqa: PLC0415 - of the group `dist`, which only a release needs

    return Path(str(ziglang.__file__)).with_name("zig")
