"""A Debian package: an environment of this Python with the locked packages, in /usr/lib/culvert."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from release.source import Source
from release.wheels import Platform

HOME = Path("usr/lib/culvert")
_MAJOR, _MINOR = sys.version_info[:2]
_CONTROL = """\
Package: culvert
Version: {version}
Architecture: {architecture}
Section: net
Priority: optional
Maintainer: Culvert <culvert@culvert.invalid>
Installed-Size: {size_kb}
Depends: python3 (>= {python}), python3 (<< {next_python}), iproute2, nftables, iputils-ping
Description: VPN performance laboratory
 Real VPNs between namespaces of this machine, measured with proof.
"""
_SCRIPTS = {
    "postinst": f"/{HOME}/bin/python3 -m compileall -qq -j 0 /{HOME}/lib || :",
    "prerm": f"find /{HOME} -name __pycache__ -prune -exec rm -rf {{}} +",
    "postrm": '[ "$1" != purge ] || rm -rf /var/lib/culvert',  # what `culvert install` made
}


def make_package(platform: Platform, wheel: Path, source: Source, work_dir: Path) -> Path:
    """``culvert_VERSION_ARCH.deb`` beside the wheel; its times are $SOURCE_DATE_EPOCH.

    Raises CalledProcessError.
    """
    tree = work_dir / f"{platform.value.architecture}.deb"
    _install(platform, wheel, source, tree / HOME)
    (tree / "usr/bin").mkdir()
    (tree / "usr/bin/culvert").symlink_to(f"../../{HOME}/bin/culvert")
    control = tree / "DEBIAN"
    control.mkdir()
    size_kb = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
    fields = _CONTROL.format(
        version=source.version,
        architecture=platform.value.architecture,
        size_kb=size_kb,
        python=f"{_MAJOR}.{_MINOR}",
        next_python=f"{_MAJOR}.{_MINOR + 1}",
    )
    (control / "control").write_text(fields)
    for name, command in _SCRIPTS.items():
        (control / name).write_text(f"#!/bin/sh\nset -e\n{command}\n")
        (control / name).chmod(0o755)
    epoch_s = int(os.environ["SOURCE_DATE_EPOCH"])  # dpkg-deb reads it too
    for path in (tree, *tree.rglob("*")):
        os.utime(path, (epoch_s, epoch_s), follow_symlinks=False)
    package = wheel.parent / f"culvert_{source.version}_{platform.value.architecture}.deb"
    packing = ("dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--build", tree, package)
    subprocess.run(packing, check=True, stdout=subprocess.DEVNULL)
    return package


def _install(platform: Platform, wheel: Path, source: Source, home: Path) -> None:
    """An environment as `python3 -m venv` makes it, whose Python is the system's."""
    locked = home.parent / "locked.txt"
    locked.parent.mkdir(parents=True)
    export = ("export", "--frozen", "--quiet", "--no-dev", "--no-emit-project", "--output-file")
    subprocess.run(("uv", *export, locked), cwd=source.tree, check=True, stdout=subprocess.DEVNULL)
    machine = platform.value.triple.partition("-")[0]
    install = (
        *("uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"),
        *("--python", sys.executable, "--python-platform", f"{machine}-manylinux_2_31"),
        *("--link-mode", "copy", "--prefix", home),
    )
    subprocess.run((*install, "--require-hashes", "--requirement", locked), check=True, umask=0o022)
    # Found by its name: an environment keeps the path of a file that it was given.
    named = ("--no-index", "--find-links", wheel.parent, f"culvert=={source.version}")
    subprocess.run((*install, *named), check=True, umask=0o022)
    locked.unlink()
    (record,) = home.glob("lib/*/*/culvert-*.dist-info/RECORD")
    record.with_name("uv_cache.json").unlink()  # it has the wheel's time
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if "uv_cache.json" not in line))
    (home / "bin/python3").symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {_MAJOR}.{_MINOR}\n")
    ours, theirs = os.fsencode(sys.executable), f"/{HOME}/bin/python3".encode()
    for script in (one for one in (home / "bin").iterdir() if not one.is_symlink()):
        script.write_bytes(script.read_bytes().replace(ours, theirs))
