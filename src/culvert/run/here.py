"""A run's nodes are namespaces of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.vm import inside
from culvert.run.place import Place
from culvert.runid import new_run_id
from culvert.study.conditions.cpus import cores


@contextmanager
def here() -> Iterator[Place]:
    """Namespaces of this machine, or of the guest that this process runs in."""
    yield Place(lambda spec: NetnsLab(new_run_id(), spec), inside.processors(cores()))
