"""A badge: one figure of a VPN as a small SVG to embed in a page."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

_CHARACTER_PX = 6.6
_PADDING_PX = 14
_COLOURS = {"best": "#0b7a5a", "may be best": "#1f5fae", "": "#4a5160"}


def badge(subject: str, figure: str, standing: str) -> str:
    """``subject`` on the left, ``figure`` on the right; ``standing`` as in the report's headline:
    ``best``, ``may be best`` or nothing."""
    right = f"{figure}, {standing}" if standing else figure
    left_px, right_px = (round(len(one) * _CHARACTER_PX) + _PADDING_PX for one in (subject, right))
    width = left_px + right_px
    name = quoteattr(f"{subject}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f"aria-label={name}><title>{escape(subject)}: {escape(right)}</title>"
        f'<clipPath id="r"><rect width="{width}" height="20" rx="4"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left_px}" height="20" fill="#2b303a"/>'
        f'<rect x="{left_px}" width="{right_px}" height="20" fill="{_COLOURS[standing]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11"><text x="{left_px / 2}" y="14">{escape(subject)}</text>'
        f'<text x="{left_px + right_px / 2}" y="14">{escape(right)}</text></g></svg>\n'
    )
