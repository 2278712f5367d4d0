"use strict";
// The page of the experiments: the results' JSON as tables and plots. The parts come from the report page.
{
  const { make, table, figure, section, brand, themeSwitch, showTheme } = mixstreamPage;
  const { mount, axis, axisWidth, within, trace, colour, clear, decades, stretched } = mixstreamPlots.parts;
  const { plain, compact } = mixstreamPlots;

  // name in the JSON: [words, colour, form]
  const methods = {
    printed: ["Spectral, objective as printed", "--law-6", 3], published: ["Spectral, published objective", "--law-7", 3], em: ["EM, random starts", "--law-1", 1],
    spectral_em: ["Spectral, then EM", "--law-4", 2], start_known: ["our start, noise known", "--law-5", 3],
    start: ["our start", "--law-3", 2], refined: ["refined", "--law-2", 1], polished: ["polished: what mixstream reports", "--law-0", 0],
    mle: ["maximum likelihood, all rows, from the truth", "--ink", 0],
  };
  const rivalColours = { mixstream: "--law-0", EM: "--law-1", "stepwise EM": "--law-2", flexmix: "--law-3", "flexmix tight": "--law-6", mixtools: "--law-4" };
  const known = (value) => value !== null && value !== undefined;
  const brief = (value) => (known(value) ? plain(Number(value.toPrecision(value >= 100 ? 3 : 2))) : "\u2013");
  const logTicks = (scale) => (u) => decades(10 ** u.scales[scale].min, 10 ** u.scales[scale].max).map(Math.log10);
  const logAxis = (label, scale, more) => axis(label, { space: 44, splits: logTicks(scale), values: (_, ticks) => ticks.map((tick) => compact(10 ** tick)), ...more });
  const keys = (entries) => make("div", { class: "keys" }, entries.map(([words, tone]) => {
    const line = make("i");
    line.style.borderColor = `var(${tone})`;
    return make("span", {}, line, words);
  }));
  const spread = (values) => {
    const finite = values.filter((value) => known(value) && Number.isFinite(value));
    return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  };

  // Lines over a logarithmic axis. lines: [{x[], y[], tone, form}], both in units; y is drawn by its logarithm.
  function logLines(host, lines, xLabel, yLabel) {
    const places = [...new Set(lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
    const at = (line, place) => (line.x.includes(place) ? line.y[line.x.indexOf(place)] : null);
    const logs = lines.map((line) => places.map((place) => (at(line, place) > 0 ? Math.log10(at(line, place)) : null)));
    const marks = (u) => within(u, (ctx, dpr) => lines.forEach((line, i) => {
      ctx.fillStyle = colour(line.tone);
      logs[i].forEach((value, j) => {
        if (value === null) return;
        ctx.beginPath();
        trace(ctx, line.form, u.valToPos(Math.log10(places[j]), "x", true), u.valToPos(value, "y", true), 3.4 * dpr);
        ctx.fill();
      });
    }));
    return mount(host, 320, () => ({
      data: [places.map(Math.log10), ...logs],
      options: {
        series: [{}, ...lines.map(({ tone }) => ({ stroke: colour(tone), width: 2, spanGaps: true, pxAlign: 0, points: { show: false } }))],
        scales: { x: { time: false, range: () => stretched(spread(places.map(Math.log10)), 0.04) }, y: { range: () => stretched(spread(logs.flat()), 0.06) } },
        axes: [logAxis(xLabel, "x"), logAxis(yLabel, "y", { size: axisWidth })],
        cursor: { show: false }, hooks: { draw: [marks] },
      },
    }));
  }

  // One line a setting, one mark a method, at the median error.
  function dots(host, rows) {
    const shown = ["published", "em", "spectral_em", "start_known", "refined", "polished", "mle"];
    const value = (row, name) => row.summary[name] && row.summary[name].median;
    const logs = rows.flatMap((row) => shown.map((name) => value(row, name)).filter((error) => error > 0).map(Math.log10));
    const marks = (u) => within(u, (ctx, dpr) => rows.forEach((row, i) => {
      const y = u.valToPos(-i, "y", true);
      ctx.strokeStyle = colour("--line");
      ctx.lineWidth = dpr;
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      for (const name of shown) {
        if (!(value(row, name) > 0)) continue;
        const [, tone, form] = methods[name];
        ctx.beginPath();
        trace(ctx, form, u.valToPos(Math.log10(value(row, name)), "x", true), y, (name === "mle" ? 3 : 6) * dpr);
        ctx.fillStyle = name === "mle" ? colour(tone) : clear(colour(tone), 0.85);
        ctx.fill();
      }
    }));
    return mount(host, 60 + 34 * rows.length, () => ({
      data: [spread(logs), [null, null]],
      options: {
        series: [{}, { stroke: "transparent", points: { show: false } }],
        scales: { x: { time: false, range: () => stretched(spread(logs), 0.05) }, y: { range: () => [0.6 - rows.length, 0.6] } },
        axes: [logAxis("median error |B* \u2212 B|", "x"),
          axis(null, { size: 96, splits: () => rows.map((_, i) => -i).reverse(), values: (_, ticks) => ticks.map((tick) => rows[-tick].label), grid: { show: false } })],
        cursor: { show: false }, hooks: { draw: [marks] },
      },
    }));
  }

  // Bars of the logarithms of errors between common edges.
  function errorBars(host, errors, tone, [low, high]) {
    const bins = 36;
    const counts = Array(bins).fill(0);
    for (const error of errors) if (error > 0) counts[Math.min(bins - 1, Math.max(0, Math.floor(((Math.log10(error) - low) / (high - low)) * bins)))] += 1;
    const bars = (u) => within(u, (ctx, dpr) => {
      ctx.fillStyle = clear(colour(tone), 0.75);
      counts.forEach((count, i) => {
        if (!count) return;
        const [left, right] = [i, i + 1].map((edge) => u.valToPos(low + (edge / bins) * (high - low), "x", true));
        const y = u.valToPos(count, "y", true);
        ctx.fillRect(left + 0.5 * dpr, y, right - left - dpr, u.bbox.top + u.bbox.height - y);
      });
    });
    return mount(host, 190, () => ({
      data: [[low, high], [null, null]],
      options: {
        series: [{}, { stroke: "transparent", points: { show: false } }],
        scales: { x: { time: false, range: () => [low, high] }, y: { range: () => [0, 1.08 * Math.max(...counts, 1)] } },
        axes: [logAxis("error", "x"), axis(null, { size: axisWidth, space: 34 })],
        cursor: { show: false }, hooks: { draw: [bars] },
      },
    }));
  }

  // Points and curves. curves: [{values[], tone, dash, width}] over the grid.
  function drawCurves(host, points, grid, curves, xLabel, yLabel, range) {
    const dotsOf = (u) => within(u, (ctx, dpr) => {
      ctx.fillStyle = clear(colour("--ink-soft"), points.x.length > 300 ? 0.3 : 0.55);
      ctx.beginPath();
      points.x.forEach((x, i) => trace(ctx, -1, u.valToPos(x, "x", true), u.valToPos(points.y[i], "y", true), (points.x.length > 300 ? 1.8 : 3.2) * dpr));
      ctx.fill();
    });
    return mount(host, 320, () => ({
      data: [grid, ...curves.map(({ values }) => values)],
      options: {
        series: [{}, ...curves.map(({ tone, dash, width }) => ({ stroke: colour(tone), width: width || 2.2, dash, pxAlign: 0, points: { show: false } }))],
        scales: { x: { time: false }, y: { range: () => stretched(range || spread(points.y), 0.08) } },
        axes: [axis(xLabel), axis(yLabel, { size: axisWidth })],
        cursor: { show: false }, hooks: { drawAxes: [dotsOf] },
      },
    }));
  }

  const started = [];
  function plot(words, caption, draw) {
    const node = figure(words, caption, draw);
    started.push(node.start);
    return node;
  }
  const card = (title, ...content) => make("div", { class: "card" }, title ? make("h3", {}, title) : null, content);
  const wrongShare = (column) => (column && known(column.wrong) ? `${column.wrong}/${column.count}` : "\u2013");

  function tableSection(title, lead, result) {
    const names = ["published", "em", "spectral_em", "start_known", "refined", "polished", "mle"];
    const rows = result.rows.map((row) => [`${row.label}${row.source === "ours" ? " (ours)" : row.source === "printed" ? "" : " *"}`,
      [row.published.spectral, row.published.em, row.published.spectral_em].map((figure) => (known(figure) ? figure : "\u2013")).join(" / "),
      ...names.map((name) => brief(row.summary[name].median)),
      wrongShare(row.summary.em), wrongShare(row.summary.polished), make("td", { class: "best" }, known(row.summary.polished.ratio) ? row.summary.polished.ratio.toFixed(2) : "\u2013")]);
    return section(title, lead, card(null,
      keys(names.map((name) => [methods[name][0], methods[name][1]])),
      plot(`${title}: median errors of every method, setting by setting`, "Left is better. Each mark is the median over instances, of EM over starts.", (host) => dots(host, result.rows))),
    make("div", { class: "card small-table" }, table("Median errors; the paper's figures are its means. * not the figure in print, or a row commented out in the paper's source",
      ["(b,d,k)", "paper, means: Spectral / EM / Spectral+EM", "Spectral", "EM", "Spectral+EM", "our start, noise known", "refined", "polished", "MLE", "EM wrong", "polished wrong", "polished / MLE"], rows)));
  }

  function histogramSection(result) {
    const shown = ["published", "em", "spectral_em", "polished"];
    const logs = shown.flatMap((name) => result.errors[name].filter((error) => error > 0).map(Math.log10));
    const range = stretched(spread(logs), 0.03);
    return section("Stability", `Errors over ${result.errors.em.length} attempts at ${result.label}, ${compact(result.rows)} rows: the paper's histogram.`,
      make("div", { class: "panels" }, shown.map((name) => card(methods[name][0],
        plot(`Histogram of the errors of ${methods[name][0]}`, `median ${brief(result.summary[name].median)}, wrong ${wrongShare(result.summary[name])}`,
          (host) => errorBars(host, result.errors[name], methods[name][1], range))))));
  }

  function curvesSection(result) {
    const points = { x: result.points.t, y: result.points.y };
    const steps = result.truth[0].length - 1;
    const grid = Array.from({ length: steps + 1 }, (_, i) => (2 * i) / steps - 1);
    const lines = (laws, tone, more = {}) => laws.map((values) => ({ values, tone, ...more }));
    const panel = (title, caption, curves) => card(title, plot(title, caption, (host) => drawCurves(host, points, grid, curves, "t", "y")));
    const optima = [...result.em].sort((a, b) => b.log_likelihood - a.log_likelihood);
    const wrong = optima.filter(({ error }) => error > 0.3);
    const attempts = optima.reduce((sum, { count }) => sum + count, 0);
    const wrongCount = wrong.reduce((sum, { count }) => sum + count, 0);
    const truth = lines(result.truth, "--ink", { dash: [2, 4], width: 1.4 });
    const spectral = result.spectral ? [...lines(result.spectral.laws, "--law-7", { dash: [8, 5] }), ...lines(result.spectral_em.laws, "--law-4")] : [];
    return section("Curve fits", "The paper's example x = (1, t, t\u2074, t\u2077) with three laws; dotted: the truth.",
      make("div", { class: "panels" },
        panel("mixstream", `error ${brief(result.ours.error)}, verdict ${result.ours.status}`, [...lines(result.ours.laws, "--law-0", { width: 3 }), ...truth]),
        panel("Spectral (dashed) and EM from it", result.spectral ? `errors ${brief(result.spectral.error)} and ${brief(result.spectral_em.error)}` : "refused", [...spectral, ...truth]),
        panel("Wrong optima of EM", `${wrongCount} of ${attempts} random starts end in one of ${wrong.length} wrong optima`,
          [...wrong.slice(0, 4).flatMap((optimum, i) => lines(optimum.laws, ["--law-1", "--law-3", "--law-2", "--law-6"][i], { dash: [5, 4], width: 1.6 })), ...truth])));
  }

  function learningSection(result) {
    const shown = ["published", "em", "spectral_em", "refined", "polished", "mle"];
    const panel = (title) => {
      const rows = result.rows.filter((row) => row.label === title);
      const lines = shown.map((name) => ({ x: rows.map((row) => row.rows), y: rows.map((row) => row.summary[name].mean ?? null), tone: methods[name][1], form: methods[name][2] }));
      return card(title, plot(`${title}: mean error against rows`, null, (host) => logLines(host, lines, "rows", "mean error")));
    };
    return section("Learning curves", "Mean error against the number of rows, both axes logarithmic: the paper\u2019s (1,5,3), and three laws on a map of ours; cut: two intervals are never seen. Error that does not fall is a wrong optimum.",
      keys(shown.map((name) => [methods[name][0], methods[name][1]])),
      make("div", { class: "panels" }, [...new Set(result.rows.map((row) => row.label))].map(panel)));
  }

  function noiseSection(result) {
    const shown = ["published", "em", "spectral_em", "polished", "mle"];
    const labels = [...new Set(result.rows.map((row) => row.label))];
    return section("Noise", "Mean error against the noise variance, both axes logarithmic.", keys(shown.map((name) => [methods[name][0], methods[name][1]])),
      make("div", { class: "panels" }, labels.map((label) => {
        const rows = result.rows.filter((row) => row.label === label);
        const lines = shown.map((name) => ({ x: rows.map((row) => row.noise_variance), y: rows.map((row) => row.summary[name].mean ?? null), tone: methods[name][1], form: methods[name][2] }));
        return card(label, plot(`${label}: mean error against noise`, null, (host) => logLines(host, lines, "noise variance", "mean error")));
      })));
  }

  function rivalsSection(result) {
    const names = Object.keys(rivalColours).filter((name) => result.rows.some((row) => row[name]));
    const lines = (field) => names.map((name, i) => {
      const rows = result.rows.filter((row) => row[name]);
      return { x: rows.map((row) => row.rows), y: rows.map((row) => row[name][field]), tone: rivalColours[name], form: i % 4 };
    });
    const cells = result.rows.flatMap((row) => names.filter((name) => row[name]).map((name) => [name, compact(row.rows), known(row[name].ratio) ? row[name].ratio.toFixed(2) : "\u2013",
      `${row[name].wrong + row[name].failed}/${row[name].fits}`, brief(row[name].seconds), brief(row[name].program_seconds), brief(row[name].peak_megabytes)]));
    return section("Rivals on the same rows", "Setting (1,4,2), noise per component. One fit is one start for flexmix, mixtools and EM, and the whole program for mixstream.",
      keys(names.map((name) => [name, rivalColours[name]])),
      make("div", { class: "panels" },
        card("Processor seconds a fit", plot("Processor seconds a fit against rows", null, (host) => logLines(host, lines("seconds"), "rows", "seconds"))),
        card("Peak memory of the program, MB", plot("Peak memory against rows", null, (host) => logLines(host, lines("peak_megabytes"), "rows", "MB")))),
      make("details", {}, make("summary", {}, "As a table"), make("div", { class: "card small-table" }, table("Rivals", ["rival", "rows", "error / MLE, right fits", "wrong or failed", "CPU s a fit", "CPU s, program", "peak MB"], cells))));
  }

  function realSection(result) {
    return section("Real data", "Two laws of y on (1, x), noise per component. Where the model does not fit, the verdict says so.",
      make("div", { class: "panels" }, result.sets.map((set) => {
        const [low, high] = spread(set.points.x);
        const grid = Array.from({ length: 41 }, (_, i) => low + (i / 40) * (high - low));
        const laws = set.laws || [];
        const curves = laws.map(({ intercept, slope }, h) => ({ values: grid.map((x) => intercept + slope * x), tone: `--law-${h}` }));
        const ok = set.status === "ok";
        return card(`${set.name}, ${set.rows.toLocaleString("en-US")} rows`,
          plot(`${set.y} against ${set.x} with the fitted laws`, null, (host) => drawCurves(host, set.points, grid, curves, set.x, set.y)),
          make("div", { class: `verdict in-card ${ok ? "ok" : "not"}` }, make("strong", {}, (ok ? "\u2713 " : "\u26a0 ") + set.status), make("p", {}, set.words)),
          make("ol", { class: "meaning" }, laws.map((law, h) => make("li", {}, `${set.meaning[h]} (weight ${law.weight.toFixed(2)}, slope ${brief(law.slope)})`))));
      })));
  }

  function keyFigures(results) {
    const figures = [];
    const rows = [...(results.table1 ? results.table1.rows : []), ...(results.table2 ? results.table2.rows : [])];
    if (rows.length) {
      const sum = (name, field) => rows.reduce((total, row) => total + (row.summary[name][field] || 0), 0);
      const percent = (name) => `${Math.round((100 * sum(name, "wrong")) / sum(name, "count"))} %`;
      figures.push(["wrong: mixstream", percent("polished"), `${sum("polished", "wrong")} of ${sum("polished", "count")} streams`],
        ["wrong: EM, random starts", percent("em"), `${sum("em", "wrong")} of ${sum("em", "count")} attempts`],
        ["wrong: Spectral, then EM", percent("spectral_em"), `${sum("spectral_em", "wrong")} of ${sum("spectral_em", "count")}`]);
    }
    const best = results.rivals && results.rivals.against_flexmix[results.rivals.against_flexmix.length - 1];
    if (best) figures.push(["less processor time", `${Math.round(best.processor)} \u00d7`, `than one start of flexmix, ${compact(best.rows)} rows`], ["less memory", `${Math.round(best.memory)} \u00d7`, "than flexmix"]);
    return make("dl", { class: "figures" }, figures.map(([name, value, note]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note)))));
  }

  const results = JSON.parse(document.getElementById("results").textContent);
  const parts = [
    ["table1", (result) => tableSection("Table 1", "The paper's settings and those its source holds commented out.", result)],
    ["table2", (result) => tableSection("Table 2: misspecified data", "Two intervals of every base variable are never seen.", result)],
    ["histogram", histogramSection], ["curves", curvesSection], ["learning-curve", learningSection], ["noise", noiseSection],
    ["rivals", rivalsSection], ["real", realSection],
  ];
  const root = document.getElementById("page");
  const licence = document.getElementById("licence");
  mixstreamPage.followTheme();
  root.className = "page";
  root.replaceChildren(make("header", {}, make("div", { class: "bar" }, brand(), themeSwitch())),
    make("h1", {}, "The evidence"), make("p", { class: "subtitle" }, "The paper\u2019s evaluation, rivals on the same rows, and real data."), keyFigures(results),
    ...parts.filter(([name]) => results[name]).map(([name, build]) => build(results[name])),
    make("footer", {}, make("p", {}, "Made by experiments, one file, no network."), make("details", {}, make("summary", {}, "Licence of uPlot, which draws the plots"), make("pre", {}, licence.textContent))));
  showTheme();
  started.forEach((start) => start());
}
