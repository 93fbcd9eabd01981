"""Make the files of a release: ``python -m release --out dist``.

Two runs of one commit give the same bytes. SOURCE_DATE_EPOCH is the commit's time unless it is set.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from release.bill import write_bill
from release.image import make_image
from release.notices import write_notices
from release.package import make_package
from release.source import Source, git, make_source
from release.wheels import Platform, library_missing, make_wheel

MOST_BYTES = 25_000_000
"""Of a wheel."""


def main() -> int:
    """Exit code 1 if a wheel is missing or too large."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="Write into this directory.")
    parser.add_argument(
        "--only",
        choices=[one.value.architecture for one in Platform],
        help="Build the wheel of one architecture.",
    )
    parser.add_argument("--deb", action="store_true", help="Build Debian packages of the wheels.")
    parser.add_argument("--image", action="store_true", help="Build an image of each package.")
    request = parser.parse_args()
    if git("status", "--porcelain"):
        print("uncommitted changes are not in the release", file=sys.stderr)
    epoch_s = int(os.environ.setdefault("SOURCE_DATE_EPOCH", git("log", "-1", "--format=%ct")))
    out_dir: Path = request.out
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="culvert-release-") as folder:
        source = make_source(out_dir, Path(folder), epoch_s)
        print(source.archive)
        print(write_bill(source, out_dir, epoch_s))
        write_notices(source)
        chosen = [one for one in Platform if request.only in (None, one.value.architecture)]
        made = [_made(one, source, Path(folder), request) for one in chosen]
    return 0 if all(made) else 1


def _made(platform: Platform, source: Source, work_dir: Path, request: argparse.Namespace) -> bool:
    """Whether a wheel was built and is small enough; with it what else was requested."""
    if why := library_missing(platform):
        name, triple = platform.value.architecture, platform.value.triple
        print(f"no wheel for {name}: Rust has no standard library of {triple}: {why}")
        print(f"remedy: rustup target add {triple}")
        return False
    wheel = make_wheel(platform, source, request.out, work_dir)
    size = wheel.stat().st_size
    print(f"{wheel} ({size / 1e6:.1f} MB)")
    if size > MOST_BYTES:
        print(f"it is too large: at most {MOST_BYTES / 1e6:g} MB")
    if request.deb or request.image:
        package = make_package(platform, wheel, source, work_dir)
        print(package)
        if request.image:
            print(make_image(package, source.version, work_dir))
    return size <= MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
