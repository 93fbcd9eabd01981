"""Analyse a journal in a process of its own, so that its memory is its own.

``python -m bench.analysing DIR`` prints seconds, CPU seconds and the greatest resident set.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """Read, check every checksum, summarise, compare; importing is part of it."""
    begun = time.monotonic()
    from culvert.report.model import read  # noqa: PLC0415 - its time counts

    data = read(Path(sys.argv[1]))
    _ = data.headlines, data.comparisons  # each is computed when it is first needed
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "s": time.monotonic() - begun,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "bytes": usage.ru_maxrss * 1024,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
