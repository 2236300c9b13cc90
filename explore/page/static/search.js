// A search: choose one, watch it, stop it, look at what it found.

import { h, svg, replace, count, short, size, plural } from "./dom.js";
import { get, post } from "./api.js";
import { attempt } from "./message.js";
import { decodePath } from "./path.js";

// words splits flags as a shell does, with quotes.
export function words(text) {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map((m) => m[0].replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

const CHARTED = 1; // the seconds after which a search has charts

const charts = [
  { name: "states", title: "states", of: (s) => s.states, show: short, counted: "states" },
  { name: "executions", title: "executions", of: (s) => s.executions, show: short, counted: "executions" },
  { name: "transitions", title: "transitions", of: (s) => s.transitions, show: short, counted: "transitions" },
  { name: "rate", title: "states a second", of: (s, before) => rate(s.states, before?.states, s, before), show: short, counted: "states" },
  { name: "queued", title: "work set", of: (s) => s.queued, show: short, counted: "states" },
  { name: "depth", title: "depth", of: (s) => s.depth, show: count, counted: "depth" },
  { name: "memory", title: "memory", of: (s) => s.memory, show: size },
];

function rate(now, then, s, before) {
  const d = s.seconds - (before?.seconds ?? 0);
  return d > 0 ? Math.max(0, now - (then ?? 0)) / d : 0;
}

export class SearchView {
  constructor(page) {
    this.page = page;
    const { searches } = page.info;
    this.kind = h("select", { id: "kind", onchange: () => this.describe() }, searches.map((s, i) => h("option", { value: i }, s.name)));
    this.flags = h("input", { type: "text", id: "flags", placeholder: "-max-states 1000000 -all -checkpoint DIR", spellcheck: "false" });
    this.here = h("input", { type: "checkbox", id: "here" });
    this.hereLabel = h("label", { class: "here" }, this.here, h("span", {}));
    this.summary = h("p", { class: "note" });
    this.start = h("button", { type: "submit", id: "start", class: "primary" }, "start");
    this.stop = h("button", { type: "button", id: "stop", onclick: () => attempt(() => post("stop", {})) }, "stop");
    this.status = h("div", { class: "status", id: "status", role: "status" });
    this.found = h("div", { class: "result", id: "found" });
    this.charts = h("div", { class: "charts" });
    this.result = h("div", { class: "result", id: "result" });
    this.covered = h("div", { class: "covered", id: "covered", hidden: true, tabindex: 0, role: "region", "aria-label": "how often each line was executed" });
    this.el = h("section", { class: "searching", id: "search" },
      h("form", { class: "panel form", onsubmit: (e) => { e.preventDefault(); this.begin(); } },
        h("label", { for: "kind" }, "search"), this.kind, this.summary,
        h("label", { for: "flags" }, "further flags, as of cpor run"), this.flags, this.hereLabel,
        h("div", { class: "buttons" }, this.start, this.stop)),
      h("div", { class: "panel" }, this.status, this.found, this.charts, this.result), this.covered);
    this.describe();
  }

  describe() {
    this.summary.textContent = this.page.info.searches[this.kind.value].summary;
  }

  address() {
    return this.path ? { path: this.pathText } : {};
  }

  async open(q) {
    this.pathText = q.path;
    this.path = q.path ? decodePath(q.path) : null;
    this.hereLabel.hidden = !this.path;
    this.here.checked = Boolean(this.path);
    this.hereLabel.lastChild.textContent = this.path ? ` from the state after ${plural(this.path.steps.length, "step")}, not from the beginning` : "";
    this.watch();
  }

  begin() {
    attempt(async () => {
      const kind = this.page.info.searches[this.kind.value];
      const here = Boolean(this.path && this.here.checked);
      await post("search", { ...(this.path ?? { initial: 0, steps: [] }), here, flags: [...kind.flags, ...words(this.flags.value)] });
      this.page.searches = (this.page.searches ?? 0) + 1;
      this.watch();
    });
  }

  // watch asks how the search gets on until it has ended.
  async watch() {
    clearTimeout(this.timer);
    const s = await attempt(() => get("search"));
    this.draw(s);
    await this.cover(s);
    if (s?.running && !this.el.hidden) this.timer = setTimeout(() => this.watch(), 250);
  }

  // cover shows how often each line was executed, so far.
  async cover(s) {
    const c = s ? await attempt(() => get("coverage")) : null;
    this.covered.hidden = !c?.means;
    if (!c?.means) return;
    const most = Math.max(1, ...c.files.flatMap((f) => f.lines.map((l) => l.n)));
    replace(this.covered, h("h2", {}, `Executed: ${count(c.executed)} of ${plural(c.lines, "line")}`),
      h("p", { class: "note" }, `A count says how often ${c.means}${s.running ? ", so far" : ""}.`),
      c.files.map((f) => {
        const counts = new Map(f.lines.map((l) => [l.line, l.n]));
        return h("div", {}, h("h3", {}, f.name), h("div", { class: "counted", role: "table" }, f.text.replace(/\n$/, "").split("\n").map((text, i) => {
          const n = counts.get(i + 1);
          const heat = n === undefined ? "" : n === 0 ? "never" : `h${Math.min(4, Math.floor((Math.log10(n) / Math.max(1, Math.log10(most))) * 4.999))}`;
          return h("div", { class: `countline ${heat}`, role: "row" }, h("span", { class: "count", role: "cell" }, n === undefined ? "" : n === 0 ? "never" : short(n)), h("span", { class: "num", role: "cell" }, i + 1), h("code", { role: "cell" }, text));
        })));
      }));
  }

  draw(s) {
    this.stop.disabled = !s?.running;
    this.start.disabled = Boolean(s?.running);
    if (!s) {
      replace(this.status, h("p", { class: "note" }, "No search has been started: choose one and press ", h("b", {}, "start"), " (or Enter in the field for flags)."));
      replace(this.found);
      replace(this.charts);
      replace(this.result);
      return;
    }
    const last = s.samples.at(-1);
    const verdicts = { pass: "✓ no violation; everything was covered", violation: "✗ violation found", incomplete: `… incomplete: ${s.reason}; no violation so far`, error: s.error };
    let text = s.running ? `searching: ${s.name}` : `${s.name}: ${verdicts[s.verdict]}`;
    if (!s.running && s.verdict === "pass" && s.from) text = `${s.name}: ✓ no violation from this state on; everything was covered`;
    replace(this.status, h("p", { class: `verdict ${s.running ? "running" : s.verdict}` }, text),
      s.from ? h("p", { class: "note" }, `It began in the state after ${plural(s.from.steps.length, "step")}.`) : null);
    replace(this.found, s.found.length ? [h("h2", {}, "Found"), s.found.map((t, i) => h("button", { type: "button", class: "found", onclick: () => this.page.go({ view: "execution", found: i }) }, `✗ ${t}`))] : null);
    // Of a search that ends at once there is nothing to see in a chart.
    replace(this.charts, (last?.seconds ?? 0) < CHARTED ? [] : charts.filter((c) => !c.counted || s.counts.includes(c.counted)).map((c) => chart(c, s.samples)));
    replace(this.result,
      s.figures.length ? h("dl", { class: "figures" }, s.figures.flatMap((f) => [h("dt", {}, f.label), h("dd", {}, f.text)])) : null,
      last && s.running ? h("p", { class: "note", id: "forecast" }, `${last.seconds.toFixed(1)} s${s.forecast ? `, ${s.forecast}` : ""}`) : null);
  }
}

// chart draws one figure over time.
function chart(c, samples) {
  const W = 260, H = 92, top = 16, bottom = 14;
  const points = samples.map((s, i) => [s.seconds, c.of(s, samples[i - 1])]);
  // The last report of a search that has ended has no work set and no rate of its own.
  const now = points.at(-1)?.[1] ?? 0;
  const t = Math.max(points.at(-1)?.[0] ?? 0, 1e-6);
  const most = Math.max(1, ...points.map((p) => p[1]));
  const x = (s) => (s / t) * W;
  const y = (v) => top + (1 - v / most) * (H - top - bottom);
  let d = points.length ? `M0,${y(c.name === "memory" || c.name === "rate" ? points[0][1] : 0)}` : "";
  for (const [s, v] of points) d += ` L${x(s).toFixed(1)},${y(v).toFixed(1)}`;
  return h("figure", { class: "chart", "data-chart": c.name },
    h("figcaption", {}, h("span", {}, c.title), h("b", {}, c.show(now))),
    svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${c.title} over time, now ${c.show(now)}` },
      svg("line", { class: "axis", x1: 0, x2: W, y1: H - bottom, y2: H - bottom }),
      points.length > 1 ? svg("path", { class: "area", d: `${d} L${W},${H - bottom} L0,${H - bottom} z` }) : null,
      svg("path", { class: "curve", d }),
      svg("text", { class: "tick", x: 0, y: H - 3 }, "0 s"), svg("text", { class: "tick end", x: W, y: H - 3 }, t < 0.1 ? `${(t * 1000).toFixed(1)} ms` : `${t < 10 ? t.toFixed(1) : Math.round(t)} s`),
      svg("text", { class: "tick", x: 0, y: top - 5 }, c.show(most))));
}
