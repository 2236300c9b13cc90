// The first events of the complete prefix of the unfolding, with their conditions.

import { h, svg, replace, count, plural, pressable } from "./dom.js";
import { post } from "./api.js";
import { attempt } from "./message.js";
import { encodePath } from "./path.js";
import { Canvas } from "./canvas.js";
import { reached } from "./graph.js";

const BOX = 24; // as in package unfolding
const COND = 18;

export class PrefixView {
  constructor(page) {
    this.page = page;
    this.stats = h("p", { class: "stats", id: "prefixstats" });
    this.detail = h("div", { class: "detail", id: "prefixdetail", tabindex: 0, role: "region", "aria-label": "the selected event" });
    this.canvas = new Canvas("prefixcanvas", "the prefix of the unfolding");
    this.el = h("section", { class: "graphing", id: "prefix" },
      h("div", { class: "toolbar" }, this.canvas.buttons), this.stats, legend(),
      h("div", { class: "graphbox" }, this.canvas.el, this.detail));
  }

  address() {
    return {};
  }

  async open() {
    if (this.p) return;
    replace(this.detail, h("p", { class: "note" }, "…"));
    this.p = await post("prefix", { initial: 0, steps: [] });
    const p = this.p;
    this.stats.textContent = (p.complete ? `The complete prefix: ${plural(p.events.length, "event")}` : `The first ${count(p.events.length)} events`) +
      `, ${count(p.events.filter((e) => e.cut).length)} of them cut-off, ${plural(p.conds.length, "condition")}.`;
    replace(this.detail, h("p", { class: "note" }, "Click an event, or choose one with Tab and Enter, to see what happened before it, and the state after that."));
    this.canvas.whole = [0, 0, p.width, p.height + 16];
    this.draw();
    this.canvas.open(0);
  }

  onKey(e) {
    return this.canvas.onKey(e);
  }

  draw() {
    const p = this.p;
    const past = this.selected === undefined ? null : new Set([this.selected, ...p.events[this.selected].history]);
    const parts = [svg("defs", {}, svg("marker", { id: "tipprefix", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tipgraphtaken" })))];
    p.columns.forEach((c, i) => {
      parts.push(svg("text", { class: "prefixhead", x: c.x, y: 26 }, c.name));
      if (i > 0) parts.push(svg("line", { class: "lifeline", x1: c.x - 23, x2: c.x - 23, y1: 10, y2: p.height }));
    });
    for (const a of p.arcs) {
      const bend = Math.max(12, Math.min(60, (a.y2 - a.y1) / 2));
      const d = a.kind === "make" ? `M${a.x1},${a.y1} L${a.x2},${a.y2}` : `M${a.x1},${a.y1} C${a.x1},${a.y1 + bend} ${a.x2},${a.y2 - bend} ${a.x2},${a.y2}`;
      parts.push(svg("path", { class: `arc ${a.kind}${past ? (past.has(a.event) ? " past" : " apart") : ""}`, d, "marker-end": a.kind === "take" || a.kind === "after" ? "url(#tipprefix)" : null }));
    }
    for (const c of p.conds) {
      parts.push(svg("g", { class: "cond" }, svg("title", {}, c.text),
        c.thread || !c.short ? svg("circle", { class: c.thread ? null : "kept", cx: c.x + c.w / 2, cy: c.y + COND / 2, r: c.thread ? COND / 2 - 1 : c.w / 2 - 1 })
          : [svg("rect", { x: c.x, y: c.y, width: c.w, height: COND, rx: COND / 2 }), svg("text", { x: c.x + 7, y: c.y + 13 }, c.short)]));
    }
    p.events.forEach((e, i) => {
      const cls = `event${e.violation ? " bad" : e.cut ? " cutoff" : ""}${past ? (past.has(i) ? (i === this.selected ? " selected" : " past") : " apart") : ""}`;
      parts.push(svg("g", { class: cls, "data-event": i, tabindex: 0, "aria-label": `${e.short} ${e.cut ?? ""} ${this.title(i)}`, "aria-pressed": String(i === this.selected), ...pressable((k) => this.pressed(k, i)) }, svg("title", {}, this.title(i)),
        svg("rect", { x: e.x, y: e.y, width: e.w, height: BOX, rx: 3 }), svg("text", { x: e.x + 8, y: e.y + 16 }, e.short),
        e.cut ? svg("text", { class: "cutnote", x: e.x + 2, y: e.y + BOX + 12 }, e.cut) : null));
    });
    replace(this.canvas.svg, parts);
  }

  // pressed selects an event. It is drawn anew, so the keyboard's focus goes to it again.
  pressed(e, i) {
    this.select(i);
    if (e.type === "keydown") this.canvas.svg.querySelector(`[data-event="${i}"]`)?.focus();
  }

  title(i) {
    const e = this.p.events[i];
    return `event ${i + 1}: ${this.p.columns[e.column].name}: ${e.line ? `${e.line}: ` : ""}${e.text}${e.cut ? `; cut-off, the state is ${e.cut}` : ""}${e.violation ? `; violation: ${e.violation}` : ""}`;
  }

  select(i) {
    this.selected = this.selected === i ? undefined : i;
    this.draw();
    if (this.selected === undefined) {
      replace(this.detail, h("p", { class: "note" }, "Click an event, or choose one with Tab and Enter, to see what happened before it, and the state after that."));
      return;
    }
    attempt(async () => {
      const path = this.p.paths[i];
      const doc = await post("play", path);
      if (this.selected !== i) return;
      const e = this.p.events[i];
      replace(this.detail,
        h("h2", {}, `Event ${i + 1} of ${this.p.columns[e.column].name}`),
        h("p", {}, h("code", {}, e.text)),
        e.violation ? h("p", { class: "bad" }, `✗ ${e.violation}`) : null,
        e.cut ? h("p", {}, `Cut-off: the state is ${e.cut}; nothing after it is explored.`) : null,
        h("button", { type: "button", id: "openevent", onclick: () => this.page.go({ view: "execution", path: encodePath(path), step: doc.rows.length }) }, "explore from here"),
        reached(doc));
    });
  }
}

function legend() {
  const item = (shape, text) => h("span", { class: "key" }, svg("svg", { viewBox: "0 0 34 20", width: 34, height: 20, "aria-hidden": "true" }, shape), text);
  return h("p", { class: "legend" },
    item(svg("g", { class: "event" }, svg("rect", { x: 2, y: 3, width: 30, height: 14, rx: 3 })), "event"),
    item(svg("g", { class: "event cutoff" }, svg("rect", { x: 2, y: 3, width: 30, height: 14, rx: 3 })), "cut-off"),
    item(svg("g", { class: "event bad" }, svg("rect", { x: 2, y: 3, width: 30, height: 14, rx: 3 })), "violation (✗)"),
    item(svg("g", { class: "cond" }, svg("circle", { cx: 17, cy: 10, r: 8 })), "where a thread is"),
    item(svg("g", { class: "cond" }, svg("rect", { x: 2, y: 2, width: 30, height: 16, rx: 8 })), "a location with its value"),
    item(svg("g", { class: "cond" }, svg("circle", { class: "kept", cx: 17, cy: 10, r: 4 })), "what a channel keeps"),
    item(svg("path", { class: "arc take", d: "M2,10 H32" }), "takes, makes"),
    item(svg("path", { class: "arc read", d: "M2,10 H32" }), "reads"),
    item(svg("path", { class: "arc after", d: "M2,10 H32" }), "after who has read"));
}
