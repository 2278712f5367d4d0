"use strict";
// The page: headings, tables and words from the report's JSON. Names from the data enter as text, never as markup.
const mixstreamPage = (() => {
  const { plain } = mixstreamPlots;
  const svgNamespace = "http://www.w3.org/2000/svg";
  const drawn = new Set(["svg", "path", "circle", "text"]);

  function make(tag, attributes = {}, ...children) {
    const node = drawn.has(tag) ? document.createElementNS(svgNamespace, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  const grouped = (number) => Math.round(number).toLocaleString("en-US");
  const minus = (text) => text.replace("-", "\u2212");
  const brief = (value) => plain(Number(value.toPrecision(value >= 100 ? 3 : 2)));
  const share = (part) => `${part < 5e-6 ? 0 : Number((100 * part).toPrecision(2))} %`;
  const counted = (number, one, many = one + "s") => `${grouped(number)} ${number === 1 ? one : many}`;
  const listed = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`);

  // As many digits as the error supports, and the error: ["0.3784", "0.0025"].
  function measured(value, error) {
    if (value === null) return ["\u2013", null];
    if (!(error > 0)) return [plain(value), null];
    const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(error))));
    if (Math.abs(value) >= 1e9 || digits === 12) return [plain(value), plain(error)];
    return [minus(value.toFixed(digits)), error.toFixed(digits)];
  }
  const measuredText = (value, error) => measured(value, error).filter((part) => part !== null).join(" \u00b1 ");
  function measuredCell(value, error) {
    const [number, plusMinus] = measured(value, error);
    return make("td", {}, number, plusMinus === null ? null : make("span", { class: "error" }, ` \u00b1 ${plusMinus}`));
  }

  // t^4*u as it is written by hand. Odd names stand between backquotes and stay as they are.
  function featureName(name) {
    if (name === "1") return ["constant"];
    if (name.includes("`")) return [make("code", {}, name)];
    return name.split("*").flatMap((factor, i) => {
      const [base, power] = factor.split("^");
      return [i ? "\u00b7" : "", base, power ? make("sup", {}, power) : ""];
    });
  }
  const featureText = (name) => (name === "1" ? "constant" : name);

  const forms = ["M1 5a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M1.3 1.3h7.4v7.4h-7.4z", "M5 .8 9.4 8.6H.6z", "M5 .4 9.6 5 5 9.6.4 5z"];
  const mark = (law) => make("svg", { class: "mark", viewBox: "0 0 10 10", "aria-hidden": "true" },
    make("path", { d: forms[law % 4], fill: `var(--law-${law % 8})` }));
  const lawName = (law) => (law < 0 ? "all laws" : `law ${law + 1}`);

  function table(caption, head, rows) {
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      make("table", {}, make("caption", {}, caption),
        make("thead", {}, make("tr", {}, head.map((cell) => make("th", { scope: "col" }, cell)))),
        make("tbody", {}, rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first),
          cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell))))))));
  }

  // A figure whose canvas has words beside it. `draw(host, tell)` draws; tell(text) fills the line under the plot.
  function figure(words, caption, draw, withReadout) {
    const host = make("div", { class: "plot", role: "img", "aria-label": words });
    const readout = make("div", { class: "readout", "aria-hidden": "true" });
    const node = make("figure", {}, host, withReadout ? readout : null, caption ? make("figcaption", {}, caption) : null);
    node.start = () => draw(host, (text) => { readout.textContent = text; });
    return node;
  }

  const verdicts = {
    ok: "Fit accepted", poor_fit: "Poor fit", not_identifiable: "Not identifiable", too_few_rows: "Too few rows",
    lost_component: "Component lost", approximate: "Approximate: usable with its stated size",
  };
  const usable = (status) => status === "ok" || status === "approximate";
  const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

  const responseName = (report) => report.response || "y";
  const formula = (report) => [responseName(report), " ~ ", ...report.features.flatMap((name, i) => [i ? " + " : "", ...featureName(name)])];

  function verdictBox(report) {
    return make("div", { class: `verdict ${usable(report.status) ? "ok" : "not"}`, role: "status" },
      make("strong", {}, (usable(report.status) ? "\u2713 " : "\u26a0 ") + (verdicts[report.status] || report.status)),
      make("p", {}, sentence(report.words)));
  }

  function heading(report) {
    const k = report.components.length || report.k;
    return [
      make("h1", {}, k ? `${counted(k, "law")} of ${responseName(report)}` : `No laws of ${responseName(report)} yet`),
      make("p", { class: "subtitle" }, report.group ? `${report.group}: ` : "", formula(report)),
      verdictBox(report),
    ];
  }

  function keyFigures(report) {
    const figures = [[report.final ? "rows" : "rows so far", grouped(report.rows)]];
    if (Math.abs(report.effective_rows - report.rows) > 0.5) figures.push(["rows that count", grouped(report.effective_rows)]);
    if (report.noise_variance !== null) {
      figures.push(["noise sd", plain(Math.sqrt(report.noise_variance)), report.noise_source]);
    }
    if (report.j) figures.push(["J / dof", brief(report.j.value / report.j.dof), `p ${brief(report.j.p)}`]);
    if (report.log_likelihood !== null) figures.push(["log-likelihood a row", plain(report.log_likelihood)]);
    const refused = Object.values(report.refused).reduce((sum, count) => sum + count, 0);
    figures.push(["refused rows", grouped(refused)], ["set aside", grouped(report.set_aside)]);
    if (report.drift) figures.push(["drift events", grouped(report.drift.length)]);
    return make("dl", { class: "figures" }, figures.map(([name, value, note]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value, note ? make("small", {}, ` ${note}`) : null))));
  }

  function lawsSection({ report }) {
    const laws = report.components;
    const rows = [["weight", ...laws.map((law) => measuredCell(law.weight, law.weight_se))]];
    report.features.forEach((name, f) => rows.push([featureName(name),
      ...laws.map((law) => measuredCell(law.coefficients[f], law.coefficients_se && law.coefficients_se[f]))]));
    rows.push(["noise sd", ...laws.map((law) => {
      const sd = Math.sqrt(law.noise_variance);
      return measuredCell(sd, law.noise_variance_se === null || !sd ? null : law.noise_variance_se / (2 * sd));
    })]);
    return section("The laws", "Weights, coefficients and noise, each with its standard error.",
      make("div", { class: "card fit" }, table("Fitted laws", ["", ...laws.map((_, law) => [mark(law), lawName(law)])], rows)));
  }

  function section(title, lead, ...content) {
    return make("section", {}, make("h2", {}, title), lead ? make("p", { class: "soft" }, lead) : null, content);
  }

  const axisLabel = (axis) => (axis.kind === "fitted" ? "value of its law" : axis.name);

  function dataCaption(model, axis, adjusted, drawn) {
    const { sample, report } = model;
    const parts = [`${counted(drawn, "row")} of a random sample of ${grouped(sample.held)}.`];
    if (report.components.length) {
      parts.push("Bands: two standard deviations of the noise. Grey: rows whose law is uncertain (under 80 %).");
    }
    if (axis.kind === "column" && axis.held.length) {
      const medians = axis.held.slice(0, 8).map(({ name, median }) => `${name} = ${plain(median)}`);
      if (axis.held.length > 8) medians.push(`${axis.held.length - 8} more`);
      parts.push(`Curves: the other columns at their medians (${medians.join(", ")}).`);
      parts.push(adjusted ? "Each point is moved along its own law to those medians, keeping its residual." : "Points are the rows as they came.");
    }
    if (axis.kind === "feature") {
      parts.push("The columns cannot be read back from these features, so there are no curves: the axis is a feature.");
    }
    if (axis.kind === "fitted") parts.push("Line: the response equals what the row's law says.");
    return parts.join(" ");
  }

  function dataView(model, axis, adjusted, hidden) {
    const { sample, report } = model;
    return {
      x: axis.x, y: adjusted ? axis.adjusted : sample.y, law: sample.component,
      sure: report.components.length ? sample.probability.map((p) => p >= 0.8) : sample.y.map(() => false),
      lawCount: report.components.length, xRange: axis.range, yRange: adjusted ? axis.adjusted_range : sample.y_range,
      grid: axis.grid, laws: axis.kind === "fitted" ? axis.laws.slice(0, 1) : axis.laws,
      sd: report.components.map((law) => Math.sqrt(law.noise_variance)),
      xLabel: axisLabel(axis), yLabel: (report.response || "y") + (adjusted ? ", adjusted" : ""), shown: (law) => !hidden.has(law),
    };
  }

  function dataWords(model, axis) {
    const laws = model.report.components.length;
    const ends = axis.laws.map((law, h) => `${lawName(h)} goes from ${plain(law[0])} to ${plain(law[law.length - 1])}`);
    const first = `Scatter plot of ${model.report.response || "y"} against ${axisLabel(axis)}, from ${plain(axis.range[0])} to ${plain(axis.range[1])}, `;
    if (!laws) return first + "without laws.";
    return first + (axis.kind === "column" ? `with ${counted(laws, "law")}: ${ends.join("; ")}.` : `coloured by law.`);
  }

  // What the reader chose. A live page keeps it from fit to fit.
  const newView = () => ({ axis: null, adjusted: true, shown: new Map(), open: new Set() });
  // Laws of negligible weight are drawn only where the reader asks for them.
  const isNegligible = (model, law) => Boolean(model.negligible && model.negligible[law]);
  const hiddenLaws = (model, view) => new Set(model.report.components.map((_, law) => law)
    .filter((law) => !(view.shown.get(law) ?? !isNegligible(model, law))));

  // Text that unfolds, and stays as it is in the next fit.
  function disclosure(view, summary, ...content) {
    return make("details", { open: view.open.has(summary), ontoggle: (event) => {
      if (event.target.open) view.open.add(summary);
      else view.open.delete(summary);
    } }, make("summary", {}, summary), content);
  }

  function dataSection(model, view) {
    const { sample, report } = model;
    if (!sample.axes.length || !sample.y.length) return null;
    const hidden = hiddenLaws(model, view);
    let [axis, plot] = [sample.axes.find(({ name }) => name === view.axis) || sample.axes[0], null];
    const frame = make("div", { class: "card" });
    const place = make("div");
    const choose = make("select", { onchange: (event) => {
      axis = sample.axes[event.target.value];
      view.axis = axis.name;
      show();
    } }, sample.axes.map((one, i) => make("option", { value: i, selected: one === axis }, axisLabel(one))));
    const tick = make("input", { type: "checkbox", onchange: () => { view.adjusted = tick.checked; show(); } });
    tick.checked = view.adjusted;
    const tickLabel = make("label", {}, tick, "adjust for the other columns");
    const legend = make("div", { class: "legend", role: "group", "aria-label": "Laws that are shown" },
      report.components.map((_, law) => make("button", { type: "button", "aria-pressed": String(!hidden.has(law)), onclick: (event) => {
        if (!hidden.delete(law)) hidden.add(law);
        view.shown.set(law, !hidden.has(law));
        event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(law)));
        plot.draw();
      } }, mark(law), lawName(law))));
    function show() {
      if (plot) plot.end();
      const useAdjusted = axis.adjusted !== null && tick.checked;
      tickLabel.hidden = axis.adjusted === null;
      const drawn = figure(dataWords(model, axis), dataCaption(model, axis, useAdjusted, sample.y.length),
        (host, tell) => mixstreamPlots.scatter(host, dataView(model, axis, useAdjusted, hidden), (at) => tell(at === null ? "" :
          `${axisLabel(axis)} ${plain(at.x)}:  ` + (axis.kind === "fitted" ? plain(at.laws[0]) : at.laws.map((y, h) => `${lawName(h)} ${plain(y)}`).join(", ")))), true);
      place.replaceChildren(drawn);
      plot = drawn.start();
    }
    frame.append(make("div", { class: "controls" }, make("label", {}, "Against", choose), tickLabel, legend), place);
    const node = section("Data and laws", "A sample of the rows, coloured by the law that most likely made them.", frame);
    node.start = show;
    return node;
  }

  const fitsOf = (model) => model.history.filter((fit) => fit.components.length === model.report.components.length && fit.k > 0);

  function streamFigure(title, words, model, fits, value, error, bounds) {
    const shared = fits.every((fit) => fit.components.every((law) => value(law) === value(fit.components[0])));
    const laws = shared ? [0] : model.report.components.map((_, law) => law).filter((law) => !isNegligible(model, law));
    const lines = laws.map((law) => ({
      law: shared ? -1 : law, values: fits.map((fit) => value(fit.components[law])), errors: fits.map((fit) => error(fit.components[law])) }));
    const rows = fits.map((fit) => fit.rows);
    const last = lines.map(({ law, values, errors }) => `${lawName(law)} ${measuredText(values[values.length - 1], errors[errors.length - 1])}`);
    const events = (model.events || model.report.drift || []).map((event) => event.row);
    const view = { rows, lines, trusted: fits.map((fit) => usable(fit.status)), events, bounds };
    const cut = mixstreamPlots.streamRange(lines, view.trusted).cut;
    const node = figure(`${words} over ${counted(rows.length, "fit")}; at the end ${last.join(", ")}.`, null,
      (host, tell) => mixstreamPlots.overStream(host, view, (at) => tell(at === null ? (cut ? "some values leave the frame" : "") :
        `${mixstreamPlots.compact(rows[at])} rows:  ` + lines.map(({ values, errors }) => measuredText(values[at], errors[at])).join(", "))), true);
    const card = make("div", { class: "card" }, make("h3", {}, title), node);
    card.start = node.start;
    return card;
  }

  function historyTable(model, view) {
    const names = ["rows", "verdict", "J / dof"];
    model.report.components.forEach((_, law) => ["weight", ...model.report.features.map(featureText), "noise sd"].forEach((name) => names.push(`${name}, ${lawName(law)}`)));
    const rows = model.history.map((fit) => [grouped(fit.rows), verdicts[fit.status] || fit.status, fit.j_per_dof === null ? "\u2013" : plain(fit.j_per_dof),
      ...fit.components.flatMap((law) => [measuredText(law.weight, law.weight_se),
        ...law.coefficients.map((value, f) => measuredText(value, law.coefficients_se[f] ?? null)), measuredText(law.noise_sd, law.noise_sd_se)])]);
    return disclosure(view, "These fits as a table", table("Fits over the stream", names, rows));
  }

  const mostFeatures = 24;

  function streamSection(model, view) {
    const { report } = model;
    if (!report.components.length) return null;
    const fits = fitsOf(model);
    const title = "Over the stream";
    if (fits.length < 2) return section(title, `There is one fit so far; ${model.more || "--every N keeps more of them"} to show how the laws settled.`);
    const cards = report.features.slice(0, mostFeatures).map((name, f) => streamFigure(featureName(name), `Coefficient of ${featureText(name)}`, model, fits,
      (law) => law.coefficients[f], (law) => law.coefficients_se[f] ?? null, null));
    cards.unshift(streamFigure("weights", "Weights of the laws", model, fits, (law) => law.weight, (law) => law.weight_se, [0, 1]));
    cards.push(streamFigure("noise sd", "Standard deviation of the noise", model, fits, (law) => law.noise_sd, (law) => law.noise_sd_se, [0, Infinity]));
    const notes = [`${counted(fits.length, "fit")} as rows came in. Bands: two standard errors.`];
    if (fits.some((fit) => !usable(fit.status))) notes.push("Open marks: fits that were not accepted.");
    const faint = report.components.map((_, law) => law).filter((law) => isNegligible(model, law));
    if (faint.length) notes.push(`Too light to be drawn: ${faint.map(lawName).join(", ")}.`);
    if (fits.length < model.history.length) notes.push(`${counted(model.history.length - fits.length, "fit")} with another number of laws are only in the table.`);
    if (report.features.length > mostFeatures) notes.push(`The first ${mostFeatures} of ${report.features.length} coefficients are drawn; all are in the table.`);
    if ((model.events || report.drift || []).length) notes.push(`Dashed lines: ${model.events ? "alarms" : "drift events"}.`);
    const node = section(title, notes.join(" "), make("div", { class: "grid" }, cards), historyTable(model, view));
    node.start = () => cards.forEach((card) => card.start());
    return node;
  }

  function residualSection(model) {
    const parts = model.residuals.map((histogram, law) => {
      const sd = Math.sqrt(model.report.components[law].noise_variance);
      if (!histogram.density.length) return null;
      const beyond = `${share(histogram.outside)} lie beyond \u00b1${plain(histogram.half_width)}.`;
      const node = figure(`Histogram of the residuals of ${lawName(law)} with the normal curve of standard deviation ${plain(sd)}; ${beyond}`,
        `sd ${plain(sd)}, ${counted(histogram.rows, "row")} of the sample. ${beyond}`,
        (host) => mixstreamPlots.histogram(host, { law, halfWidth: histogram.half_width, density: histogram.density, sd }));
      const card = make("div", { class: "card" }, make("h3", {}, mark(law), lawName(law)), node);
      card.start = node.start;
      return card;
    }).filter((card) => card !== null);
    if (!parts.length) return null;
    const node = section("Residuals", "Bars: response minus law over the sample, each row counted with its probability of belonging to the law. " +
      "Curve: the fitted normal noise. For a right fit the two agree.", make("div", { class: "grid" }, parts));
    node.start = () => parts.forEach((card) => card.start());
    return node;
  }

  function momentWords({ j, status, j_reason: reason }) {
    if (!j) return reason ? `Not tested: ${reason}.` : "The moments were not tested at this stage.";
    const judged = j.p < 0.001 && status !== "ok" ? "The moments speak against this fit." : j.p < 0.05 ? "The moments agree only roughly." : "The moments agree with this fit.";
    return `J is ${plain(j.value)} on ${counted(j.dof, "degree")} of freedom (p ${brief(j.p)}); J / dof is ${brief(j.value / j.dof)}, where a right fit shows about ${brief(j.expected_ratio)}. ${judged}`;
  }

  function identifiabilityWords({ identifiability }) {
    const groups = identifiability.dependent_features;
    if (!identifiability.smallest_eigenvalues.length) return [make("p", {}, "Not judged: there was too little to judge by.")];
    if (identifiability.spectral) return [make("p", {}, "The moments alone determine the laws: products of features up to the third degree are independent.")];
    const words = [make("p", {}, "The spectral start is not identified: some products of features are dependent on every row, so M2 or M3 is not unique. Refinement does not need them to be.")];
    if (groups.length) {
      words.push(make("ul", {}, groups.slice(0, 12).map((group) => make("li", {}, make("code", {}, group.length === 1 ? `${group[0]} is always zero` : listed(group))))));
      if (groups.length > 12) words.push(make("p", { class: "soft small" }, `and ${groups.length - 12} more.`));
    }
    return words;
  }

  function rowWords(report) {
    const reasons = Object.entries(report.refused);
    const words = [make("p", {}, `${counted(report.rows, "row")} taken. ` + (reasons.length ? "" : "None refused. ") +
      (report.set_aside ? `${counted(report.set_aside, "row")} far out of the bulk stayed out of the fit.` : "None set aside."))];
    if (reasons.length) words.push(table("Refused rows by reason", ["reason", "rows"], reasons.map(([reason, count]) => [reason.replaceAll("_", " "), grouped(count)])));
    return words;
  }

  function driftWords({ drift }) {
    if (!drift) return [make("p", {}, "No sign of drift.")];
    return [make("p", {}, "Recent rows disagreed with older ones; a memory that fades (a half-life or a window) lets the fit follow."),
      table("Drift events", ["at row", "sign", "standard deviations", "nats a row"], drift.map((event) =>
        [grouped(event.row), { scores: "laws moved", moments: "moments moved" }[event.sign] ?? "rows less likely", plain(event.deviations), plain(event.nats_per_row)]))];
  }

  function candidatesWords(candidates) {
    const best = Math.min(...candidates.map((one) => one.bic ?? Infinity));
    const worst = Math.max(...candidates.map((one) => one.bic ?? -Infinity));
    return [make("p", {}, "Chosen by BIC on the held rows, under the noise that they prefer; smaller is better."),
      table("Candidates for the number of laws", ["k", "noise", "probability", "BIC a row", "above the best", "J / dof"], candidates.map((one) =>
        [`${one.k}${one.chosen ? " (chosen)" : ""}`, one.noise ?? "\u2013", one.probability === undefined ? "\u2013" : one.probability.toFixed(2), one.bic === null ? "\u2013" : minus(one.bic.toFixed(4)),
          make("td", { class: "meter-cell" }, meter(one.bic === null || worst === best ? 0 : (one.bic - best) / (worst - best))),
          one.j_per_dof === null ? "\u2013" : plain(one.j_per_dof)]))];
  }
  function meter(part) {
    const bar = make("span", { class: "meter", "aria-hidden": "true" });
    bar.style.width = `${Math.round(100 * part)}%`;
    return bar;
  }

  const chanceWords = (p) => (p < 1e-4 ? "no chance" : `chance ${brief(p)}`);
  const shiftWords = (shift) => (shift < 0.005 ? "hardly moves the laws" : `moves a law by ${brief(shift)} of the noise`);

  // One thing that was looked for: how far it would move a law, as a bar, beside the share of the noise that is allowed.
  function doubtRow(doubt, tolerance) {
    const length = (part) => `${(100 * Math.min(1, Math.max(0, part))).toFixed(1)}%`;
    const bar = make("span", { class: `doubt-bar${doubt.raised ? " raised" : ""}` });
    bar.style.width = length(doubt.shift);
    const limit = make("span", { class: "doubt-limit" });
    limit.style.left = length(tolerance);
    return make("li", { class: doubt.raised ? "raised" : null },
      make("span", { class: "doubt-name" }, (doubt.raised ? "\u26a0 " : "") + doubt.title),
      make("span", { class: "doubt-track", "aria-hidden": "true" }, bar, limit),
      make("span", { class: "doubt-size" }, `${doubt.raised ? "found" : "not found"}: ${chanceWords(doubt.p)}, ${shiftWords(doubt.shift)}`),
      doubt.raised ? make("p", { class: "doubt-words" }, `${sentence(doubt.words)}. To mend it: `, make("code", {}, doubt.remedy)) : null);
  }

  function doubtsSection({ report, doubts }) {
    if (!doubts || !doubts.length || !report.misfit) return null;
    const { looked_for: count, tolerance } = report.misfit;
    const found = doubts.filter((doubt) => doubt.raised).length;
    const lead = `${counted(count, "thing")} that the model could lack ${count === 1 ? "was" : "were"} looked for in the rows that are held; ` +
      `${found ? grouped(found) : "none"} ${found === 1 ? "was" : "were"} found. Bars: how far it would move a law, up to one standard deviation of the noise. ` +
      `Line: the ${share(tolerance)} that are tolerated.`;
    return section("What may be missing", lead, make("div", { class: "card" }, make("ol", { class: "doubts" }, doubts.map((doubt) => doubtRow(doubt, tolerance)))));
  }

  function diagnosisSection({ report }) {
    const findings = [["Moment test", momentWords(report)]];
    if (report.candidates) findings.push(["Number of laws", candidatesWords(report.candidates)]);
    findings.push(["Identifiability", identifiabilityWords(report)], ["Rows", rowWords(report)], ["Drift", driftWords(report)]);
    const how = [`Method ${report.method}, stage ${report.stage}; noise ${report.noise_source || "unknown"}.`];
    if (report.bic !== null) how.push(`BIC ${plain(report.bic)} and log-likelihood ${plain(report.log_likelihood)} a row, on the sample.`);
    if (report.spectral && report.spectral.warnings.length) how.push(`Warnings of the spectral start: ${listed(report.spectral.warnings.map((name) => name.replaceAll("_", " ")))}.`);
    how.push(`Reading took ${brief(report.seconds.ingest)} s, the last solve ${brief(report.seconds.solve)} s.`);
    findings.push(["How it was made", how.join(" ")]);
    return section("Diagnosis", null, make("dl", { class: "findings" }, findings.flatMap(([name, words]) =>
      [make("dt", {}, name), make("dd", {}, typeof words === "string" ? make("p", {}, words) : words)])));
  }

  const modesSection = mixstreamModes({ make, table, section, figure, disclosure, mark, lawName, measuredCell, measuredText, grouped, counted, share, listed, sentence });

  function sections(model, view) {
    return [model.report.components.length ? lawsSection(model) : null, modesSection(model, view), dataSection(model, view), streamSection(model, view),
      residualSection(model), doubtsSection(model), diagnosisSection(model)].filter((part) => part !== null);
  }

  function modelView(model) {
    const parts = sections(model, newView());
    const view = make("main", {}, heading(model.report), keyFigures(model.report), parts);
    view.start = () => parts.forEach((part) => part.start && part.start());
    return view;
  }

  const storage = "mixstream-theme";
  function remembered() {
    try { return localStorage.getItem(storage) || "auto"; } catch { return "auto"; }
  }
  function setTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    mixstreamPlots.redraw();
  }
  function themeSwitch() {
    const buttons = ["auto", "light", "dark"].map((theme) => make("button", { type: "button", "aria-pressed": String(theme === remembered()), onclick: () => {
      try { localStorage.setItem(storage, theme); } catch { /* a page without storage still switches */ }
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.theme === theme)));
      setTheme(theme);
    }, "data-theme": theme }, sentence(theme)));
    return make("div", { class: "switch", role: "group", "aria-label": "Colours" }, buttons);
  }
  function followTheme() {
    const theme = () => (document.querySelector(".switch [aria-pressed=true]") || { dataset: { theme: "auto" } }).dataset.theme;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => mixstreamPlots.redraw());
    addEventListener("beforeprint", () => setTheme("light"));
    addEventListener("afterprint", () => setTheme(theme()));
  }

  function brand() {
    return make("div", { class: "brand" }, make("svg", { viewBox: "0 0 24 24", fill: "none", "stroke-width": "2.4", "stroke-linecap": "round", "aria-hidden": "true" },
      make("path", { d: "M3 18C9 17 14 13 21 4", stroke: "var(--law-0)" }), make("path", { d: "M3 6c6 1 11 4 18 14", stroke: "var(--law-1)" })), "mixstream");
  }

  function foot(words) {
    const licence = document.getElementById("licence");
    return make("footer", {}, make("p", {}, `${words} Drag in the data's plot to zoom, double-click to return.`),
      licence ? make("details", {}, make("summary", {}, "Licence of uPlot, which draws the plots"), make("pre", {}, licence.textContent)) : null);
  }

  function groupsTable(models) {
    return make("details", {}, make("summary", {}, `All ${models.length} groups`), table("Groups", ["group", "rows", "laws", "verdict"], models.map(({ report }) =>
      [report.group, grouped(report.rows), String(report.components.length), verdicts[report.status] || report.status])));
  }

  // Fills `root` with the page of `data` (page_data of the library). Call again with newer data to show that.
  function render(root, data) {
    mixstreamPlots.end();
    const bar = make("div", { class: "bar" }, brand(), themeSwitch());
    const place = make("div");
    const show = (at) => {
      mixstreamPlots.end();
      const view = modelView(data.models[at]);
      place.replaceChildren(view);
      view.start();
    };
    root.className = "page";
    root.replaceChildren(make("header", {}, bar), place, foot(`Made by mixstream ${data.version}. One file, no network.`));
    if (data.models.length > 1) {
      const choose = make("select", { onchange: (event) => show(Number(event.target.value)) }, data.models.map(({ report }, i) => make("option", { value: i }, report.group)));
      const left = data.models_left_out ? make("p", { class: "soft small" }, `${counted(data.models_left_out, "group")} with fewer rows are not on this page.`) : null;
      bar.after(make("nav", { "aria-label": "Groups", class: "card" }, make("label", { class: "controls" }, "Group", choose), left, groupsTable(data.models)));
    }
    setTheme(remembered());
    if (data.models.length) show(0);
    else place.append(make("p", {}, "There is no model to show."));
  }

  return {
    render, followTheme, setTheme, remembered, brand, themeSwitch, foot, make, table, section, figure, disclosure, sections, newView,
    showTheme: () => setTheme(remembered()), formula, verdictBox, grouped, counted, brief, listed, sentence, mark, lawName,
  };
})();

{
  const data = document.getElementById("data");
  if (data) {
    mixstreamPage.followTheme();
    mixstreamPage.render(document.getElementById("page"), JSON.parse(data.textContent));
  }
}
