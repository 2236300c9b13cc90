// The state graph of a small system, and over it what a reduction explores.

import { h, svg, replace, count, plural } from "./dom.js";
import { post } from "./api.js";
import { attempt } from "./message.js";
import { encodePath } from "./path.js";
import { Canvas } from "./canvas.js";

const DX = 30;
const DY = 54;

export class GraphView {
  constructor(page) {
    this.page = page;
    const { reductions, maxGraph } = page.info;
    this.por = h("select", { id: "por", onchange: () => this.page.go({ view: "graph", por: this.por.value }) },
      h("option", { value: "" }, "all states"), reductions.filter((r) => r !== "none").map((r) => h("option", { value: r }, `all, and over them ${r}`)));
    this.hide = h("input", { type: "checkbox", id: "hide", onchange: () => this.draw() });
    this.stats = h("p", { class: "stats", id: "stats" }, `Drawn up to ${count(maxGraph)} states.`);
    this.detail = h("div", { class: "detail", id: "detail" });
    this.drawing = new Canvas("canvas", "the state graph");
    this.canvas = this.drawing.svg;
    this.el = h("section", { class: "graphing", id: "graph" },
      h("div", { class: "toolbar" }, h("label", { for: "por" }, "draw"), this.por, h("label", {}, this.hide, " without what is left out"),
        this.drawing.buttons),
      this.stats, legend(),
      h("div", { class: "graphbox" }, this.canvas, this.detail));
  }

  address() {
    return this.g ? { por: this.g.reduction } : {};
  }

  async open(q) {
    const por = q.por ?? (this.page.info.reductions.includes("cartesian") ? "cartesian" : "");
    this.por.value = por;
    if (this.shown === por) return;
    replace(this.detail, h("p", { class: "note" }, "…"));
    this.g = await post("graph", { initial: 0, steps: [], reduction: por });
    this.shown = por;
    replace(this.detail, h("p", { class: "note" }, "Click a state to see how it is reached."));
    this.draw();
    this.drawing.whole = [(this.g.width + 1) * DX, this.g.height * DY];
    this.drawing.fit();
  }

  onKey(e) {
    return this.drawing.onKey(e);
  }

  at(n) {
    return [n.x * DX + DX, n.y * DY + DY / 2];
  }

  draw() {
    const g = this.g;
    if (!g) return;
    const reduced = g.reduction !== "";
    const kind = (n) => (!reduced || n.covered ? "covered" : n.passed ? "passed" : "left");
    const covered = g.nodes.filter((n) => n.covered).length;
    const passed = g.nodes.filter((n) => !n.covered && n.passed).length;
    const taken = g.edges.filter((e) => e.taken).length;
    const whole = g.complete ? "" : " (there are more: these are the first)";
    this.stats.textContent = reduced
      ? `${g.reduction} covers ${count(covered)} of ${plural(g.nodes.length, "state")}${whole}, comes through ${count(passed)} more, and takes ${count(taken)} of ${plural(g.edges.length, "transition")}.`
      : `${plural(g.nodes.length, "state")}${whole}, ${plural(g.edges.length, "transition")}.`;
    const hide = reduced && this.hide.checked;
    const parts = [svg("defs", {}, ["tipgraph", "tipgraphtaken"].map((id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: id }))))];
    const edges = [...g.edges].sort((a, b) => Number(a.taken) - Number(b.taken));
    for (const e of edges) {
      if (hide && !e.taken) continue;
      const [x1, y1] = this.at(g.nodes[e.from]), [x2, y2] = this.at(g.nodes[e.to]);
      const cls = !reduced || e.taken ? "edge taken" : "edge left";
      let d;
      if (e.from === e.to) d = `M${x1 + 5},${y1 - 4} C${x1 + 22},${y1 - 16} ${x1 + 22},${y1 + 16} ${x1 + 6},${y1 + 5}`;
      else {
        const len = Math.hypot(x2 - x1, y2 - y1) || 1;
        const ux = (x2 - x1) / len, uy = (y2 - y1) / len;
        const bend = y2 <= y1 ? 0.25 * len : 0;
        const mx = (x1 + x2) / 2 - uy * bend, my = (y1 + y2) / 2 + ux * bend;
        d = bend ? `M${x1},${y1} Q${mx},${my} ${x2 - ux * 7},${y2 - uy * 7}` : `M${x1 + ux * 6},${y1 + uy * 6} L${x2 - ux * 8},${y2 - uy * 8}`;
      }
      parts.push(svg("path", { class: `${cls} c${e.column % 6}`, d, "marker-end": `url(#${!reduced || e.taken ? "tipgraphtaken" : "tipgraph"})` }, svg("title", {}, `${g.columns[e.column]}: ${e.text}`)));
    }
    g.nodes.forEach((n, i) => {
      if (hide && kind(n) === "left") return;
      const [x, y] = this.at(n);
      const bad = n.violation || n.deadlock;
      const r = bad ? 8 : kind(n) === "left" ? 4 : 5.5;
      const title = svg("title", {}, [n.parent < 0 ? "initial state" : `state at depth ${n.y}`, n.violation, n.deadlock ? "deadlock" : n.end ? "end" : "", reduced ? { covered: "covered", passed: "passed through", left: "left out" }[kind(n)] : ""].filter(Boolean).join("; "));
      const attrs = { class: `node ${kind(n)}${bad ? " bad" : ""}${n.parent < 0 ? " initial" : ""}${this.selected === i ? " selected" : ""}`, "data-node": i, onclick: () => this.select(i) };
      if (n.parent < 0) parts.push(svg("circle", { class: "ring", cx: x, cy: y, r: 9 }));
      if (n.deadlock) parts.push(svg("rect", { ...attrs, x: x - 7, y: y - 7, width: 14, height: 14 }, title));
      else if (n.violation) parts.push(svg("path", { ...attrs, d: `M${x},${y - 9} L${x + 9},${y + 7} L${x - 9},${y + 7} z` }, title));
      else parts.push(svg("circle", { ...attrs, cx: x, cy: y, r }, title));
      if (n.end && !bad) parts.push(svg("circle", { class: "dot", cx: x, cy: y, r: 2 }));
    });
    replace(this.canvas, parts);
  }

  // path returns the way to a state.
  path(i) {
    const steps = [];
    const { nodes } = this.g;
    const initial = nodes[i].first;
    for (; nodes[i].parent >= 0; i = nodes[i].parent) steps.push(nodes[i].step);
    return { initial, steps: steps.reverse() };
  }

  select(i) {
    const old = this.canvas.querySelector(".selected");
    old?.classList.remove("selected");
    this.selected = i;
    this.canvas.querySelector(`[data-node="${i}"]`)?.classList.add("selected");
    const n = this.g.nodes[i];
    const p = this.path(i);
    attempt(async () => {
      const doc = await post("play", p);
      replace(this.detail,
        h("h2", {}, n.parent < 0 ? "Initial state" : `A state at depth ${n.y}`),
        n.violation ? h("p", { class: "bad" }, `✗ ${n.violation}`) : null,
        n.deadlock ? h("p", { class: "bad" }, "✗ deadlock") : n.end ? h("p", {}, "All threads have ended, or may wait here.") : null,
        h("button", { type: "button", id: "opennode", onclick: () => this.page.go({ view: "execution", path: encodePath(p), step: p.steps.length }) }, "explore from here"),
        reached(doc));
    });
  }
}

// reached returns the values at the end of an execution, and its steps.
export function reached(doc) {
  const now = doc.vars.map((v) => v.value);
  for (const r of doc.rows) for (const s of r.set) now[s.var] = s.value;
  return [
    h("table", { class: "vars" }, h("tbody", {}, doc.vars.map((v, k) => now[k] === "" ? null : h("tr", {}, h("td", { class: "name" }, v.group === "shared" ? v.name : `${v.group}.${v.name}`), h("td", { class: "value" }, now[k]))))),
    h("ol", { class: "way" }, doc.rows.map((r) => h("li", {}, `${doc.columns[r.column]}: ${r.text}`))),
  ];
}

function legend() {
  const item = (shape, text) => h("span", { class: "key" }, svg("svg", { viewBox: "0 0 20 20", width: 20, height: 20 }, shape), text);
  return h("p", { class: "legend" },
    item([svg("circle", { class: "ring", cx: 10, cy: 10, r: 8 }), svg("circle", { class: "node covered", cx: 10, cy: 10, r: 5 })], "initial"),
    item(svg("circle", { class: "node covered", cx: 10, cy: 10, r: 5.5 }), "covered"),
    item(svg("circle", { class: "node passed", cx: 10, cy: 10, r: 5 }), "passed through"),
    item(svg("circle", { class: "node left", cx: 10, cy: 10, r: 4 }), "left out"),
    item(svg("rect", { class: "node bad", x: 4, y: 4, width: 12, height: 12 }), "deadlock"),
    item(svg("path", { class: "node bad", d: "M10,3 L17,16 L3,16 z" }), "violation"));
}
