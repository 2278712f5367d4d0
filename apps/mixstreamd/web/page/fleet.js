"use strict";
// The groups of a stream: who is in which mode, who departs from the fleet's laws, who is silent.
const mixstreamFleet = ((page) => {
  const { make, grouped, counted, lawName, mark, table, section } = page;
  const perPage = 25;

  const none = () => ({ from: 0, content: null });
  const address = ({ from }) => `models?from=${from}&count=${perPage}`;

  const size = (reading) => `${Number(reading.size.toPrecision(2))} sd`;
  const reading = (one) => (one ? `${size(one)} (${Math.max(0, Math.round(one.deviations))} σ)` : "\u2013");
  const status = ({ status: name }) => (name ? name.replaceAll("_", " ") : "not looked at yet");

  // What is wrong with a group, in words with a sign: colour alone says nothing.
  function troubles(group) {
    const words = [group.drifts && "drifts", group.departs && "departs", group.silent && "silent"].filter(Boolean);
    return words.length ? make("td", { class: "bad" }, `\u26a0 ${words.join(", ")}`) : make("td", { class: "good" }, group.status ? "\u2713" : "\u2026");
  }

  function tile(name, { count, names }) {
    const more = count > names.length ? ` and ${grouped(count - names.length)} more` : "";
    return make("div", { class: count ? "bad" : null }, make("dt", {}, name), make("dd", {}, (count ? "\u26a0 " : "") + grouped(count),
      count ? make("small", {}, names.slice(0, 6).join(", ") + (names.length > 6 ? ` and ${grouped(count - 6)} more` : more)) : null));
  }

  function modes(fleet) {
    const seen = fleet.in_mode.map((count, law) => [count, law]).filter(([count]) => count);
    if (!seen.length) return make("p", { class: "soft small" }, "No mode is known yet: the stream's own laws come first.");
    return make("ul", { class: "modes-now", "aria-label": "Groups by the law of their newest row" }, seen.map(([count, law]) =>
      make("li", {}, mark(law), make("strong", {}, lawName(law)), ` ${counted(count, "group")}`)));
  }

  function rowsOf(models, ago) {
    return models.map((group) => [group.name, troubles(group), grouped(group.rows), ago(group.last),
      make("td", {}, group.mode === null ? "\u2013" : [mark(group.mode), ` ${lawName(group.mode)}, ${Math.round(100 * group.mode_probability)} %`]),
      reading(group.departure), reading(group.drift), status(group)]);
  }

  // `step`: called with the first group of the page that is wanted.
  function steps({ from, total }, step) {
    if (total <= perPage) return null;
    const last = Math.min(from + perPage, total);
    const button = (words, to, possible) => make("button", { type: "button", class: "quiet", disabled: !possible, onclick: () => step(to) }, words);
    return make("p", { class: "steps" }, button("Earlier", Math.max(from - perPage, 0), from > 0),
      make("span", { class: "soft small" }, ` ${grouped(from + 1)} to ${grouped(last)} of ${grouped(total)} `), button("Later", from + perPage, last < total));
  }

  function show(fleet, { content }, ago, step) {
    const parts = [make("dl", { class: "figures" }, make("div", {}, make("dt", {}, "groups"), make("dd", {}, grouped(fleet.models), make("small", {}, `${grouped(fleet.grown)} of many rows`))),
      tile("depart from the fleet", fleet.departing), tile("drift", fleet.drifting), tile("silent", fleet.silent)), modes(fleet)];
    if (content) {
      parts.push(table("Groups by name", ["group", "", "rows", "last row", "mode now", "from the fleet's laws", "from its own laws", "its own fit"], rowsOf(content.models, ago)), steps(content, step));
    }
    return section("Fleet", "Each group has a model of its own. The table compares its newest rows with the fleet's laws and its own: how far the law that moved most is off, in noise sd, and how sure that is.", ...parts);
  }

  return { none, address, show };
})(mixstreamPage);
