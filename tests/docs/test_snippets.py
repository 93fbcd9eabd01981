"""The Python of the pages about results, run beside two runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli import Cli
from tests.compare.runs import write_run

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("api.md", "export.md", "statistics.md")


def test_python_in_the_pages_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name in ("quick", "after"):
        values = {vpn: list(rng.normal(mean, 1e6, 7)) for vpn, mean in MEANS.items()}
        write_run(tmp_path / "results" / name, values)
    say("export", "results/quick", "--format", "parquet", "--file", "rows.parquet")
    for page in PAGES:
        blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
        assert blocks, page
        exec(compile("\n".join(blocks), page, "exec"), {})


MEANS = {"none": 9e8, "wireguard/go": 5e8, "openvpn/aes-256-gcm": 3e8}
