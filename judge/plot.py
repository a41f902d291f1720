"""A plot of precision against recall over thresholds, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge.figures import Quality, ThresholdPoint

_SIDE = 400
_MARGIN = 60
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def plot_svg(title: str, quality: Quality, curve: Sequence[ThresholdPoint]) -> str:
    """The plot: the curve over thresholds, where there is one, and the judge's own point.

    Args:
        title: Names the judge and the pairs.
        quality: What the judge decided.
        curve: Empty for a judge that gives no confidence.
    """
    parts = [*_axes(title)]
    if curve:
        points = " ".join(f"{_x(p.recall):.1f},{_y(p.precision):.1f}" for p in curve)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="2">'
            f"<title>thresholds {curve[0].threshold:.2f} to {curve[-1].threshold:.2f}</title>"
            "</polyline>"
        )
    precision, recall = quality.precision.value, quality.recall.value
    if precision is not None and recall is not None:
        label = f"precision {precision:.3f}, recall {recall:.3f}"
        parts.append(
            f'<circle cx="{_x(recall):.1f}" cy="{_y(precision):.1f}" r="5" fill="#dc2626">'
            f"<title>{label}</title></circle>"
            f'<text x="{_MARGIN + 8}" y="{_MARGIN + _SIDE - 10}" font-size="12">{label}</text>'
        )
    size = _SIDE + 2 * _MARGIN
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" '
        f'width="{size}" height="{size}" font-family="sans-serif" role="img">\n{body}\n</svg>\n'
    )


def _axes(title: str) -> list[str]:
    end = _MARGIN + _SIDE
    parts = [
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{_MARGIN}" y="30" font-size="14">{escape(title)}</text>',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" '
        'fill="none" stroke="black"/>',
        f'<text x="{_MARGIN + _SIDE / 2}" y="{end + 45}" text-anchor="middle">recall</text>',
        f'<text x="18" y="{_MARGIN + _SIDE / 2}" text-anchor="middle" '
        f'transform="rotate(-90 18 {_MARGIN + _SIDE / 2})">precision</text>',
    ]
    for tick in _TICKS:
        x, y = _x(tick), _y(tick)
        parts.append(
            f'<line x1="{x}" y1="{_MARGIN}" x2="{x}" y2="{end}" stroke="#ddd"/>'
            f'<line x1="{_MARGIN}" y1="{y}" x2="{end}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{x}" y="{end + 20}" font-size="12" text-anchor="middle">{tick:.1f}</text>'
            f'<text x="{_MARGIN - 8}" y="{y + 4}" font-size="12" text-anchor="end">'
            f"{tick:.1f}</text>"
        )
    return parts


def _x(recall: float) -> float:
    return _MARGIN + recall * _SIDE


def _y(precision: float) -> float:
    return _MARGIN + (1 - precision) * _SIDE
