"""Figures of papers from the data of a plot: grouped bars as SVG, and as LaTeX for the package pgfplots.

The pages draw the same plot with ECharts; here a file is made without a browser.
"""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from lxml import etree

from assay.formats.latex import escape
from assay.plots import Plot

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 320, 64, 24, 72
COLORS = ("#0b6e99", "#b3541e", "#4b7a2b", "#7b3f98", "#8a6d00", "#c2185b", "#00796b", "#5d5d5d")
BARS = 0.8  # share of the width of a group that its bars take
STEPS = 5  # of the vertical axis, at most
PGFPLOTS = "% needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}"


def as_svg(plot: Plot) -> str:
    """A plot of groups of bars as a picture, with its title and a legend."""
    ticks = _ticks(plot)
    root = etree.fromstring(f'<svg xmlns="{NAMESPACE}"/>')
    size = {"width": str(WIDTH), "height": str(HEIGHT)}
    for name, value in (size | {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"}).items():
        root.set(name, value)
    root.set("font-family", "sans-serif")
    root.set("font-size", "12")
    root.append(_element("title", plot.title))
    root.append(_element("rect", **size, fill="#ffffff"))
    root.extend([*_axis(plot, ticks), *_bars(plot, ticks[-1]), *_legend(plot)])
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


def _ticks(plot: Plot) -> list[float]:
    """Round numbers from 0; the last is at the top, and no bar exceeds it."""
    highest = max((value for series in plot.series for value in series["values"] if value), default=1.0)
    unit = 10.0 ** floor(log10(highest / STEPS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * STEPS >= highest)
    return [step * n for n in range(ceil(highest / step) + 1)]


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


def _bars(plot: Plot, top: float) -> Iterator[etree._Element]:
    group = _group_width(plot)
    width = group * BARS / max(len(plot.series), 1)
    for n, series in enumerate(plot.series):
        for place, value in enumerate(series["values"]):
            if value is not None:
                x = LEFT + group * (place + (1 - BARS) / 2) + width * n
                height = _height(value, top)
                size = {"width": f"{width:.1f}", "height": f"{height:.1f}"}
                y = f"{HEIGHT - BOTTOM - height:.1f}"
                bar = _element("rect", x=f"{x:.1f}", y=y, **size, fill=COLORS[n % len(COLORS)])
                bar.append(_element("title", f"{series['name']}, {plot.labels[place]}: {value:g}"))
                yield bar


def _legend(plot: Plot) -> Iterator[etree._Element]:
    x, y = LEFT, HEIGHT - 14
    for n, series in enumerate(plot.series):
        color = COLORS[n % len(COLORS)]
        yield _element("rect", x=str(x), y=str(y - 10), width="12", height="12", fill=color)
        yield _element("text", series["name"], x=str(x + 18), y=str(y))
        x += 36 + 7 * len(series["name"])


def as_pgfplots(plot: Plot) -> str:
    """A plot of groups of bars as a figure of LaTeX. Its label is `fig:` and the name of the plot."""
    labels = ", ".join(f"{{{escape(label)}}}" for label in plot.labels)
    lines = [
        PGFPLOTS,
        "\\begin{figure}",
        "\\centering",
        "\\begin{tikzpicture}",
        "\\begin{axis}[ybar, ymin=0, enlarge x limits=0.2, legend pos=outer north east,",
        f"  xtick={{0,...,{max(len(plot.labels) - 1, 0)}}}, xticklabels={{{labels}}},",
        f"  xlabel={{{escape(plot.across)}}}, ylabel={{{escape(plot.up)}}}]",
    ]
    for series in plot.series:
        points = " ".join(f"({n},{value:g})" for n, value in enumerate(series["values"]) if value is not None)
        lines += [f"\\addplot coordinates {{{points}}};", f"\\addlegendentry{{{escape(series['name'])}}}"]
    lines += [
        "\\end{axis}",
        "\\end{tikzpicture}",
        f"\\caption{{{escape(plot.title)}.}}",
        f"\\label{{fig:{plot.name}}}",
        "\\end{figure}",
    ]
    return "\n".join(lines) + "\n"
