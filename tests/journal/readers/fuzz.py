"""``python -m tests.journal.readers.fuzz SECONDS``: damages files and imports them.

The time ends it.

A file that an importer does not survive is kept in target/fuzz-foreign/, and the exit code is 1.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from culvert.journal.readers.formats import ForeignFormat
from tests.journal.readers.hurt import hurt
from tests.journal.readers.samples import SAMPLES
from tests.journal.readers.survival import import_any, read_any

KEPT = Path("target/fuzz-foreign")
WHOLE_IMPORT_EVERY = 50
"""A journal takes longer to write than a file to read."""


def main(seconds: float) -> int:
    """Fuzz every format in turn; 1 after the first file that is not survived."""
    seed = time.time_ns()
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    until = time.monotonic() + seconds
    everything = [one for samples in SAMPLES.values() for one in samples]
    count = 0
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        while time.monotonic() < until:
            for form, samples in SAMPLES.items():
                content = hurt(chance.choice(samples), chance, everything)
                path.write_bytes(content)
                try:
                    read_any(form, path)
                    if count % WHOLE_IMPORT_EVERY == 0:
                        import_any(form, path)
                except Exception:  # that is what is looked for
                    traceback.print_exc()
                    _keep(form, content, seed, count)
                    return 1
            count += 1
    print(f"{count * len(SAMPLES)} files survived")
    return 0


def _keep(form: ForeignFormat, content: bytes, seed: int, count: int) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{form}-{seed}-{count}"
    kept.write_bytes(content)
    print(f"kept: {kept}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 300))
