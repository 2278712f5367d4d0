"use strict";
// The live page: asks the daemon every second how its streams are, and for data and laws when there is a new fit.
// Names and words from the daemon enter as text, never as markup.
{
  const page = mixstreamPage;
  const { make, grouped, counted, brief } = page;
  const everySecond = 1000;
  const hiddenPause = 15000;
  const mostSeconds = 900;  // of the rate's plot
  const fleetPause = 3000;
  const streamsAPage = 50;
  const root = document.getElementById("page");

  const state = {
    daemon: null,       // the last answer
    streams: new Map(), // by name: {view, model, fitTime, rates, alarms}
    shown: null,        // name of the stream on the page
    from: 0,            // place of the first stream in the list
    apart: null,        // the stream on the page, where it is not in the list
    paused: false,
    lostSince: null,
    token: null,
  };

  // ---- Asking -------------------------------------------------------------------------------------------------

  const tokenKey = "mixstream-token";
  const inSession = (act) => { try { return act(sessionStorage); } catch { return null; } };

  async function ask(address, options = {}) {
    const headers = { ...options.headers };
    if (state.token) headers.Authorization = `Bearer ${state.token}`;
    const answer = await fetch(address, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(8000) });
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.text), { status: answer.status });
    return content;
  }
  const streamAddress = (name, leaf) => `api/v1/streams/${encodeURIComponent(name)}/${leaf}`;

  let wake = () => {};
  const wait = (milliseconds) => new Promise((done) => {
    wake = done;
    setTimeout(done, milliseconds);
  });
  document.addEventListener("visibilitychange", () => wake());

  async function run() {
    for (;;) {
      try {
        const daemon = await ask(`api/v1/streams?from=${state.from}&count=${streamsAPage}`);
        state.lostSince = null;
        if (!state.paused) await take(daemon);
      } catch (problem) {
        if (problem.status === 401) {
          await askForToken();
          continue;
        }
        state.lostSince = state.lostSince || new Date();
      }
      showStatus();
      await wait(document.hidden ? hiddenPause : everySecond);
    }
  }

  async function take(daemon) {
    state.daemon = daemon;
    await findApart(daemon);
    for (const stream of known()) remember(stream);
    choose();
    const stream = current();
    if (!stream) return;
    const memory = state.streams.get(stream.name);
    await takeFleet(stream, memory);
    if (stream.fit && memory.fitTime !== stream.fit.time) {
      const data = await ask(streamAddress(stream.name, "data"));
      memory.model = data.models[0];
      memory.model.more = "the next ones will follow";
      memory.fitTime = stream.fit.time;
      showModel();
    }
  }

  // A stream that is asked for, or shown, and stands on another page of the list is asked for by itself.
  async function findApart(daemon) {
    const name = wanted() || state.shown;
    state.apart = null;
    if (!name || daemon.total <= streamsAPage || daemon.streams.some((stream) => stream.name === name)) return;
    try {
      state.apart = await ask(streamAddress(name, "").replace(/\/$/, ""));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
    }
  }
  const wanted = () => decodeURIComponent(location.hash.replace(/^#stream=/, ""));
  const known = () => [...state.daemon.streams, ...(state.apart ? [state.apart] : [])];

  async function takeFleet(stream, { fleet }) {
    if (!stream.fleet || (fleet.content && Date.now() - fleet.asked < fleetPause)) return;
    fleet.asked = Date.now();
    fleet.content = await ask(streamAddress(stream.name, mixstreamFleet.address(fleet)));
  }
  async function stepFleet(stream, from) {
    const { fleet } = state.streams.get(stream.name);
    Object.assign(fleet, { from, content: null });
    await takeFleet(stream, { fleet });
    showFleet(stream);
  }

  // Rates are kept from the opening of the page on, for every stream.
  function remember(stream) {
    if (!state.streams.has(stream.name)) {
      state.streams.set(stream.name, { view: page.newView(), fleet: mixstreamFleet.none(), model: null, fitTime: null, shownFit: null,
        rates: { times: [], lines: [{ colour: "--accent", values: [], fill: true }] }, announced: new Set(stream.alarms.map(alarmKey)) });
    }
    const { rates, announced } = state.streams.get(stream.name);
    rates.times.push(Date.now() / 1000);
    rates.lines[0].values.push(stream.rows.per_second);
    if (rates.times.length > mostSeconds) [rates.times, rates.lines[0].values].forEach((list) => list.shift());
    for (const alarm of stream.alarms) {
      if (!announced.has(alarmKey(alarm)) && alarm.active) announce(`Alarm of ${stream.name}: ${alarm.words}`);
      announced.add(alarmKey(alarm));
    }
  }
  const alarmKey = (alarm) => `${alarm.time} ${alarm.row} ${alarm.kind}`;
  const current = () => state.daemon && known().find(({ name }) => name === state.shown);

  function choose() {
    const names = known().map(({ name }) => name);
    const next = names.includes(wanted()) ? wanted() : names.includes(state.shown) ? state.shown : names[0] ?? null;
    if (next === state.shown) return;
    state.shown = next;
    for (const memory of state.streams.values()) memory.shownFit = null;
    showModel();
  }

  // ---- Parts that stay: each is filled anew only where its words changed --------------------------------------

  const parts = {
    live: make("span", { class: "live" }),
    pause: make("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: pause }, "Pause"),
    streams: make("nav", { "aria-label": "Streams", class: "streams" }),
    banners: make("div", { class: "banners" }),
    title: make("h1"),
    subtitle: make("p", { class: "subtitle" }),
    verdict: make("div"),
    figures: make("dl", { class: "figures" }),
    alarms: make("section", { class: "alarms", "aria-label": "Alarms" }),
    fleet: make("div", { class: "fleet" }),
    model: make("div"),
    rate: make("div", { class: "plot", role: "img" }),
    counts: make("div", { class: "card" }),
    kept: make("p", { class: "soft small kept" }),
    announcements: make("div", { class: "unseen", role: "alert" }),
    refit: make("button", { type: "button", class: "quiet", onclick: refit }, "Fit now"),
    refitWords: make("span", { class: "soft small", role: "status" }),
  };

  // Fills a part if what it shows has changed; a reader's focus and selection live on where nothing did.
  function fill(node, key, build) {
    const text = JSON.stringify(key);
    if (node.shown === text) return;
    node.shown = text;
    keepPlace(node, () => node.replaceChildren(...[build()].flat().filter((child) => child !== null)));
  }

  // Replaces content without moving the page, the focus, or what was scrolled inside it.
  function keepPlace(node, replace) {
    const focusable = () => [...node.querySelectorAll("a, button, select, input, summary, [tabindex]")];
    const scrollable = () => [...node.querySelectorAll(".scroll")];
    const focus = focusable().indexOf(document.activeElement);
    const scrolled = scrollable().map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
    const held = node.offsetHeight;
    node.style.minHeight = `${held}px`;
    replace();
    node.style.minHeight = "";
    scrollable().forEach((area, i) => { if (scrolled[i]) [area.scrollLeft, area.scrollTop] = scrolled[i]; });
    if (focus >= 0 && focusable()[focus]) focusable()[focus].focus({ preventScroll: true });
  }

  function announce(words) {
    parts.announcements.append(make("p", {}, words));
    while (parts.announcements.children.length > 5) parts.announcements.firstChild.remove();
  }

  // ---- Words --------------------------------------------------------------------------------------------------

  const clock = (time) => new Date(time).toLocaleTimeString([], { hourCycle: "h23" });
  function when(time) {
    const date = new Date(time);
    const today = date.toDateString() === new Date(state.daemon.now).toDateString();
    return (today ? "" : date.toLocaleDateString([], { day: "numeric", month: "short" }) + " ") + clock(time);
  }
  // By the daemon's own clock, so that a wrong one here does not matter.
  function ago(time) {
    if (time === null) return "\u2013";
    const seconds = Math.max(0, (new Date(state.daemon.now) - new Date(time)) / 1000);
    if (seconds < 1.5) return "just now";
    if (seconds < 90) return `${Math.round(seconds)} s ago`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
    if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
    return `${Math.round(seconds / 86400)} days ago`;
  }
  const bytes = (count) => (count < 1e4 ? `${grouped(count)} B` : count < 1e7 ? `${grouped(count / 1e3)} kB` : `${grouped(count / 1e6)} MB`);
  const refusedTotal = ({ rows }) => Object.values(rows.refused).reduce((sum, count) => sum + count, 0);
  const activeAlarms = ({ alarms }) => alarms.filter(({ active }) => active);
  const kinds = { drift: "Drift", poor_fit: "Poor fit", gap: "Lost rows", disk: "Disk", source: "Source",
    model_drift: "A group drifts", model_departs: "A group departs from the fleet", model_silent: "A group is silent" };
  const kindName = (kind) => kinds[kind] || page.sentence(kind.replaceAll("_", " "));

  // ---- Showing ------------------------------------------------------------------------------------------------

  function showStatus() {
    showLive();
    if (!state.daemon) return fill(parts.banners, ["lost", state.lostSince], () => banners(null));
    const stream = current();
    showStreams();
    fill(parts.banners, [state.lostSince, state.daemon.health, state.daemon.ready, state.daemon.configuration, stream && [stream.health, stream.connected, stream.fit && [stream.fit.stale, stream.fit.stale_words]]],
      () => banners(stream));
    if (!stream) return showNoStream();
    fill(parts.title, stream.name, () => stream.name);
    fill(parts.figures, figuresOf(stream), () => figuresOf(stream).map(([name, value, note]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value, note ? make("small", {}, note) : null))));
    fill(parts.alarms, stream.alarms, () => alarmsOf(stream));
    if (!stream.fit) showWithoutFit(stream);
    showFleet(stream);
    showRows(stream);
    const alarms = state.daemon.streams.reduce((sum, one) => sum + activeAlarms(one).length, 0);
    document.title = `${alarms ? `\u26a0 ${alarms} \u00b7 ` : ""}${stream.name} \u00b7 mixstreamd`;
  }

  function showLive() {
    const [words, look] = state.lostSince ? ["No answer", "lost"] : state.paused ? ["Paused", "paused"] : ["Live", "on"];
    parts.live.className = `live ${look}`;
    fill(parts.live, words, () => words);
  }

  function showStreams() {
    const streams = known();
    const { total, from } = state.daemon;
    parts.streams.hidden = total < 2;
    const entries = streams.map((stream) => [stream.name, stream.name === state.shown, streamSign(stream)]);
    fill(parts.streams, [entries, total, from], () => [make("ul", {}, entries.map(([name, shown, [look, sign, words]]) =>
      make("li", {}, make("a", { href: `#stream=${encodeURIComponent(name)}`, "aria-current": shown ? "page" : null, class: look },
        make("span", { "aria-hidden": "true", class: "sign" }, sign), name, make("span", { class: "unseen" }, `, ${words}`))))), streamSteps(total, from)]);
  }
  function streamSteps(total, from) {
    if (total <= streamsAPage) return null;
    const last = Math.min(from + streamsAPage, total);
    const step = (words, to, possible) => make("button", { type: "button", class: "quiet", disabled: !possible, onclick: () => { state.from = to; wake(); } }, words);
    return make("p", { class: "steps" }, step("Earlier", Math.max(from - streamsAPage, 0), from > 0),
      make("span", { class: "soft small" }, ` ${grouped(from + 1)} to ${grouped(last)} of ${grouped(total)} streams `), step("Later", from + streamsAPage, last < total));
  }
  function showFleet(stream) {
    const { fleet } = state.streams.get(stream.name);
    if (!stream.fleet) return fill(parts.fleet, "none", () => []);
    fill(parts.fleet, [stream.fleet, fleet, state.daemon.now.slice(0, 18)], () => mixstreamFleet.show(stream.fleet, fleet, ago, (from) => stepFleet(stream, from)));
  }
  function streamSign(stream) {
    const alarms = activeAlarms(stream).length;
    if (alarms) return ["bad", "\u26a0", counted(alarms, "alarm")];
    if (!stream.health.ok || !stream.connected) return ["bad", "\u26a0", "not healthy"];
    if (!stream.fit) return ["waits", "\u2026", "no fit yet"];
    return (stream.fit.status === "ok" || stream.fit.status === "approximate") && !stream.fit.stale ? ["good", "\u2713", "fit accepted"] : ["bad", "\u26a0", "fit not accepted"];
  }

  const banner = (title, words) => make("div", { class: "banner", role: "status" }, make("strong", {}, title), make("p", {}, page.sentence(words)));
  function banners(stream) {
    const list = [];
    if (state.lostSince) {
      list.push(banner("No answer", `The daemon has not answered since ${clock(state.lostSince)}. ` +
        (state.daemon ? `What you see is from ${when(state.daemon.now)}.` : "Is it running?") + " This page goes on trying."));
    }
    if (!state.daemon) return list;
    const { health, ready, configuration } = state.daemon;
    if (!health.ok) list.push(banner("Daemon not healthy", health.words));
    if (!ready.ok) list.push(banner("Not ready", ready.words));
    if (!configuration.last_reload_ok) list.push(banner("Configuration refused", "The file on disk has a mistake; the old configuration is in force. The log says where."));
    if (stream && !stream.health.ok) list.push(banner("Stream not healthy", stream.health.words));
    else if (stream && !stream.connected) list.push(banner("Source not connected", "Rows will come when it is back."));
    if (stream && stream.fit && stream.fit.stale) list.push(banner("Stale laws", stream.fit.stale_words));
    return list;
  }

  function figuresOf(stream) {
    const { rows, fit, refits } = stream;
    const figures = [
      ["rows a second", rows.per_second >= 10 ? grouped(rows.per_second) : brief(rows.per_second), `last row ${ago(rows.last)}`],
      ["rows taken", grouped(rows.folded), `of ${grouped(rows.in)} that came`],
      ["refused rows", grouped(refusedTotal(stream)), `${grouped(rows.duplicate)} duplicate`],
      ["last fit", fit ? ago(fit.time) : "none yet", refits.running ? "another is running" : counted(refits.count, "fit") + " so far"],
    ];
    if (rows.gaps) figures.push(["lost before us", grouped(rows.gaps), "gaps in sequence numbers"]);
    return figures;
  }

  function alarmsOf(stream) {
    const active = activeAlarms(stream);
    const past = stream.alarms.filter(({ active: now }) => !now);
    const { view } = state.streams.get(stream.name);
    if (!stream.alarms.length) return [make("p", { class: "soft small" }, "No alarms.")];
    const list = [make("h2", {}, active.length ? counted(active.length, "alarm") : "No active alarm")];
    if (active.length) {
      list.push(make("ul", { class: "alarm-list" }, active.slice(0, 6).map((alarm) => make("li", {},
        make("div", {}, make("strong", {}, `\u26a0 ${kindName(alarm.kind)}`), make("span", { class: "soft small" }, ` ${when(alarm.time)}, at row ${grouped(alarm.row)}`)),
        make("p", {}, page.sentence(alarm.words))))));
    }
    const rest = [...active.slice(6), ...past];
    if (rest.length) {
      list.push(page.disclosure(view, "Earlier alarms", page.table("Earlier alarms", ["time", "at row", "kind", "words"], rest.map((alarm) =>
        [when(alarm.time), grouped(alarm.row), kindName(alarm.kind), make("td", { class: "words" }, page.sentence(alarm.words))]))));
    }
    return list;
  }

  function showRows(stream) {
    const { rows } = stream;
    const counts = [["taken into the moments", rows.folded], ["duplicate, dropped", rows.duplicate],
      ...Object.entries(rows.refused).map(([reason, count]) => [`refused: ${reason.replaceAll("_", " ")}`, count]),
      ["all that came", rows.in]];
    fill(parts.counts, counts, () => page.table("Rows since the state began", ["what became of them", "rows"], counts.map(([name, count]) => [name, grouped(count)])));
    const kept = `${bytes(stream.journal_bytes)} in the journal` + (stream.snapshot ? `; snapshot written ${ago(stream.snapshot)}.` : "; no snapshot yet.");
    fill(parts.kept, kept, () => kept);
    parts.rate.setAttribute("aria-label", `Rows a second of ${stream.name} since this page was opened; now ${brief(rows.per_second)}.`);
    const { rates } = state.streams.get(stream.name);
    if (ratePlot.name === stream.name) return ratePlot.entry.refresh();
    if (ratePlot.entry) ratePlot.entry.end();
    ratePlot = { name: stream.name, entry: mixstreamPlots.overTime(parts.rate, rates) };
  }
  let ratePlot = { name: null, entry: null };

  function showWithoutFit(stream) {
    fill(parts.subtitle, stream.source, () => stream.source);
    fill(parts.verdict, "waits", () => make("div", { class: "verdict waits", role: "status" }, make("strong", {}, "\u2026 No fit yet"),
      make("p", {}, stream.rows.folded ? `${counted(stream.rows.folded, "row")} so far; the first fit comes with more of them.` : `No row has come yet from ${stream.source}.`)));
    fill(parts.model, "none", () => []);
  }

  function showNoStream() {
    fill(parts.title, "none", () => "No streams");
    fill(parts.subtitle, "none", () => "Add a [[stream]] table to the daemon's configuration and reload it.");
    [parts.verdict, parts.figures, parts.alarms, parts.fleet, parts.model].forEach((part) => fill(part, "none", () => []));
    rows.hidden = true;
  }

  // Data, laws and history: drawn anew at each fit, with what the reader chose.
  function showModel() {
    const stream = current();
    if (!stream) return;
    const memory = state.streams.get(stream.name);
    if (!memory.model || memory.shownFit === memory.fitTime) return;
    memory.shownFit = memory.fitTime;
    const { model } = memory;
    model.events = stream.alarms.filter(({ kind }) => kind === "drift" || kind === "poor_fit");
    fill(parts.subtitle, [stream.source, model.report.features], () => [make("span", {}, page.formula(model.report)), make("span", { class: "from" }, stream.source)]);
    fill(parts.verdict, [model.report.status, model.report.words], () => page.verdictBox(model.report));
    mixstreamPlots.end(parts.model);
    parts.model.shown = null;
    const sections = page.sections(model, memory.view);
    keepPlace(parts.model, () => {
      parts.model.replaceChildren(...sections);
      sections.forEach((part) => part.start && part.start());
    });
  }

  // ---- What the reader does -----------------------------------------------------------------------------------

  function pause() {
    state.paused = !state.paused;
    parts.pause.setAttribute("aria-pressed", String(state.paused));
    showLive();
  }

  async function refit() {
    const tell = (words) => { parts.refitWords.textContent = words; };
    try {
      await ask(streamAddress(state.shown, "refit"), { method: "POST" });
      tell("Asked for; it will show here.");
    } catch (problem) {
      tell(page.sentence(problem.message));
    }
    setTimeout(() => tell(""), 6000);
  }

  // The daemon wants a token: ask the reader, keep it for this tab only.
  function askForToken() {
    const wrong = state.token !== null;
    const kept = inSession((storage) => storage.getItem(tokenKey));
    if (kept && kept !== state.token) {
      state.token = kept;
      return Promise.resolve();
    }
    return new Promise((done) => {
      const input = make("input", { type: "password", id: "token", autocomplete: "off", required: true });
      const form = make("form", { class: "card token", onsubmit: (event) => {
        event.preventDefault();
        state.token = input.value.trim();
        inSession((storage) => storage.setItem(tokenKey, state.token));
        form.remove();
        content.hidden = false;
        done();
      } }, make("h1", {}, "This daemon asks for its token"), make("p", { class: "soft" }, "It is in the file that token_file names in the daemon's configuration."),
      wrong ? make("p", { role: "alert" }, "That was not the token.") : null,
      make("label", { for: "token" }, "Token"), input, make("button", { type: "submit" }, "Open"));
      content.hidden = true;
      content.before(form);
      input.focus();
    });
  }

  const rows = page.section("Rows", "Every row that came is in this table once.",
    make("div", { class: "rows" }, make("div", { class: "card" }, make("h3", {}, "rows a second"), parts.rate), parts.counts), parts.kept);
  const content = make("main", {},
    parts.streams, parts.banners,
    make("div", { class: "title" }, make("div", {}, parts.title, parts.subtitle), make("div", { class: "actions" }, parts.refitWords, parts.refit)),
    parts.verdict, parts.figures, parts.alarms, parts.fleet, parts.model, rows);
  page.followTheme();
  root.className = "page";
  root.replaceChildren(make("header", {}, make("div", { class: "bar" }, page.brand(), make("div", { class: "tools" }, parts.live, parts.pause, page.themeSwitch()))),
    parts.announcements, content, page.foot("Served by mixstreamd on this machine; nothing is loaded from elsewhere."));
  page.setTheme(page.remembered());
  addEventListener("hashchange", async () => {
    if (!state.daemon) return;
    await take(state.daemon);
    showStatus();
  });
  run();
}
