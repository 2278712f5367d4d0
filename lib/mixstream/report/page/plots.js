"use strict";
// The plots: each takes numbers and a host element, draws with uPlot, and follows width, theme and paper.
const mixstreamPlots = (() => {
  const live = new Set();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const lawColour = (law) => colour(law < 0 ? "--ink" : `--law-${law % 8}`);  // below zero: all laws together
  const dash = (law) => (law < 8 ? undefined : law < 16 ? [8, 4] : law < 24 ? [2, 3] : [10, 3, 2, 3]);
  const clear = (hex, part) => hex + Math.round(255 * part).toString(16).padStart(2, "0");

  // 1234567 as 1.23M: for axes.
  function compact(value) {
    const size = Math.abs(value);
    for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (size >= unit) return Number((value / unit).toPrecision(3)) + name;
    }
    return String(Number(value.toPrecision(3)));
  }
  const plain = (value) => {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replace("e+", "e").replace("-", "\u2212");
    return String(Number(value.toPrecision(4))).replace("-", "\u2212");
  };

  function axis(label, more) {
    return {
      label, labelSize: label ? 22 : 0, labelFont: "600 12px system-ui, sans-serif", labelGap: 4, size: 30,
      font: "12px system-ui, sans-serif", stroke: colour("--ink-soft"), gap: 6,
      grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--line"), width: 1, size: 5 },
      values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : plain(tick))), ...more,
    };
  }
  // Room for the longest label.
  const axisWidth = (u, values) => 16 + 7 * Math.max(2, ...(values || []).map((text) => text.length));

  // Three lines for one quantity: its upper edge, itself, its lower edge; uPlot fills between the edges.
  function banded(law, width, show = true) {
    const edge = { show, stroke: "transparent", width: 0, pxAlign: 0, points: { show: false } };
    return [edge, { ...edge, stroke: lawColour(law), width, dash: dash(law) }, edge];
  }

  // Draws what `build` describes and draws anew when width, theme or medium change.
  function mount(host, height, build) {
    let plot = null;
    let width = 0;
    const entry = {
      host,
      draw() {
        if (!host.isConnected) return entry.end();
        width = Math.max(200, Math.floor(host.clientWidth));
        if (plot) plot.destroy();
        const { options, data } = build();
        plot = new uPlot({ width, height: width < 480 ? Math.min(height, 300) : height, legend: { show: false }, padding: [8, 14, 0, 0], ...options }, data, host);
        host.dataset.drawn = "true";
      },
      refresh() {  // new numbers of the same kind
        if (plot && host.isConnected) plot.setData(build().data);
      },
      end() {
        observer.disconnect();
        live.delete(entry);
        if (plot) plot.destroy();
      },
    };
    const observer = new ResizeObserver(() => {
      if (Math.max(200, Math.floor(host.clientWidth)) !== width) entry.draw();
    });
    live.add(entry);
    entry.draw();
    observer.observe(host);
    return entry;
  }

  function within(u, draw) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, devicePixelRatio);
    ctx.restore();
  }

  // Each law has a form as well as a colour: circle, square, triangle, diamond.
  function trace(ctx, law, x, y, r) {
    if (law < 0 || law % 4 === 0) {
      ctx.moveTo(x + r, y);
      ctx.arc(x, y, r, 0, 2 * Math.PI);
    } else if (law % 4 === 1) {
      ctx.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
    } else if (law % 4 === 2) {
      ctx.moveTo(x, y - 1.2 * r);
      ctx.lineTo(x + 1.1 * r, y + 0.8 * r);
      ctx.lineTo(x - 1.1 * r, y + 0.8 * r);
      ctx.closePath();
    } else {
      ctx.moveTo(x, y - 1.25 * r);
      ctx.lineTo(x + 1.25 * r, y);
      ctx.lineTo(x, y + 1.25 * r);
      ctx.lineTo(x - 1.25 * r, y);
      ctx.closePath();
    }
  }

  const stretched = ([low, high], part) => [low - part * (high - low), high + part * (high - low)];

  // Rows as points, laws as curves with a band of two standard deviations of the noise.
  // view: {x, y, law[], sure[], xRange, yRange, grid, laws[][], sd[], xLabel, yLabel, shown: law => bool}
  function scatter(host, view, readout) {
    const laws = view.laws.length;
    const points = (u) => within(u, (ctx, dpr) => {
      const radius = (view.x.length > 1200 ? 2 : 2.6) * dpr;
      for (let law = -1; law < Math.max(laws, view.lawCount); ++law) {
        if (law >= 0 && !view.shown(law)) continue;
        ctx.beginPath();
        for (let i = 0; i < view.x.length; ++i) {
          const group = view.sure[i] ? view.law[i] : -1;
          if (group !== law || !view.shown(view.law[i])) continue;
          trace(ctx, view.law[i], u.valToPos(view.x[i], "x", true), u.valToPos(view.y[i], "y", true), radius);
        }
        ctx.fillStyle = law < 0 ? clear(colour("--ink-soft"), 0.4) : clear(lawColour(law), view.x.length > 1200 ? 0.4 : 0.5);
        ctx.fill();
      }
    });
    return mount(host, 440, () => {
      const series = [{}];
      const bands = [];
      const data = [view.grid.length ? view.grid : view.xRange];
      for (let law = 0; law < laws; ++law) {
        series.push(...banded(law, 2.5, view.shown(law)));
        for (const side of [2, 0, -2]) data.push(view.laws[law].map((value) => value + side * view.sd[law]));
        bands.push({ series: [3 * law + 1, 3 * law + 3], fill: clear(lawColour(law), 0.1) });
      }
      if (laws === 0) {
        series.push({ stroke: "transparent", points: { show: false } });
        data.push([null, null]);
      }
      return {
        data,
        options: {
          series, bands,
          scales: { x: { time: false }, y: { range: () => stretched(view.yRange, 0.05) } },
          axes: [axis(view.xLabel), axis(view.yLabel, { size: axisWidth })],
          cursor: { y: false, points: { show: false } },
          hooks: {
            drawAxes: [points],
            setCursor: [(u) => readout(u.cursor.idx === null || u.cursor.idx === undefined || !laws ? null : {
              x: data[0][u.cursor.idx], laws: view.laws.map((law) => law[u.cursor.idx]) })],
          },
        },
      };
    });
  }

  // 1, 2, 5, 10, ... within the range, at most about six.
  function decades(low, high) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
    }
    let inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    if (inside.length > 7) inside = inside.filter((tick) => Number.isInteger(Math.log10(tick) + 1e-12) || Math.abs(Math.log10(tick) % 1) < 1e-9);
    return inside;
  }

  // The frame shows what accepted fits say (all fits, where none was accepted), those of the later half with their errors; a
  // wild beginning and poor fits may leave it.
  function streamRange(lines, trusted) {
    let [low, high, first, last] = [Infinity, -Infinity, Infinity, -Infinity];
    const [quarter, half] = [Math.floor(trusted.length / 4), Math.floor(trusted.length / 2)];
    const some = trusted.some((ok, i) => ok && i >= half);
    for (const { values, errors } of lines) {
      values.forEach((value, i) => {
        if (value === null) return;
        first = Math.min(first, value);
        last = Math.max(last, value);
        if (i < (some ? quarter : half) || (some && !trusted[i])) return;
        const error = errors[i] === null || i < half ? 0 : 2 * errors[i];
        low = Math.min(low, value - error);
        high = Math.max(high, value + error);
      });
    }
    if (!(low <= high)) return { range: [0, 1], cut: false };
    const span = high - low || Math.abs(high) * 0.1 || 1;
    const range = [Math.max(Math.min(first, low), low - 0.6 * span), Math.min(Math.max(last, high), high + 0.6 * span)];
    return { range: stretched(range, 0.08), cut: first < range[0] || last > range[1] };
  }

  const logarithmic = (rows) => rows.length > 2 && rows[Math.floor(rows.length / 2)] < rows[rows.length - 1] / 6;

  // Numbers over the stream: one line a law, a band of two standard errors, open circles at fits that are not ok.
  // view: {rows, lines: [{law, values, errors}], trusted[], events[], bounds: [low, high] | null}
  function overStream(host, view, readout) {
    const log = logarithmic(view.rows);
    const place = log ? Math.log10 : (rows) => rows;
    const { range } = streamRange(view.lines, view.trusted);
    if (view.bounds) range[0] = Math.max(range[0], view.bounds[0]);
    const marks = (u) => within(u, (ctx, dpr) => {
      ctx.strokeStyle = colour("--bad");
      ctx.lineWidth = dpr;
      ctx.setLineDash([4 * dpr, 3 * dpr]);
      for (const row of view.events) {
        const x = u.valToPos(place(row), "x", true);
        ctx.beginPath();
        ctx.moveTo(x, u.bbox.top);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
        ctx.stroke();
      }
      ctx.setLineDash([]);
      for (const line of view.lines) {
        for (let i = 0; i < view.rows.length; ++i) {
          if (line.values[i] === null || (view.rows.length > 40 && view.trusted[i])) continue;
          ctx.beginPath();
          trace(ctx, line.law, u.valToPos(place(view.rows[i]), "x", true), u.valToPos(line.values[i], "y", true), 3 * dpr);
          ctx.fillStyle = view.trusted[i] ? lawColour(line.law) : colour("--card");
          ctx.strokeStyle = lawColour(line.law);
          ctx.lineWidth = 1.5 * dpr;
          ctx.fill();
          ctx.stroke();
        }
      }
    });
    return mount(host, 230, () => {
      const series = [{}];
      const bands = [];
      const data = [view.rows.map(place)];
      view.lines.forEach(({ law, values, errors }, at) => {
        series.push(...banded(law, 2));
        for (const side of [2, 0, -2]) {
          data.push(values.map((value, i) => (value === null || (side && errors[i] === null) ? null : value + side * (errors[i] ?? 0))));
        }
        bands.push({ series: [3 * at + 1, 3 * at + 3], fill: clear(lawColour(law), 0.16) });
      });
      const rowsAxis = { space: 56, values: (_, ticks) => ticks.map((tick) => compact(log ? 10 ** tick : tick)) };
      if (log) rowsAxis.splits = (u) => decades(10 ** u.scales.x.min, 10 ** u.scales.x.max).map(Math.log10);
      const [first, last] = [data[0][0], data[0][data[0].length - 1]];
      return {
        data,
        options: {
          series, bands,
          scales: { x: { time: false, range: () => stretched([first, last], 0.03) }, y: { range: () => range } },
          axes: [axis("rows", rowsAxis), axis(null, { size: axisWidth, space: 34 })],
          cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
          hooks: { draw: [marks], setCursor: [(u) => readout(u.cursor.idx ?? null)] },
        },
      };
    });
  }

  // Residuals of one law as bars, the fitted noise as a curve. view: {law, halfWidth, density[], sd}
  function histogram(host, view) {
    const grid = Array.from({ length: 161 }, (_, i) => view.halfWidth * (i / 80 - 1));
    const curve = grid.map((x) => Math.exp(-0.5 * (x / view.sd) ** 2) / (view.sd * Math.sqrt(2 * Math.PI)));
    const top = 1.08 * Math.max(...view.density, ...curve);
    const bars = (u) => within(u, (ctx, dpr) => {
      ctx.fillStyle = clear(lawColour(view.law), 0.38);
      const step = (2 * view.halfWidth) / view.density.length;
      view.density.forEach((value, i) => {
        const [left, right] = [i, i + 1].map((edge) => u.valToPos(edge * step - view.halfWidth, "x", true));
        const y = u.valToPos(value, "y", true);
        ctx.fillRect(left + 0.5 * dpr, y, right - left - dpr, u.bbox.top + u.bbox.height - y);
      });
    });
    return mount(host, 210, () => ({
      data: [grid, curve],
      options: {
        series: [{}, { stroke: colour("--ink"), width: 1.75, pxAlign: 0, points: { show: false } }],
        scales: { x: { time: false }, y: { range: () => [0, top] } },
        axes: [axis("residual", { space: 56 }), axis(null, { show: false })],
        padding: [8, 12, 0, 12],
        cursor: { show: false },
        hooks: { drawAxes: [bars] },
      },
    }));
  }

  // Stays of a mode by powers of two of their rows as bars, what a mean dwell leads to expect as a curve.
  // view: {law, counts[], dwell}
  function stays(host, view) {
    const bins = Math.max(view.counts.length, Math.ceil(Math.log2(Math.max(2, 4 * view.dwell))));
    const total = view.counts.reduce((a, b) => a + b, 0);
    const stay = 1 - 1 / Math.max(view.dwell, 1);
    const expected = (i) => total * (stay ** (2 ** i - 1) - stay ** (2 ** (i + 1) - 1));
    const grid = Array.from({ length: bins }, (_, i) => i + 0.5);
    const curve = grid.map((x) => expected(x - 0.5));
    const top = 1.12 * Math.max(...view.counts, ...curve);
    const bars = (u) => within(u, (ctx, dpr) => {
      ctx.fillStyle = clear(lawColour(view.law), 0.38);
      view.counts.forEach((count, i) => {
        const [left, right] = [i, i + 1].map((edge) => u.valToPos(edge, "x", true));
        const y = u.valToPos(count, "y", true);
        ctx.fillRect(left + 0.5 * dpr, y, right - left - dpr, u.bbox.top + u.bbox.height - y);
      });
    });
    return mount(host, 190, () => ({
      data: [grid, curve],
      options: {
        series: [{}, { stroke: colour("--ink"), width: 1.75, pxAlign: 0, points: { show: false } }],
        scales: { x: { time: false, range: () => [0, bins] }, y: { range: () => [0, top] } },
        axes: [axis("rows of a stay", { splits: () => Array.from({ length: bins + 1 }, (_, i) => i).filter((i) => i % Math.ceil(bins / 6) === 0),
          values: (_, ticks) => ticks.map((tick) => compact(2 ** tick)) }), axis(null, { size: axisWidth, space: 34, values: (_, ticks) => ticks.map(compact) })],
        padding: [8, 12, 0, 0],
        cursor: { show: false },
        hooks: { drawAxes: [bars] },
      },
    }));
  }

  // Weights that a gate gives over a column: one line a law. view: {x[], weights[][], label}
  function gateOver(host, view, readout) {
    return mount(host, 230, () => ({
      data: [view.x, ...view.weights],
      options: {
        series: [{}, ...view.weights.map((_, law) => ({ stroke: lawColour(law), width: 2.25, dash: dash(law), pxAlign: 0, points: { show: false } }))],
        scales: { x: { time: false }, y: { range: () => [-0.02, 1.02] } },
        axes: [axis(view.label, { space: 56 }), axis(null, { size: axisWidth, space: 34 })],
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        hooks: { setCursor: [(u) => readout(u.cursor.idx ?? null)] },
      },
    }));
  }

  // Numbers over time, from zero up. view: {times[], lines: [{colour, values[], fill}]}
  function overTime(host, view) {
    const top = () => 1.15 * (Math.max(...view.lines.flatMap(({ values }) => values)) || 1);
    const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], { hourCycle: "h23" });
    return mount(host, 170, () => ({
      data: [view.times, ...view.lines.map(({ values }) => values)],
      options: {
        series: [{}, ...view.lines.map((line) => ({ stroke: colour(line.colour), width: 2, pxAlign: 0, points: { show: false },
          fill: line.fill ? clear(colour(line.colour), 0.12) : undefined }))],
        scales: { x: { time: true }, y: { range: () => [0, top()] } },
        axes: [axis(null, { space: 90, values: (_, ticks) => ticks.map(clock) }), axis(null, { size: axisWidth, space: 34, values: (_, ticks) => ticks.map(compact) })],
        cursor: { show: false },
      },
    }));
  }

  const redraw = () => [...live].forEach((entry) => entry.draw());
  const end = (place = document) => [...live].forEach((entry) => { if (place.contains(entry.host)) entry.end(); });
  const parts = { mount, axis, axisWidth, within, trace, colour, clear, decades, stretched };  // for pages with plots of their own
  return { scatter, overStream, overTime, histogram, stays, gateOver, redraw, end, streamRange, compact, plain, parts };
})();
