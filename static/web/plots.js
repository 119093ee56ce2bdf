// Draws the plots of a page with ECharts, from the data that assay/plots.py made. Without this script, the tables have
// the same values.
(() => {
  const CROWDED = 40; // labels from which they are turned and plots can be zoomed
  const TURNED = 16; // pixels of a turned label
  const FEW = 6; // labels up to which a long one is cut, so that all are there
  const BESIDE = 78; // pixels next to the columns
  const LETTER = 6.4; // pixels of a letter at 12 px
  const ROW = 22; // pixels of a row of intervals

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const theme = () => ({
    text: color("--bs-body-color"),
    muted: color("--bs-secondary-color"),
    line: color("--bs-border-color"),
    page: color("--bs-body-bg"),
    main: color("--plot-main"),
    accent: color("--plot-accent"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => color(`--plot-${n}`)),
    font: color("--bs-body-font-family"),
  });

  const format = (plot) => (value) =>
    value === null || value === undefined ? "–" : value.toFixed(plot.digits);

  // A name that fits into a width, cut in the middle: names of runs often differ at their ends only.
  const shortened = (name, width) => {
    const room = Math.floor(width / LETTER);
    if (name.length <= room) return name;
    const end = Math.floor((room - 1) / 2);
    return `${name.slice(0, room - 1 - end)}…${name.slice(-end)}`;
  };

  const values = (plot, name) => plot.series.find((series) => series.name === name)?.values;

  // What all kinds have in common.
  const frame = (plot, look, width) => {
    const text = { color: look.text, fontFamily: look.font };
    const axis = {
      nameTextStyle: text,
      axisLabel: { ...text, hideOverlap: true },
      axisLine: { show: true, lineStyle: { color: look.muted } },
      splitLine: { lineStyle: { color: look.line } },
      nameLocation: "middle",
    };
    const isCrowded = plot.labels.length > CROWDED;
    return {
      animation: false,
      textStyle: text,
      color: look.series,
      grid: { left: 62, right: 16, top: 16, bottom: isCrowded ? 96 : 52 },
      tooltip: {
        trigger: "axis",
        renderMode: "richText",
        confine: true,
        backgroundColor: look.page,
        borderColor: look.muted,
        textStyle: { ...text, fontSize: 13 },
      },
      xAxis: {
        ...axis,
        type: "category",
        data: plot.labels,
        name: plot.across,
        nameGap: isCrowded ? 50 : 30,
        axisLabel: {
          ...axis.axisLabel,
          rotate: isCrowded ? 90 : 0,
          interval: isCrowded ? Math.ceil((plot.labels.length * TURNED) / width) - 1 : undefined,
          ...(plot.labels.length <= FEW && {
            interval: 0,
            overflow: "truncate",
            width: (width - BESIDE) / plot.labels.length - 4,
          }),
        },
      },
      yAxis: { ...axis, type: "value", name: plot.up, nameGap: 44, minInterval: plot.digits ? 0 : 1 },
      dataZoom: isCrowded
        ? [
            {
              type: "slider",
              bottom: 8,
              height: 16,
              brushSelect: false,
              showDataShadow: false,
              borderColor: look.line,
              fillerColor: look.line,
              handleStyle: { color: look.page, borderColor: look.muted },
              moveHandleStyle: { color: look.muted },
              emphasis: { handleStyle: { borderColor: look.main }, moveHandleStyle: { color: look.main } },
            },
          ]
        : [],
    };
  };

  const rows = (title, pairs) => [title, ...pairs.map(([name, value]) => `${name}: ${value}`)].join("\n");

  const bars = (plot, look, width) => {
    const shown = format(plot);
    const [own, median, best] = ["value", "median", "best"].map((name) => values(plot, name));
    const mean = values(plot, "mean")?.[0];
    const option = frame(plot, look, width);
    const line = {
      silent: true,
      symbol: "none",
      lineStyle: { color: look.text, type: "dashed" },
      label: { show: false },
    };
    option.tooltip.formatter = ([{ dataIndex: n }]) =>
      rows(plot.labels[n], [
        [plot.up, shown(own[n])],
        ...(median ? [["median of all runs", shown(median[n])]] : []),
        ...(best ? [["best run", shown(best[n])]] : []),
      ]);
    option.series = [
      {
        type: "bar",
        barMaxWidth: 40,
        data: own.map((value) => ({ value, itemStyle: { color: value < 0 ? look.accent : look.main } })),
        markLine: mean === undefined ? undefined : { ...line, data: [{ yAxis: mean }] },
      },
    ];
    if (median) {
      // a dash with an edge in the color of the page, so that it is seen on a bar and on the page
      const edge = { color: look.text, borderColor: look.page, borderWidth: 1 };
      option.series.push({
        type: "scatter",
        data: median,
        symbol: "rect",
        symbolSize: [12, 5],
        itemStyle: edge,
      });
      option.series.push({
        type: "scatter",
        data: best,
        symbolSize: 7,
        itemStyle: { ...edge, color: look.accent },
      });
    }
    return option;
  };

  const widthOfName = (width) => Math.min(250, width - 60);

  // The height of the names of all series, which wrap; of dozens of them, it is that of one row with pages.
  const heightOfLegend = (plot, width) => {
    let [n, used] = [1, 0];
    for (const name of new Set(plot.series.map((series) => series.name))) {
      const needed = 42 + Math.min(LETTER * name.length, widthOfName(width));
      if (used > 0 && used + needed > width) [n, used] = [n + 1, 0];
      used += needed;
    }
    return n > 6 ? 24 : 24 * n;
  };

  const legend = (plot, look, width) => ({
    type: heightOfLegend(plot, width) === 24 ? "scroll" : "plain",
    top: 0,
    formatter: (name) => shortened(name, widthOfName(width)),
    textStyle: { color: look.text },
    pageTextStyle: { color: look.text },
  });

  const lines = (plot, look, width) => {
    const shown = format(plot);
    const option = frame(plot, look, width);
    const many = plot.series.length > 1;
    option.legend = many ? legend(plot, look, width) : undefined;
    option.grid.top = 16 + (many ? heightOfLegend(plot, width) : 0);
    option.xAxis.boundaryGap = false;
    option.yAxis.scale = plot.series.some((series) => series.values.some((value) => value < 0));
    option.tooltip.formatter = (points) =>
      rows(
        `${plot.across} ${points[0].axisValueLabel}`,
        points.map((point) => [point.seriesName, shown(point.value)]),
      );
    const dashes = ["solid", "dashed", "dotted"];
    let [nGray, nColored] = [0, 0];
    option.series = plot.series.map((series) => {
      const n = series.gray ? look.series.length + nGray++ * look.series.length : nColored++;
      return {
        type: "line",
        name: series.name,
        data: series.values,
        symbol: "circle", // filled: an empty one is white, also on the dark page
        symbolSize: 5,
        itemStyle: { color: series.gray ? look.muted : look.series[n % look.series.length] },
        lineStyle: { type: dashes[Math.floor(n / look.series.length) % dashes.length] },
      };
    });
    return option;
  };

  const hasParts = (plot) => plot.series.some(({ name, stack }) => stack && stack !== name);

  const heightOfNames = (plot) =>
    hasParts(plot) ? 16 + Math.min(7 * Math.max(...plot.series.map(({ stack }) => stack.length)), 180) : 0;

  // Bars of parts: the name of each bar is below it, and the label of its group below the names.
  const stacked = (plot, option) => {
    const shown = format(plot);
    const stacks = [...new Set(plot.series.map((series) => series.stack))];
    const bars = plot.labels.flatMap((_, n) => stacks.map((stack) => [n, stack]));
    const height = heightOfNames(plot);
    const own = option.xAxis;
    option.xAxis = [
      {
        ...own,
        name: "",
        data: bars.map(([, stack]) => stack),
        axisLabel: {
          ...own.axisLabel,
          rotate: 90,
          interval: 0,
          formatter: (name) => shortened(name, height - 12),
        },
      },
      {
        ...own,
        position: "bottom",
        offset: height,
        axisLine: { show: false },
        axisTick: { inside: true, length: height },
      },
    ];
    option.grid.bottom = 52 + height;
    option.tooltip.formatter = (points) => {
      const [n, stack] = bars[points[0].dataIndex];
      const parts = points.filter((point) => point.value !== null && point.value !== undefined);
      return rows(
        `${plot.labels[n]}, ${stack}`,
        parts.map((point) => [point.seriesName, shown(point.value)]),
      );
    };
    option.legend.data = [...new Set(plot.series.map((series) => series.name))];
    option.series = plot.series.map((series) => ({
      type: "bar",
      barMaxWidth: 40,
      stack: "parts",
      name: series.name,
      data: bars.map(([n, stack]) => (stack === series.stack ? series.values[n] : null)),
    }));
    return option;
  };

  const groups = (plot, look, width) => {
    const option = lines(plot, look, width);
    option.xAxis.boundaryGap = true;
    option.yAxis.scale = false; // the length of a bar is its value
    if (hasParts(plot)) {
      return stacked(plot, option);
    }
    option.series = plot.series.map((series) => ({
      type: "bar",
      barMaxWidth: 40,
      stack: series.stack,
      name: series.name,
      data: series.values,
    }));
    return option;
  };

  // A row for each label, the first one on top, with room for the longest label.
  const inRows = (plot, look, width) => {
    const longest = Math.max(...plot.labels.map((text) => text.length));
    const label = Math.min(24 + 7 * longest, 0.45 * width);
    const option = frame(plot, look, width);
    [option.xAxis, option.yAxis] = [option.yAxis, option.xAxis];
    Object.assign(option.xAxis, { name: plot.across, nameGap: 30 });
    Object.assign(option.yAxis, { name: "", inverse: true });
    Object.assign(option.yAxis.axisLabel, {
      rotate: 0,
      interval: 0,
      overflow: "none",
      formatter: (name) => shortened(name, label - 16),
    });
    option.grid = { left: label, right: 16, top: 8, bottom: 52 };
    option.dataZoom = [];
    return option;
  };

  const intervals = (plot, look, width) => {
    const shown = format(plot);
    const [mean, low, high] = ["mean", "low", "high"].map((name) => values(plot, name));
    const own = plot.series[0].own;
    const option = inRows(plot, look, width);
    const ends = [...mean, ...low, ...high].filter((value) => value !== null);
    option.xAxis.scale = new Set(ends).size > 1; // around a single value, the axis would go beyond 1
    option.tooltip.formatter = ([{ dataIndex: n }]) =>
      rows(plot.labels[n], [
        [plot.across, shown(mean[n])],
        ...(low[n] === null ? [] : [["95 % interval", `${shown(low[n])} to ${shown(high[n])}`]]),
      ]);
    const whisker = (_, api) => {
      const [from, to] = [api.coord([api.value(1), api.value(0)]), api.coord([api.value(2), api.value(0)])];
      const style = { stroke: own[api.value(0)] ? look.accent : look.muted, lineWidth: 2 };
      const ends = [from, to].map(([x, y]) => ({
        type: "line",
        shape: { x1: x, y1: y - 4, x2: x, y2: y + 4 },
        style,
      }));
      const shape = { x1: from[0], y1: from[1], x2: to[0], y2: to[1] };
      return { type: "group", children: [{ type: "line", shape, style }, ...ends] };
    };
    const known = plot.labels.map((_, n) => n).filter((n) => low[n] !== null);
    option.series = [
      {
        type: "custom",
        renderItem: whisker,
        encode: { x: [1, 2], y: 0 },
        data: known.map((n) => [n, low[n], high[n]]),
      },
      {
        type: "scatter",
        symbolSize: 9,
        data: mean.map((value, n) => ({
          value: [value, n],
          symbol: own[n] ? "diamond" : "circle",
          itemStyle: { color: own[n] ? look.accent : look.main },
        })),
      },
    ];
    return option;
  };

  const spreads = (plot, look, width) => {
    const shown = format(plot);
    const [lowest, median, mean, best] = ["lowest", "median", "mean", "best"].map((name) =>
      values(plot, name),
    );
    const option = frame(plot, look, width);
    option.tooltip.formatter = ([{ dataIndex: n }]) =>
      rows(plot.labels[n], [
        ["best", shown(best[n])],
        ["mean", shown(mean[n])],
        ["median", shown(median[n])],
        ["lowest", shown(lowest[n])],
      ]);
    const range = (_, api) => {
      const [from, to] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(0), api.value(2)])];
      const shape = { x1: from[0], y1: from[1], x2: to[0], y2: to[1] };
      return { type: "line", shape, style: { stroke: look.muted, lineWidth: 2 } };
    };
    const data = plot.labels.map((_, n) => [n, lowest[n], best[n]]);
    option.series = [
      { type: "custom", renderItem: range, encode: { x: 0, y: [1, 2] }, data },
      { type: "scatter", data: median, symbol: "rect", symbolSize: [9, 4], itemStyle: { color: look.text } },
      { type: "scatter", data: mean, symbolSize: 7, itemStyle: { color: look.main } },
    ];
    return option;
  };

  // Bars of one length, divided by the numbers of their parts.
  const shares = (plot, look, width) => {
    const totals = plot.labels.map((_, n) => plot.series.reduce((sum, { values }) => sum + values[n], 0));
    const option = inRows(plot, look, width);
    option.legend = legend(plot, look, width);
    option.grid.top = 8 + heightOfLegend(plot, width);
    option.xAxis.max = 100;
    option.tooltip.trigger = "item"; // of all parts it would be higher than a plot of one row
    option.tooltip.formatter = ({ seriesIndex, seriesName, dataIndex: n, value }) =>
      rows(plot.labels[n], [[seriesName, `${plot.series[seriesIndex].values[n]} (${value.toFixed(0)} %)`]]);
    const [ordered, gray] = [false, true].map((is) => plot.series.filter((part) => !!part.gray === is));
    const paint = (part) => {
      const like = part.gray ? gray : ordered;
      const pale = (0.7 * like.indexOf(part)) / Math.max(like.length - 1, 1);
      return echarts.color.lerp(pale, [part.gray ? look.muted : look.main, look.page]);
    };
    option.series = plot.series.map((part) => ({
      type: "bar",
      stack: "all",
      barMaxWidth: ROW,
      name: part.name,
      itemStyle: { color: paint(part), borderColor: look.page, borderWidth: 1 },
      data: part.values.map((value, n) => (totals[n] ? (100 * value) / totals[n] : 0)),
    }));
    return option;
  };

  // One curve with two axes: hours are proportional to units.
  const costs = (plot, look, width) => {
    const [units, hours] = ["units", "hours"].map((name) => values(plot, name));
    const marks = plot.series.find((series) => series.name === "marks");
    const option = frame(plot, look, width);
    const [mostUnits, mostHours] = [units, hours].map((numbers) => Math.max(...numbers, 0));
    const last = plot.labels.length;
    option.grid = { left: 72, right: 72, top: 44, bottom: 52 };
    option.dataZoom = [];
    Object.assign(option.xAxis, { boundaryGap: false, nameGap: 30 });
    Object.assign(option.xAxis.axisLabel, { rotate: 0, interval: "auto" });
    const axis = (name, max) => {
      const formatter = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
      const axisLabel = { ...option.yAxis.axisLabel, formatter, showMaxLabel: false };
      return { ...option.yAxis, name, max: max || 1, nameGap: 56, axisLabel };
    };
    option.yAxis = [axis("Units", mostUnits), { ...axis("Hours", mostHours), splitLine: { show: false } }];
    option.tooltip.formatter = ([{ dataIndex: n }]) =>
      rows(`${plot.across} ${plot.labels[n]}`, [
        ["Units", units[n]],
        ["Hours", hours[n].toFixed(1)],
      ]);
    const line = { type: "line", symbol: "none", lineStyle: { color: look.main, width: 2.5 } };
    const markLine = {
      silent: true,
      symbol: "none",
      lineStyle: { color: look.muted, type: "dashed" },
      data: marks.values.map((depth, n) => ({
        xAxis: plot.labels[depth - 1],
        label: {
          formatter: marks.texts[n],
          align: depth > 0.7 * last ? "right" : "left",
          offset: [0, -16 * (n % 2)],
          color: look.text,
          fontWeight: "bold",
        },
      })),
    };
    option.series = [
      { ...line, data: units, markLine },
      { ...line, data: hours, yAxisIndex: 1 },
    ];
    return option;
  };

  const OPTIONS = { bars, costs, groups, lines, intervals, shares, spreads };

  const heightOf = (plot, width) =>
    ({
      intervals: 64 + ROW * plot.labels.length,
      shares: 64 + 1.5 * ROW * plot.labels.length + heightOfLegend(plot, width),
      lines: 296 + heightOfLegend(plot, width),
    })[plot.kind] ?? 320 + heightOfNames(plot);

  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href));
  };

  // A file has its title and a background, and the colors of the light page, as papers are white.
  const drawn = (plot, renderer, width) => {
    const root = document.documentElement;
    const before = root.getAttribute("data-bs-theme");
    root.setAttribute("data-bs-theme", "light");
    const option = OPTIONS[plot.kind](plot, theme(), width);
    root.setAttribute("data-bs-theme", before);
    const box = { renderer, width, height: heightOf(plot, width) + 30 };
    const chart = echarts.init(document.createElement("div"), null, box);
    option.grid.top += 30;
    if (option.legend) option.legend.top = 30;
    option.dataZoom = [];
    option.title = { text: plot.title, left: "center", textStyle: { fontSize: 14, fontWeight: "normal" } };
    chart.setOption({ ...option, backgroundColor: "#ffffff" });
    return chart;
  };

  const download = (plot, kind, width) => {
    const chart = drawn(plot, kind === "svg" ? "svg" : "canvas", width);
    if (kind === "svg") {
      save(new Blob([chart.renderToSVGString()], { type: "image/svg+xml" }), `${plot.name}.svg`);
    } else {
      const canvas = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: "#ffffff" });
      canvas.toBlob((blob) => save(blob, `${plot.name}.png`));
    }
    chart.dispose();
  };

  const show = (figure) => {
    const plot = JSON.parse(document.getElementById(figure.dataset.plot).textContent);
    const area = figure.querySelector(".plot-area");
    const fit = () => {
      area.style.height = `${heightOf(plot, area.clientWidth)}px`;
    };
    fit();
    const chart = echarts.init(area, null, { renderer: "svg" });
    const draw = () => chart.setOption(OPTIONS[plot.kind](plot, theme(), area.clientWidth), true);
    draw();
    new ResizeObserver(() => {
      fit();
      chart.resize();
      draw();
    }).observe(area);
    new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
    figure.querySelector(".plot-files").hidden = false;
    for (const button of figure.querySelectorAll("[data-plot-file]")) {
      button.addEventListener("click", () =>
        download(plot, button.dataset.plotFile, Math.max(700, area.clientWidth)),
      );
    }
  };

  const showAll = (root) => {
    for (const figure of root.querySelectorAll("figure[data-plot]")) show(figure);
  };
  showAll(document);
  document.addEventListener("htmx:afterSwap", (event) => showAll(event.detail.target));
})();
