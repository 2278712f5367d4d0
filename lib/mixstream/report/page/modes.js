"use strict";
// The section on modes: a strip over the stream, how long modes last, where they go, and what a gate does over x.
// `page` brings the page's own words and elements (page.js).
const mixstreamModes = (page) => {
  const { make, table, section, figure, disclosure, mark, lawName, measuredCell, grouped, counted, share, listed } = page;
  const { plain } = mixstreamPlots;
  const mostNodes = 6;   // laws that a diagram has room for
  const mostGates = 6;   // columns that a gate is drawn over
  const colourOf = (law) => `var(--law-${law % 8})`;

  // Stacked bars, one path a law: `parts` are lists of k numbers, as wide as their sums.
  function bars(parts, laws) {
    const total = parts.reduce((sum, one) => sum + one.reduce((a, b) => a + b, 0), 0);
    const paths = Array.from({ length: laws }, () => "");
    let x = 0;
    for (const part of parts) {
      const width = part.reduce((a, b) => a + b, 0);
      let y = 0;
      part.forEach((rows, law) => {
        const height = width > 0 ? (100 * rows) / width : 0;
        if (height > 0.05) paths[law] += `M${((1000 * x) / total).toFixed(2)} ${y.toFixed(2)}h${((1000 * width) / total).toFixed(2)}v${height.toFixed(2)}h${((-1000 * width) / total).toFixed(2)}z`;
        y += height;
      });
      x += width;
    }
    return make("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      paths.map((d, law) => (d ? make("path", { d, fill: colourOf(law) }) : null)));
  }

  function strip(title, parts, laws, ends, words) {
    return make("div", {}, make("h3", {}, title),
      make("div", { class: "strip", role: "img", "aria-label": words }, bars(parts, laws)),
      make("p", { class: "strip-ends soft small", "aria-hidden": "true" }, ends.map((end) => make("span", {}, end))));
  }

  // One entry for each stay of the same mode.
  function joined(modes, laws) {
    const parts = [];
    modes.forEach((mode, i) => {
      if (i === 0 || mode !== modes[i - 1]) parts.push(Array(laws).fill(0));
      parts[parts.length - 1][mode] += 1;
    });
    return parts;
  }

  function stripCard({ report, modes }) {
    const laws = report.components.length;
    const rows = modes.strip.flat().reduce((a, b) => a + b, 0);
    if (!(rows > 0)) return null;
    const sums = report.components.map((_, law) => modes.strip.reduce((sum, part) => sum + part[law], 0) / rows);
    const first = Math.max(0, report.rows - rows);
    const shares = listed(sums.map((part, law) => `${lawName(law)} ${share(part)}`));
    const card = make("div", { class: "card" }, make("p", { class: "keys small" }, report.components.map((_, law) => make("span", {}, mark(law), lawName(law)))),
      strip("Over the stream", modes.strip, laws, [`row ${grouped(first + 1)}`, `row ${grouped(report.rows)}`], `Share of the rows in each mode, from row ${grouped(first + 1)} to ${grouped(report.rows)}: ${shares}.`));
    if (modes.last.length > 1) {
      const parts = joined(modes.last, laws);
      card.append(strip("The last rows", parts, laws, [`${counted(modes.last.length, "row")} ago`, "now"],
        `Likeliest mode of the last ${counted(modes.last.length, "row")}: ${counted(parts.length - 1, "change")}; now ${lawName(modes.last[modes.last.length - 1])}.`));
    }
    card.append(make("p", { class: "soft small" }, "Height: the share of a stretch of rows that each mode had, by the filter: given the rows so far."));
    return card;
  }

  // Circles with arrows; a label stands beside its arrow.
  function diagram(transitions) {
    const k = transitions.length;
    const [centre, ring, radius] = [150, k === 2 ? 80 : 95, 26];
    const at = (law) => {
      const angle = (2 * Math.PI * law) / k - (k === 2 ? Math.PI : Math.PI / 2);
      return [centre + ring * Math.cos(angle), centre + ring * Math.sin(angle)];
    };
    const parts = [];
    transitions.forEach((row, i) => row.forEach((chance, j) => {
      if (i === j || !(chance > 0)) return;
      const [[x0, y0], [x1, y1]] = [at(i), at(j)];
      const length = Math.hypot(x1 - x0, y1 - y0);
      const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
      const [nx, ny] = [-uy, ux];
      const leave = 1 - row[i];
      const [ax, ay] = [x0 + radius * ux + 7 * nx, y0 + radius * uy + 7 * ny];
      const [bx, by] = [x1 - (radius + 7) * ux + 7 * nx, y1 - (radius + 7) * uy + 7 * ny];
      const [cx, cy] = [(ax + bx) / 2 + 14 * nx, (ay + by) / 2 + 14 * ny];
      const near = 0.28;  // of the way: beside where it leaves, so that labels of ways to and fro stay apart
      const label = [[ax, cx, bx], [ay, cy, by]].map(([from, over, to]) => (1 - near) ** 2 * from + 2 * near * (1 - near) * over + near ** 2 * to);
      const [tx, ty] = [bx - cx, by - cy];
      const steep = Math.hypot(tx, ty);
      const [dx, dy] = [tx / steep, ty / steep];
      const width = 1 + 3 * (leave > 0 ? chance / leave : 0);
      parts.push(make("path", { d: `M${ax} ${ay}Q${cx} ${cy} ${bx} ${by}`, fill: "none", stroke: colourOf(i), "stroke-width": width.toFixed(2) }),
        make("path", { d: `M${bx + 7 * dx} ${by + 7 * dy}L${bx - 5 * dy} ${by + 5 * dx}L${bx + 5 * dy} ${by - 5 * dx}z`, fill: colourOf(i) }),
        make("text", { x: label[0] + 6 * nx, y: label[1] + 6 * ny + 4, "text-anchor": nx > 0.3 ? "start" : nx < -0.3 ? "end" : "middle" }, plain(Number(chance.toPrecision(2)))));
    }));
    transitions.forEach((row, i) => {
      const [x, y] = at(i);
      parts.push(make("circle", { cx: x, cy: y, r: radius, fill: "var(--card)", stroke: colourOf(i), "stroke-width": 2.5 }),
        make("text", { x, y: y - 2, "text-anchor": "middle", class: "node" }, String(i + 1)),
        make("text", { x, y: y + 13, "text-anchor": "middle" }, plain(Number(row[i].toPrecision(3)))));
    });
    const heights = transitions.map((_, law) => at(law)[1]);
    const [top, bottom] = [Math.min(...heights) - radius - 22, Math.max(...heights) + radius + 22];
    return make("svg", { viewBox: `-10 ${top} 320 ${bottom - top}`, class: "diagram", "aria-hidden": "true" }, parts);
  }

  function waysCard({ report }) {
    const { transitions, transitions_se: errors } = report.modes;
    const words = transitions.map((row, i) => `${lawName(i)} stays with ${plain(row[i])}`);
    const rows = transitions.map((row, i) => [[mark(i), `from ${lawName(i)}`], ...row.map((chance, j) => measuredCell(chance, errors[i][j]))]);
    return make("div", { class: "card" }, make("h3", {}, "Where modes go"), make("div", { class: "pair" },
      transitions.length <= mostNodes ? make("div", { role: "img", "aria-label": `Diagram of the changes of mode from row to row: ${listed(words)}.` }, diagram(transitions)) : null,
      table("Chance of the next row's mode", ["", ...transitions.map((_, law) => `to ${lawName(law)}`)], rows)));
  }

  function staysCard({ report, modes }, law) {
    const counts = modes.stays[law] || [];
    const total = counts.reduce((a, b) => a + b, 0);
    const [dwell, error] = [report.modes.dwell[law], report.modes.dwell_se[law]];
    const lasts = `lasts ${page.measuredText(dwell, error)} rows`;
    const heading = make("h3", {}, mark(law), `${lawName(law)}: ${lasts}`);
    if (!total) return make("div", { class: "card" }, heading, make("p", { class: "soft small" }, "No stay has begun and ended yet."));
    const node = figure(`Histogram of ${counted(total, "stay")} of ${lawName(law)} by their rows; the law ${lasts} in the mean.`,
      `${counted(total, "stay")} that began and ended.`, (host) => mixstreamPlots.stays(host, { law, counts, dwell }));
    const card = make("div", { class: "card" }, heading, node);
    card.start = node.start;
    return card;
  }

  function gateCard({ report }, axis) {
    const ends = axis.gate.map((weights, law) => `${lawName(law)} from ${plain(weights[0])} to ${plain(weights[weights.length - 1])}`);
    const held = axis.held.length ? ` Other columns at their medians (${axis.held.slice(0, 8).map(({ name, median }) => `${name} = ${plain(median)}`).join(", ")}).` : "";
    const node = figure(`Weights of the laws over ${axis.name}, from ${plain(axis.range[0])} to ${plain(axis.range[1])}: ${ends.join("; ")}.`, `Weights over ${axis.name}.${held}`,
      (host, tell) => mixstreamPlots.gateOver(host, { x: axis.grid, weights: axis.gate, label: axis.name }, (at) =>
        tell(at === null ? "" : `${axis.name} ${plain(axis.grid[at])}:  ${axis.gate.map((weights, law) => `${lawName(law)} ${share(weights[at])}`).join(", ")}`)), true);
    const card = make("div", { class: "card" }, make("h3", {}, `weights over ${axis.name}`), node);
    card.start = node.start;
    return card;
  }

  function gateTable({ report }, view) {
    const { gate, gamma, gamma_se: errors } = report.modes;
    const rows = gate.map((name, w) => [name === "1" ? "constant" : name, ...gamma.map((law, h) => measuredCell(law[w], h + 1 < gamma.length ? errors[h][w] : null))]);
    return disclosure(view, "The gate as a table", table("Coefficients of the gate, the last law's being 0", ["", ...gamma.map((_, law) => lawName(law))], rows));
  }

  function gated(model, view) {
    const axes = model.sample.axes.filter((axis) => axis.gate && axis.gate.some((weights) => Math.max(...weights) - Math.min(...weights) > 1e-3)).slice(0, mostGates);
    const cards = axes.map((axis) => gateCard(model, axis));
    const words = model.report.modes.takeovers.map((one) => page.sentence(one) + ".");
    const node = section("Which law x chooses", ["The features choose the law.", ...words].join(" "), make("div", { class: "grid" }, cards), stripCard(model), gateTable(model, view));
    node.start = () => cards.forEach((card) => card.start());
    return node;
  }

  function persistent(model) {
    const { changes, now, dwell } = model.report.modes;
    const likeliest = now.indexOf(Math.max(...now));
    const words = [`A mode lasts from row to row. ${counted(changes, "change")} of mode were seen.`];
    if (now.length) words.push(`At the last row ${lawName(likeliest)} held with ${share(now[likeliest])}; it is expected to last ${plain(Number(dwell[likeliest].toPrecision(2)))} more rows.`);
    const stays = dwell.map((_, law) => staysCard(model, law));
    const node = section("Modes", words.join(" "), stripCard(model), waysCard(model), make("div", { class: "grid" }, stays),
      make("p", { class: "soft small" }, "Bars: stays by their rows, in powers of two, counted once the filter is 90 % sure; curve: what the mean dwell leads to expect. Where laws overlap, short stays are missed."));
    node.start = () => stays.forEach((card) => card.start && card.start());
    return node;
  }

  return (model, view) => {
    if (!model.modes || !model.report.modes) return null;
    return model.report.modes.kind === "gated" ? gated(model, view) : persistent(model);
  };
};
