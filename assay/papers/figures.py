"""Figures of papers from the data of a plot: groups of stacked bars as SVG, and as LaTeX for the package pgfplots.

The pages draw the same plot with ECharts; here a file is made without a browser.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from lxml import etree

from assay.formats.latex import escape
from assay.plots import Plot

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 320, 64, 24, 72
COLORS = ("#0b6e99", "#b3541e", "#4b7a2b", "#7b3f98", "#8a6d00", "#c2185b", "#00796b", "#5d5d5d")
LEGEND_LINE, LETTER = 18, 7  # height of a line of the legend, width of a letter
BARS = 0.8  # share of the width of a group that its bars take
STEPS = 5  # of the vertical axis, at most
PGFPLOTS = "% needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}"


def as_svg(plot: Plot) -> str:
    """A plot of groups of bars as a picture, with its title and a legend."""
    # Round numbers from 0: the last is at the top, and no bar exceeds it.
    highest = max((part.top for part in _parts(plot)), default=0.0) or 1.0
    unit = 10.0 ** floor(log10(highest / STEPS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * STEPS >= highest)
    ticks = [step * n for n in range(ceil(highest / step) + 1)]
    places = _places_of_names(plot)
    height = HEIGHT + LEGEND_LINE * max((line for line, _ in places), default=0)
    root = etree.fromstring(f'<svg xmlns="{NAMESPACE}"/>')
    size = {"width": str(WIDTH), "height": str(height)}
    for name, value in (size | {"viewBox": f"0 0 {WIDTH} {height}", "role": "img"}).items():
        root.set(name, value)
    root.set("font-family", "sans-serif")
    root.set("font-size", "12")
    root.append(_element("title", plot.title))
    root.append(_element("rect", **size, fill="#ffffff"))
    root.extend([*_axis(plot, ticks), *_bars(plot, ticks[-1])])
    for n, (series, (line, x)) in enumerate(zip(plot.series, places, strict=True)):
        y = HEIGHT - 14 + LEGEND_LINE * line
        root.append(_element("rect", x=str(x), y=str(y - 10), width="12", height="12", fill=_color(n)))
        root.append(_element("text", series["name"], x=str(x + 18), y=str(y)))
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _element(name: str, text: str = "", **attributes: str) -> etree._Element:
    """An element of SVG; an underscore in the name of an attribute is a hyphen."""
    element = etree.Element(f"{{{NAMESPACE}}}{name}")
    for key, value in attributes.items():
        element.set(key.replace("_", "-"), value)
    if text:
        element.text = text
    return element


def _height(value: float, top: float) -> float:
    return (HEIGHT - TOP - BOTTOM) * value / top


def _axis(plot: Plot, ticks: Sequence[float]) -> Iterator[etree._Element]:
    base, right = HEIGHT - BOTTOM, WIDTH - 12
    for value in ticks:
        y = f"{base - _height(value, ticks[-1]):.1f}"
        stroke = "#cccccc" if value else "#333333"
        yield _element("line", x1=str(LEFT), x2=str(right), y1=y, y2=y, stroke=stroke)
        yield _element("text", f"{value:g}", x=str(LEFT - 8), y=y, dy="4", text_anchor="end")
    for n, label in enumerate(plot.labels):
        x = f"{LEFT + _group_width(plot) * (n + 0.5):.1f}"
        yield _element("text", label, x=x, y=str(base + 18), text_anchor="middle")
    yield _element("text", plot.across, x=str((LEFT + right) // 2), y=str(base + 38), text_anchor="middle")
    up = (TOP + base) // 2
    turned = f"rotate(-90 16 {up})"
    yield _element("text", plot.up, x="16", y=str(up), transform=turned, text_anchor="middle")


def _group_width(plot: Plot) -> float:
    return (WIDTH - 12 - LEFT) / max(len(plot.labels), 1)


class Part(NamedTuple):
    """A part of a bar: its series, its label, its bar among those of the label, and where it begins and ends."""

    series: int
    place: int
    bar: int
    base: float
    top: float


def _stacks(plot: Plot) -> list[str]:
    """The bars of each label."""
    return list(dict.fromkeys(series["stack"] for series in plot.series))


def _parts(plot: Plot) -> list[Part]:
    """The parts of all bars; one on top of the other in a stack."""
    stacks, ends, parts = _stacks(plot), Counter[tuple[str, int]](), []
    for n, series in enumerate(plot.series):
        for place, value in enumerate(series["values"]):
            if value is not None:
                key = series["stack"], place
                base = ends[key]
                ends[key] += value
                parts.append(Part(n, place, stacks.index(series["stack"]), base, ends[key]))
    return parts


def _bars(plot: Plot, top: float) -> Iterator[etree._Element]:
    group = _group_width(plot)
    width = group * BARS / max(len(_stacks(plot)), 1)
    for part in _parts(plot):
        series = plot.series[part.series]
        x = LEFT + group * (part.place + (1 - BARS) / 2) + width * part.bar
        height = _height(part.top - part.base, top)
        size = {"width": f"{width:.1f}", "height": f"{height:.1f}"}
        y = f"{HEIGHT - BOTTOM - _height(part.top, top):.1f}"
        bar = _element("rect", x=f"{x:.1f}", y=y, **size, fill=_color(part.series))
        value = series["values"][part.place]
        bar.append(_element("title", f"{series['name']}, {plot.labels[part.place]}: {value:g}"))
        yield bar


def _places_of_names(plot: Plot) -> list[tuple[int, int]]:
    """The line of the legend, from 0, and the left end of each name; a line is as wide as the picture."""
    places, line, x = [], 0, LEFT
    for series in plot.series:
        width = 36 + LETTER * len(series["name"])
        if x > LEFT and x + width > WIDTH:
            line, x = line + 1, LEFT
        places.append((line, x))
        x += width
    return places


def as_pgfplots(plot: Plot) -> str:
    """A plot of groups of bars as a figure of LaTeX, as wide as the line. Its label is `fig:` and its name."""
    labels = ", ".join(f"{{{escape(label)}}}" for label in plot.labels)
    n_labels, n_bars = max(len(plot.labels), 1), max(len(_stacks(plot)), 1)
    lines = [
        PGFPLOTS,
        "\\begin{figure}",
        "\\centering",
        *(
            f"\\definecolor{{{plot.name}{n + 1}}}{{HTML}}{{{_color(n)[1:].upper()}}}"
            for n in range(len(plot.series))
        ),
        "\\begin{tikzpicture}",
        f"\\begin{{axis}}[ybar, bar shift=0pt, bar width={BARS / n_bars:.3f}, area legend,",
        "  width=\\linewidth, height=0.55\\linewidth, axis lines*=left, ymajorgrids, ymin=0,",
        f"  xmin=-0.5, xmax={n_labels - 0.5:g}, xtick={{0,...,{n_labels - 1}}}, xticklabels={{{labels}}},",
        "  xtick style={draw=none}, typeset ticklabels with strut,",
        f"  xlabel={{{escape(plot.across)}}}, ylabel={{{escape(plot.up)}}},",
        "  legend style={at={(0.5,1.03)}, anchor=south, draw=none, legend columns=2, column sep=1ex},",
        "  legend cell align=left]",
    ]
    # A part is drawn from 0 to its end, and those below it cover it: the last part of a bar comes first.
    for n, series in reversed(list(enumerate(plot.series))):
        points = " ".join(
            f"({part.place + BARS * ((part.bar + 0.5) / n_bars - 0.5):.3f},{part.top:g})"
            for part in _parts(plot)
            if part.series == n
        )
        lines += [
            f"\\addplot[fill={plot.name}{n + 1}, draw=none] coordinates {{{points}}};",
            f"\\addlegendentry{{{escape(series['name'])}}}",
        ]
    lines += [
        "\\end{axis}",
        "\\end{tikzpicture}",
        f"\\caption{{{escape(plot.title)}.}}",
        f"\\label{{fig:{plot.name}}}",
        "\\end{figure}",
    ]
    return "\n".join(lines) + "\n"


def _color(n: int) -> str:
    """The color of a series, in hexadecimal."""
    return COLORS[n % len(COLORS)]
