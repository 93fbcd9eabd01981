"""Names that the shell completes: VPNs and shipped studies."""

from __future__ import annotations


def vpns(incomplete: str) -> list[str]:
    """Every variant whose name begins so."""
    from culvert.vpns.registry import installed

    names = map(str, installed().all_variants())
    return [name for name in names if name.startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    """Every shipped study whose name begins so; without one, the shell completes files."""
    from culvert.study.shipped import shipped_studies

    return [name for name in shipped_studies() if name.startswith(incomplete)]


def labs(incomplete: str) -> list[str]:
    """Every installed lab whose name begins so."""
    from culvert.labs.registry import names

    return [name for name in names() if name.startswith(incomplete)]
