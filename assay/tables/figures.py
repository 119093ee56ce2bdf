"""Figures of papers from the data of a plot, as SVG, and as LaTeX for the package pgfplots.

Two kinds of plots are drawn: groups of stacked bars, and intervals, one row for each.

The pages draw the same plot with ECharts; here a file is made without a browser.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from lxml import etree

from assay.plots import Plot
from assay.tables.paper import escape

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 320, 64, 24, 72
COLORS = ("#0b6e99", "#b3541e", "#4b7a2b", "#7b3f98", "#8a6d00", "#c2185b", "#00796b", "#5d5d5d")
LEGEND_LINE, LETTER, ROW = 18, 7, 22  # height of a line of the legend, width of a letter, height of a row
BARS = 0.8  # share of the width of a group that its bars take
STEPS = 5  # of the axis of values, at most
LABELS = 24  # of the horizontal axis, at most; of more, only some are shown
PGFPLOTS = "% needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}"


def as_svg(plot: Plot) -> str:
    """A plot as a picture, with its title; groups of bars have a legend."""
    root = _svg_of_rows(plot) if plot.kind == "intervals" else _svg_of_groups(plot)
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _picture(plot: Plot, height: int) -> etree._Element:
    """An empty picture with its title."""
    root = etree.fromstring(f'<svg xmlns="{NAMESPACE}"/>')
    size = {"width": str(WIDTH), "height": str(height)}
    for name, value in (size | {"viewBox": f"0 0 {WIDTH} {height}", "role": "img"}).items():
        root.set(name, value)
    root.set("font-family", "sans-serif")
    root.set("font-size", "12")
    root.append(_element("title", plot.title))
    root.append(_element("rect", **size, fill="#ffffff"))
    return root


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers: the first is at most `low`, and the last at least `high`."""
    width = (high - low) or 1.0
    unit = 10.0 ** floor(log10(width / STEPS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * STEPS >= width)
    return [step * n for n in range(floor(low / step), ceil(high / step) + 1)]


def _svg_of_rows(plot: Plot) -> etree._Element:
    """The values of some rows as dots, with their intervals as lines."""
    means, lows, highs = (series["values"] for series in plot.series)
    ends = [value for value in (*means, *lows, *highs) if value is not None]
    ticks = _ticks(min(ends, default=0.0), max(ends, default=1.0))
    left = 24 + LETTER * max(map(len, plot.labels), default=0)
    base = TOP + ROW * len(plot.labels)

    def x(value: float) -> str:
        return f"{left + (WIDTH - 24 - left) * (value - ticks[0]) / (ticks[-1] - ticks[0]):.1f}"

    root = _picture(plot, base + 48)
    for value in ticks:
        root.append(_element("line", x1=x(value), x2=x(value), y1=str(TOP), y2=str(base), stroke="#cccccc"))
        root.append(_element("text", f"{value:g}", x=x(value), y=str(base + 16), text_anchor="middle"))
    root.append(
        _element("text", plot.across, x=str((left + WIDTH) // 2), y=str(base + 38), text_anchor="middle")
    )
    for n, (label, mean, low, high) in enumerate(zip(plot.labels, means, lows, highs, strict=True)):
        y = str(TOP + ROW * n + ROW // 2)
        root.append(_element("text", label, x=str(left - 12), y=y, dy="4", text_anchor="end"))
        if low is not None and high is not None:
            line = _element("line", x1=x(low), x2=x(high), y1=y, y2=y, stroke=_color(0), stroke_width="2")
            root.append(line)
        dot = _element("circle", cx=x(mean), cy=y, r="4", fill=_color(0))
        dot.append(_element("title", f"{label}: {mean:g}"))
        root.append(dot)
    return root


def _svg_of_groups(plot: Plot) -> etree._Element:
    # From 0: the last tick is at the top, and no bar exceeds it.
    ticks = _ticks(0.0, max((part.top for part in _parts(plot)), default=0.0) or 1.0)
    places = _places_of_names(plot)
    below = _height_of_names(plot)
    root = _picture(plot, HEIGHT + below + LEGEND_LINE * max((line for line, _ in places), default=0))
    root.extend([*_axis(plot, ticks), *_bars(plot, ticks[-1]), *_names_of_bars(plot)])
    for n, (name, (line, x)) in enumerate(zip(plot.names, places, strict=True)):
        y = HEIGHT + below - 14 + LEGEND_LINE * line
        root.append(_element("rect", x=str(x), y=str(y - 10), width="12", height="12", fill=_color(n)))
        root.append(_element("text", name, x=str(x + 18), y=str(y)))
    return root


def _height_of_names(plot: Plot) -> int:
    return LETTER * max(map(len, plot.stacks)) + 8 if plot.is_stacked else 0


def _names_of_bars(plot: Plot) -> Iterator[etree._Element]:
    """The names of bars with parts, which are read from below."""
    for place in range(len(plot.labels) if plot.is_stacked else 0):
        for bar, name in enumerate(plot.stacks):
            x, y = f"{_left(plot, place, bar + 0.5):.1f}", str(HEIGHT - BOTTOM + 8)
            turned = f"rotate(-90 {x} {y})"
            yield _element("text", name, x=x, y=y, dy="4", transform=turned, text_anchor="end")


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
    every = ceil(len(plot.labels) / LABELS) or 1
    below = base + _height_of_names(plot)
    for n, label in list(enumerate(plot.labels))[::every]:
        x = f"{LEFT + _group_width(plot) * (n + 0.5):.1f}"
        yield _element("text", label, x=x, y=str(below + 18), text_anchor="middle")
    yield _element("text", plot.across, x=str((LEFT + right) // 2), y=str(below + 38), text_anchor="middle")
    up = (TOP + base) // 2
    turned = f"rotate(-90 16 {up})"
    yield _element("text", plot.up, x="16", y=str(up), transform=turned, text_anchor="middle")


def _group_width(plot: Plot) -> float:
    return (WIDTH - 12 - LEFT) / max(len(plot.labels), 1)


def _left(plot: Plot, place: int, bar: float) -> float:
    return LEFT + _group_width(plot) * (place + (1 - BARS) / 2 + BARS * bar / max(len(plot.stacks), 1))


class Part(NamedTuple):
    """A part of a bar: its series, its label, its bar among those of the label, and where it begins and ends."""

    series: int
    place: int
    bar: int
    base: float
    top: float


def _parts(plot: Plot) -> list[Part]:
    """The parts of all bars; one on top of the other in a stack."""
    stacks, ends, parts = plot.stacks, Counter[tuple[str, int]](), []
    for n, series in enumerate(plot.series):
        for place, value in enumerate(series["values"]):
            if value is not None:
                key = series["stack"], place
                base = ends[key]
                ends[key] += value
                parts.append(Part(n, place, stacks.index(series["stack"]), base, ends[key]))
    return parts


def _bars(plot: Plot, top: float) -> Iterator[etree._Element]:
    width = _group_width(plot) * BARS / max(len(plot.stacks), 1)
    for part in _parts(plot):
        series = plot.series[part.series]
        x = _left(plot, part.place, part.bar)
        height = _height(part.top - part.base, top)
        size = {"width": f"{width:.1f}", "height": f"{height:.1f}"}
        y = f"{HEIGHT - BOTTOM - _height(part.top, top):.1f}"
        bar = _element("rect", x=f"{x:.1f}", y=y, **size, fill=_color(_color_of(plot, part.series)))
        value, names = series["values"][part.place], dict.fromkeys([series["stack"], series["name"]])
        bar.append(_element("title", f"{', '.join(names)}, {plot.labels[part.place]}: {value:g}"))
        yield bar


def _places_of_names(plot: Plot) -> list[tuple[int, int]]:
    """The line of the legend, from 0, and the left end of each name; a line is as wide as the picture."""
    places, line, x = [], 0, LEFT
    for name in plot.names:
        width = 36 + LETTER * len(name)
        if x > LEFT and x + width > WIDTH:
            line, x = line + 1, LEFT
        places.append((line, x))
        x += width
    return places


def as_pgfplots(plot: Plot) -> str:
    """A plot as a figure of LaTeX, as wide as the line. Its label is `fig:` and its name."""
    axis = _axis_of_rows(plot) if plot.kind == "intervals" else _axis_of_groups(plot)
    lines = [
        PGFPLOTS,
        "\\begin{figure}",
        "\\centering",
        *axis,
        f"\\caption{{{escape(plot.title)}.}}",
        f"\\label{{fig:{plot.name}}}",
        "\\end{figure}",
    ]
    return "\n".join(lines) + "\n"


def _axis_of_rows(plot: Plot) -> list[str]:
    means, lows, highs = (series["values"] for series in plot.series)
    labels = ", ".join(f"{{{escape(label)}}}" for label in plot.labels)
    points = " ".join(
        f"({mean:g},{n})"
        + ("" if low is None or high is None else f" += ({high - mean:g},0) -= ({mean - low:g},0)")
        for n, (mean, low, high) in enumerate(zip(means, lows, highs, strict=True))
    )
    return [
        "\\begin{tikzpicture}",
        "\\begin{axis}[width=\\linewidth, y dir=reverse, xmajorgrids, axis lines*=left,",
        f"  height={3 + 0.6 * len(plot.labels):.1f}cm, ymin=-0.5, ymax={len(plot.labels) - 0.5:g},",
        f"  ytick={{0,...,{len(plot.labels) - 1}}}, yticklabels={{{labels}}}, xlabel={{{escape(plot.across)}}}]",
        "\\addplot+[only marks, mark=*, error bars/.cd, x dir=both, x explicit]",
        f"  coordinates {{{points}}};",
        "\\end{axis}",
        "\\end{tikzpicture}",
    ]


def _axis_of_groups(plot: Plot) -> list[str]:
    labels = ", ".join(f"{{{escape(label)}}}" for label in plot.labels)
    n_labels, n_bars = max(len(plot.labels), 1), max(len(plot.stacks), 1)
    classes = f"xtick={{0,...,{n_labels - 1}}}, xticklabels={{{labels}}},"
    if plot.is_stacked:  # the names of the bars, and the classes below them
        centers = [(place, bar) for place in range(n_labels) for bar in range(n_bars)]
        at = ", ".join(f"{place + BARS * ((bar + 0.5) / n_bars - 0.5):.3f}" for place, bar in centers)
        names = ", ".join(f"{{{escape(plot.stacks[bar])}}}" for _, bar in centers)
        below = 0.17 * max(map(len, plot.stacks)) + 0.4
        classes = (
            f"xtick={{{at}}}, xticklabels={{{names}}},\n"
            "  xticklabel style={rotate=90, anchor=east, font=\\scriptsize},\n"
            f"  extra x ticks={{0,...,{n_labels - 1}}}, extra x tick labels={{{labels}}},\n"
            "  extra x tick style={xticklabel style={rotate=0, anchor=north, font=\\normalsize, "
            f"yshift=-{below:.2f}cm}}}},\n"
            "  xlabel style={yshift=-0.4cm},"
        )
    lines = [
        *(
            f"\\definecolor{{{plot.name}{n + 1}}}{{HTML}}{{{_color(n)[1:].upper()}}}"
            for n in range(len(plot.names))
        ),
        "\\begin{tikzpicture}",
        f"\\begin{{axis}}[ybar, bar shift=0pt, bar width={BARS / n_bars:.3f}, area legend,",
        "  width=\\linewidth, height=0.55\\linewidth, axis lines*=left, ymajorgrids, ymin=0,",
        f"  xmin=-0.5, xmax={n_labels - 0.5:g}, {classes}",
        "  xtick style={draw=none}, typeset ticklabels with strut,",
        f"  xlabel={{{escape(plot.across)}}}, ylabel={{{escape(plot.up)}}},",
        "  legend style={at={(0.5,1.03)}, anchor=south, draw=none, legend columns=2, column sep=1ex},",
        "  legend cell align=left]",
    ]
    # A part is drawn from 0 to its end, and those below it cover it: the last part of a bar comes first.
    # Of series with the same name, the last
    legend = {name: n for n, name in enumerate(series["name"] for series in plot.series)}
    for n, series in reversed(list(enumerate(plot.series))):
        points = " ".join(
            f"({part.place + BARS * ((part.bar + 0.5) / n_bars - 0.5):.3f},{part.top:g})"
            for part in _parts(plot)
            if part.series == n
        )
        is_named = legend[series["name"]] == n
        options = f"fill={plot.name}{_color_of(plot, n) + 1}, draw=none" + ", forget plot" * (not is_named)
        lines.append(f"\\addplot[{options}] coordinates {{{points}}};")
        lines += [f"\\addlegendentry{{{escape(series['name'])}}}"] * is_named
    return [*lines, "\\end{axis}", "\\end{tikzpicture}"]


def _color_of(plot: Plot, series: int) -> int:
    """The number of the color of a series: that of its name."""
    return plot.names.index(plot.series[series]["name"])


def _color(n: int) -> str:
    """The color of a series, in hexadecimal."""
    return COLORS[n % len(COLORS)]
