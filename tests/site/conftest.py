from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from culvert.bundle.write import bundle
from culvert.site.build import Built, build
from tests.compare.runs import write_run

GO, OVPN = "wireguard/go", "openvpn/aes-256-gcm"


@dataclass(frozen=True)
class Sites:
    """Runs, the site of them, and what was built."""

    runs: Path
    out: Path
    built: Built


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Three runs, a bundle, and a bundle that was changed."""
    folder = tmp_path_factory.mktemp("site")
    rng = np.random.default_rng(1)
    for number in range(3):
        values = {vpn: list(rng.normal(mean, mean / 100, 8)) for vpn, mean in MEANS.items()}
        run = write_run(folder / "runs" / f"run-{number}", values, version=f"1.{number}")
    good = bundle(run, folder / "good.zip").path
    content = bytearray(good.read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "runs" / "changed.zip").write_bytes(content)
    out = folder / "out"
    return Sites(folder / "runs", out, build([folder / "runs", good], out))


MEANS = {"none": 9e8, GO: 5e8, OVPN: 3e8}
