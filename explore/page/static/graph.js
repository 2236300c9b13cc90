// The state graph of a small system, and over it what a reduction explores: as a picture, or as a
// list.

import { h, svg, replace, count, plural, pressable } from "./dom.js";
import { post } from "./api.js";
import { attempt } from "./message.js";
import { encodePath } from "./path.js";
import { field, nextHit } from "./find.js";
import { Canvas } from "./canvas.js";
import { arrange, widest } from "./graphlayout.js";

// A picture of more marks side by side, or of more lines, shows little.
const READABLE = 60;
const LINES = 2500;

const LISTED = 200; // states at a time

const KINDS = { covered: "covered", passed: "passed through", left: "left out" };

export class GraphView {
  constructor(page) {
    this.page = page;
    const { reductions, maxGraph } = page.info;
    const draw = () => this.draw();
    this.por = h("select", { id: "por", onchange: () => this.page.go({ view: "graph", por: this.por.value }) },
      h("option", { value: "" }, "all states"), reductions.filter((r) => r !== "none").map((r) => h("option", { value: r }, `all, and over them ${r}`)));
    this.hide = h("input", { type: "checkbox", id: "hide", onchange: () => { draw(); this.drawing.open(0); } });
    this.by = h("select", { id: "by", onchange: () => { draw(); this.drawing.open(0); } });
    this.collapse = h("input", { type: "checkbox", id: "collapse", checked: true, onchange: () => { this.opened.clear(); draw(); this.drawing.open(0); } });
    this.form = h("select", { id: "form", "aria-label": "picture or list", onchange: draw }, h("option", { value: "picture" }, "picture"), h("option", { value: "list" }, "list"));
    this.toBad = h("button", { type: "button", id: "tobad", title: "show the path to a violation (!)", onclick: () => this.nextBad() });
    this.find = field("find", "x = 1, at 20  ( / )", "find states: values or statements, separated by commas", (direction) => this.search(direction), () => this.canvas.focus());
    this.hits = h("span", { class: "hits", role: "status", id: "findhits" });
    this.stats = h("p", { class: "stats", id: "stats" }, `Drawn up to ${count(maxGraph)} states.`);
    this.advice = h("p", { class: "stats advice", id: "advice", hidden: true });
    this.detail = h("div", { class: "detail", id: "detail", tabindex: 0, role: "region", "aria-label": "the selected state" });
    this.drawing = new Canvas("canvas", "the state graph");
    this.canvas = this.drawing.svg;
    this.list = h("div", { class: "statelist", id: "list", tabindex: 0, role: "region", "aria-label": "states", hidden: true });
    this.legend = h("p", { class: "legend" });
    this.el = h("section", { class: "graphing", id: "graph" },
      h("div", { class: "toolbar" }, this.form, h("label", { for: "por" }, "of"), this.por, h("label", {}, this.hide, " without what is left out"),
        h("label", { for: "by" }, "cluster by"), this.by, h("label", {}, this.collapse, " collapse wide layers"),
        this.drawing.buttons, this.toBad, this.find, this.hits),
      this.stats, this.advice, this.legend,
      h("div", { class: "graphbox" }, h("div", { class: "graphmain" }, this.canvas, this.list), this.detail));
    this.opened = new Set();
    this.found = [];
    this.badIndex = -1;
    this.most = LISTED;
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
    this.selected = undefined;
    this.badIndex = -1;
    this.opened.clear();
    this.load();
    this.draw();
    this.drawing.open(0);
    replace(this.detail, h("p", { class: "note" }, "Click a state, or press s to select the initial one, to see how it is reached and what comes next."));
  }

  load() {
    const { g } = this;
    this.out = g.nodes.map(() => []);
    this.into = g.nodes.map(() => []);
    for (const e of g.edges) {
      this.out[e.from].push(e);
      this.into[e.to].push(e);
    }
    this.bad = g.nodes.flatMap((n, i) => (n.violation || n.deadlock ? [i] : [])).sort((a, b) => g.nodes[a].y - g.nodes[b].y);
    this.toBad.hidden = !this.bad.length;
    this.path = this.bad.length ? this.way(this.bad[0]) : [];
    const by = this.by.value;
    const vars = g.vars.map((v, i) => [v, i]).filter(([v]) => v.values.length > 1);
    replace(this.by, h("option", { value: -1 }, "nothing"), vars.map(([v, i]) => h("option", { value: i }, `${v.name} (${plural(v.values.length, "value")})`)));
    this.by.value = vars.some(([, i]) => String(i) === by) ? by : -1;
    this.texts = g.nodes.map((n) => n.values.map((v, i) => (v < 0 ? "" : `${g.vars[i].name} = ${g.vars[i].values[v]}`)));
    this.search(0);
  }

  // way returns the nodes on a shortest path to a node.
  way(i) {
    const list = [];
    for (; i >= 0; i = this.g.nodes[i].parent) list.push(i);
    return list.reverse();
  }

  onKey(e) {
    if (["INPUT", "SELECT"].includes(e.target.tagName) || !this.g) return false;
    switch (e.key) {
      case "/": this.find.focus(); this.find.select(); return true;
      case "n": this.search(1); return true;
      case "N": this.search(-1); return true;
      case "!": this.nextBad(); return true;
      case "s": this.select(0); return true;
      case "l":
        this.form.value = this.form.value === "list" ? "picture" : "list";
        this.draw();
        return true;
    }
    return this.form.value === "picture" && this.drawing.onKey(e);
  }

  // search finds the states with all of the texts, and selects the next (1) or the one before (-1).
  search(direction) {
    const terms = this.find.value.toLowerCase().split(",").map((t) => t.trim().replace(/\s*==?\s*/, " = ").replace(/\bat (\d+)$/, "at = $1:")).filter(Boolean);
    const has = (text, term) => (/\bat = \d+:$/.test(term) ? text.includes(term) : term.includes(" = ") ? text === term || text.startsWith(`${term} `) : text.includes(term));
    this.found = terms.length ? this.g.nodes.flatMap((n, i) => {
      const texts = this.texts[i].map((t) => t.toLowerCase());
      if (n.violation) texts.push(n.violation.toLowerCase());
      if (n.deadlock) texts.push("deadlock");
      return terms.every((term) => texts.some((t) => has(t, term))) ? [i] : [];
    }) : [];
    this.hits.textContent = terms.length ? plural(this.found.length, "state") : "";
    if (direction && this.found.length) this.select(nextHit(this.found, this.selected ?? -1, direction));
    if (this.shown !== undefined) this.draw();
  }

  nextBad() {
    if (!this.bad.length) return;
    this.badIndex = (this.badIndex + 1) % this.bad.length;
    const i = this.bad[this.badIndex];
    this.path = this.way(i);
    this.draw();
    this.select(i);
  }

  draw() {
    const g = this.g;
    if (!g) return;
    const reduced = g.reduction !== "";
    const kind = (n) => (!reduced || n.covered ? "covered" : n.passed ? "passed" : "left");
    const hide = reduced && this.hide.checked;
    this.tell(reduced);
    this.hide.parentElement.hidden = !reduced;
    this.toBad.textContent = this.badIndex < 0 || this.bad.length < 2 ? "➜ violation" : `➜ violation ${this.badIndex + 1} of ${this.bad.length}`;
    const a = (this.arranged = arrange(g, {
      skip: (n) => hide && kind(n) === "left", skipEdge: (e) => hide && !e.taken, by: Number(this.by.value),
      collapse: this.collapse.checked, opened: this.opened, path: this.path,
    }));
    this.collapse.disabled = Number(this.by.value) >= 0;
    this.advise(a);
    const list = this.form.value === "list";
    this.canvas.toggleAttribute("hidden", list);
    this.list.hidden = !list;
    this.legend.hidden = list;
    replace(this.legend, legend(reduced, this.bad.length > 0));
    this.drawing.buttons.hidden = list;
    if (list) {
      this.drawList(kind);
      return;
    }
    this.drawing.whole = [a.left, 0, a.width, a.height];
    this.picture(a, reduced, kind);
  }

  tell(reduced) {
    const { g } = this;
    const covered = g.nodes.filter((n) => n.covered).length;
    const passed = g.nodes.filter((n) => !n.covered && n.passed).length;
    const taken = g.edges.filter((e) => e.taken).length;
    const whole = g.complete ? "" : " (there are more: these are the first)";
    this.stats.textContent = reduced
      ? `${g.reduction} covers ${count(covered)} of ${plural(g.nodes.length, "state")}${whole}, comes through ${count(passed)} more, and takes ${count(taken)} of ${plural(g.edges.length, "transition")}.`
      : `${plural(g.nodes.length, "state")}${whole}, ${plural(g.edges.length, "transition")}.`;
  }

  // advise says that a picture cannot help, and what can.
  advise(a) {
    const wide = widest(a.items);
    const bad = this.form.value === "picture" && (wide > READABLE || a.edges.length > LINES);
    this.advice.hidden = !bad;
    if (!bad) return;
    const button = (id, text, f) => h("button", { type: "button", id, onclick: f }, text);
    const clustered = Number(this.by.value) >= 0;
    replace(this.advice, `A picture with ${plural(wide, "mark")} side by side and ${plural(a.edges.length, "line")} shows little. `,
      clustered || this.collapse.checked ? "Choose a variable with few values to cluster by, search for states, or see the " : ["Search for states, choose a variable to cluster by, ", button("docollapse", "collapse wide layers", () => this.collapse.click()), " or see the "],
      button("tolist", "list (l)", () => { this.form.value = "list"; this.draw(); }), ".");
  }

  picture(a, reduced, kind) {
    const { g } = this;
    const tips = ["tipgraph", "tipgraphtaken", "tipgraphbad"];
    const parts = [svg("defs", {}, tips.map((id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: id === "tipgraphbad" ? 3 : 5, markerHeight: id === "tipgraphbad" ? 3 : 5, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: id }))))];
    const onPath = new Set(this.path.slice(1).map((n, k) => `${a.itemOf[this.path[k]]} ${a.itemOf[n]}`));
    const rank = (e) => (onPath.has(`${e.from} ${e.to}`) ? 2 : e.taken ? 1 : 0);
    for (const e of [...a.edges].sort((x, y) => rank(x) - rank(y))) {
      const red = rank(e) === 2;
      const cls = red ? "edge path" : !reduced || e.taken ? "edge taken" : "edge left";
      const tip = tips[red ? 2 : !reduced || e.taken ? 1 : 0];
      parts.push(svg("path", { class: cls, d: line(a.items[e.from], a.items[e.to]), "marker-end": `url(#${tip})`, "stroke-width": e.n > 1 ? Math.min(5, 1.2 + Math.log2(e.n) / 2) : null }, svg("title", {}, e.n > 1 ? plural(e.n, "transition") : e.text)));
    }
    const found = new Set(this.found);
    a.items.forEach((it) => parts.push(it.key ? this.group(it, found) : this.mark(g.nodes[it.nodes[0]], it, kind, reduced, found)));
    for (const key of this.opened) {
      const at = a.items.find((it) => `layer ${it.layer}` === key);
      if (at && Number(this.by.value) < 0) parts.push(this.label(a.left + 6, at.y, `− layer ${at.layer}`, () => { this.opened.delete(key); this.draw(); }));
    }
    replace(this.canvas, parts);
  }

  // pressed makes an element of the picture a button for the pointer and the keyboard.
  pressed(label, f) {
    return { tabindex: -1, "aria-label": label, ...pressable(f) };
  }

  label(x, y, text, f) {
    return svg("text", { class: "layerlabel", x, y: y + 4, ...this.pressed(text, f) }, text);
  }

  mark(n, it, kind, reduced, found) {
    const { x, y } = it;
    const i = it.nodes[0];
    const bad = n.violation || n.deadlock;
    const r = bad ? 8 : kind(n) === "left" ? 4.5 : 6;
    const title = [n.parent < 0 ? "initial state" : `state at depth ${n.y}`, n.violation, n.deadlock ? "deadlock" : n.end ? "end" : "", reduced ? KINDS[kind(n)] : ""].filter(Boolean).join("; ");
    const attrs = { class: `node ${kind(n)}${bad ? " bad" : ""}${n.parent < 0 ? " initial" : ""}${this.selected === i ? " selected" : ""}`, "data-node": i, ...this.pressed(title, () => this.select(i)) };
    const tip = svg("title", {}, title);
    return svg("g", {},
      found.has(i) ? svg("circle", { class: "foundring", cx: x, cy: y, r: 13 }) : null,
      n.parent < 0 ? svg("circle", { class: "ring", cx: x, cy: y, r: 10 }) : null,
      n.deadlock ? svg("rect", { ...attrs, x: x - 7, y: y - 7, width: 14, height: 14 }, tip)
        : n.violation ? svg("path", { ...attrs, d: `M${x},${y - 9} L${x + 9},${y + 7} L${x - 9},${y + 7} z` }, tip)
          : svg("circle", { ...attrs, cx: x, cy: y, r }, tip),
      n.end && !bad ? svg("circle", { class: "dot", cx: x, cy: y, r: 2 }) : null);
  }

  group(it, found) {
    const { g } = this;
    const bad = it.nodes.filter((i) => g.nodes[i].violation || g.nodes[i].deadlock).length;
    const here = it.nodes.filter((i) => found.has(i)).length;
    const layer = it.key.startsWith("layer");
    const cls = `many${bad ? " bad" : ""}${here ? " found" : ""}${it.nodes.includes(this.selected) ? " selected" : ""}`;
    const text = `${layer ? "+ " : ""}${it.label}`;
    const title = [layer ? `${it.label} in layer ${it.layer}: click to open` : `${g.vars[this.by.value].name} = ${it.title}: ${plural(it.nodes.length, "state")}; click to list them`, bad ? plural(bad, "violation") : "", here ? `${here} found` : ""].filter(Boolean).join("; ");
    const go = layer ? () => { this.opened.add(it.key); this.draw(); } : () => this.listOf(it);
    return svg("g", { class: cls, "data-group": it.key, ...this.pressed(title, go) }, svg("title", {}, title),
      svg("rect", { x: it.x - it.w / 2, y: it.y - 12, width: it.w, height: 24, rx: 12 }), svg("text", { x: it.x, y: it.y + 4 }, text));
  }

  // listOf lists the states of a cluster.
  listOf(it) {
    this.find.value = `${this.g.vars[this.by.value].name} = ${it.title}`;
    this.form.value = "list";
    this.search(0);
  }

  drawList(kind) {
    const { g } = this;
    const filtered = this.find.value.trim() !== "";
    const hide = g.reduction !== "" && this.hide.checked;
    const all = (filtered ? this.found : g.nodes.map((_, i) => i)).filter((i) => !hide || kind(g.nodes[i]) !== "left");
    if (!all.length) {
      replace(this.list, h("p", { class: "note" }, "No state has that: clear the field, or write a value such as x = 1."));
      return;
    }
    const onPath = new Set(this.path);
    const row = (i) => {
      const n = g.nodes[i];
      const via = n.parent < 0 ? "initial state" : this.stepTo(i);
      const bad = n.violation || (n.deadlock ? "deadlock" : "");
      return h("tr", { class: `${onPath.has(i) ? "onpath" : ""}${this.selected === i ? " chosen" : ""}` },
        h("td", {}, h("button", { type: "button", "data-state": i, onclick: () => this.select(i) }, i + 1)),
        h("td", { class: "number" }, n.y), h("td", {}, h("code", {}, via)),
        h("td", {}, h("code", {}, this.difference(i))),
        h("td", { class: bad ? "bad" : "" }, bad ? `✗ ${bad}` : n.end ? "end" : g.reduction ? KINDS[kind(n)] : ""));
    };
    replace(this.list,
      h("p", { class: "note" }, `${plural(all.length, "state")}${filtered ? " found" : ""}${onPath.size ? "; those on the path to the violation are marked" : ""}.`),
      h("table", {}, h("thead", {}, h("tr", {}, ["state", "depth", "reached by", "what that changed", ""].map((t) => (t ? h("th", { scope: "col" }, t) : h("td", {}))))),
        h("tbody", {}, all.slice(0, this.most).map(row))),
      all.length > this.most ? h("button", { type: "button", id: "morestates", onclick: () => { this.most += 5 * LISTED; this.draw(); } }, `${count(all.length - this.most)} more`) : null);
  }

  stepTo(i) {
    const e = this.into[i].find((x) => x.from === this.g.nodes[i].parent);
    return e ? `${this.g.columns[e.column]}: ${e.text}` : "";
  }

  // difference says what is different from the state before.
  difference(i) {
    const { g } = this;
    const n = g.nodes[i];
    const before = n.parent < 0 ? [] : g.nodes[n.parent].values;
    return n.values.map((v, k) => (v >= 0 && v !== before[k] && (n.parent < 0 || !g.vars[k].name.endsWith(" at")) ? `${g.vars[k].name} = ${g.vars[k].values[v]}` : "")).filter(Boolean).join(", ");
  }

  // pathTo returns the way to a state as steps.
  pathTo(i) {
    const { nodes } = this.g;
    return { initial: nodes[i].first, steps: this.way(i).slice(1).map((k) => nodes[k].step) };
  }

  select(i) {
    this.selected = i;
    const it = this.arranged.items[this.arranged.itemOf[i]];
    if (it?.key?.startsWith("layer")) this.opened.add(it.key);
    this.draw();
    const at = this.arranged.items[this.arranged.itemOf[i]];
    if (at && this.form.value === "picture") this.drawing.show(at.x, at.y);
    const n = this.g.nodes[i];
    const p = this.pathTo(i);
    attempt(async () => {
      const doc = await post("play", p);
      if (this.selected !== i) return;
      const edge = (e, to, f) => h("li", {}, h("button", { type: "button", class: "next", onclick: () => f(to) }, `${this.g.columns[e.column]}: ${e.text}`, to === i ? " (back here)" : ` → ${to + 1}`));
      const go = (to) => { this.select(to); this.detail.focus(); };
      const before = this.into[i].filter((e) => e.from !== i);
      replace(this.detail,
        h("h2", {}, n.parent < 0 ? `State ${i + 1}: initial` : `State ${i + 1}, at depth ${n.y}`),
        n.violation ? h("p", { class: "bad" }, `✗ ${n.violation}`) : null,
        n.deadlock ? h("p", { class: "bad" }, "✗ deadlock") : n.end ? h("p", {}, "All threads have ended, or may wait here.") : null,
        h("button", { type: "button", id: "opennode", onclick: () => this.page.go({ view: "execution", path: encodePath(p), step: p.steps.length }) }, "explore from here"),
        this.out[i].length ? [h("h3", {}, "Next"), h("ul", { class: "nexts", id: "nexts" }, this.out[i].map((e) => edge(e, e.to, go)))] : null,
        before.length ? h("details", {}, h("summary", {}, `from ${plural(before.length, "transition")}`), h("ul", { class: "nexts" }, before.map((e) => h("li", {}, h("button", { type: "button", class: "next", onclick: () => go(e.from) }, `${e.from + 1} → ${this.g.columns[e.column]}: ${e.text}`))))) : null,
        reached(doc));
    });
  }
}

// line returns the path of an edge between two items.
function line(from, to) {
  const { x: x1, y: y1 } = from, { x: x2, y: y2 } = to;
  const tall = (it) => (it.key ? 12 : 7);
  if (from === to) return `M${x1 + 5},${y1 - 4} C${x1 + 22},${y1 - 16} ${x1 + 22},${y1 + 16} ${x1 + 6},${y1 + 5}`;
  if (y2 > y1 && (from.key || to.key)) return `M${x1},${y1 + tall(from)} L${x2},${y2 - tall(to) - 1}`;
  const len = Math.hypot(x2 - x1, y2 - y1) || 1;
  const ux = (x2 - x1) / len, uy = (y2 - y1) / len;
  if (y2 > y1) return `M${x1 + ux * 7},${y1 + uy * 7} L${x2 - ux * 9},${y2 - uy * 9}`;
  const bend = 0.25 * len; // back, or aside
  const mx = (x1 + x2) / 2 - uy * bend, my = (y1 + y2) / 2 + ux * bend;
  const away = tall(to) + 1;
  return `M${x1},${y1} Q${mx},${my} ${x2 - ux * away},${y2 - uy * away}`;
}

// reached returns the values at the end of an execution, and its steps.
export function reached(doc) {
  const now = doc.vars.map((v) => v.value);
  for (const r of doc.rows) for (const s of r.set) now[s.var] = s.value;
  return [
    h("h3", {}, "Values"),
    h("table", { class: "vars" }, h("tbody", {}, doc.vars.map((v, k) => now[k] === "" ? null : h("tr", {}, h("td", { class: "name" }, v.group === "shared" ? v.name : `${v.group}.${v.name}`), h("td", { class: "value" }, now[k]))))),
    doc.rows.length ? h("h3", {}, "Steps") : null,
    h("ol", { class: "way" }, doc.rows.map((r) => h("li", {}, `${doc.columns[r.column]}: ${r.text}`))),
  ];
}

function legend(reduced, bad) {
  const item = (shape, text) => h("span", { class: "key" }, svg("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" }, shape), text);
  const state = svg("circle", { class: "node covered", cx: 10, cy: 10, r: 5.5 });
  return [
    item([svg("circle", { class: "ring", cx: 10, cy: 10, r: 8 }), svg("circle", { class: "node covered", cx: 10, cy: 10, r: 5 })], "initial"),
    reduced ? [item(state, "covered"), item(svg("circle", { class: "node passed", cx: 10, cy: 10, r: 5 }), "passed through"), item(svg("circle", { class: "node left", cx: 10, cy: 10, r: 4 }), "left out")] : item(state, "state"),
    bad ? [item(svg("rect", { class: "node bad", x: 4, y: 4, width: 12, height: 12 }), "deadlock"),
      item(svg("path", { class: "node bad", d: "M10,3 L17,16 L3,16 z" }), "violation"),
      item(svg("path", { class: "edge path", d: "M1,10 H19" }), "path to it")] : null,
  ].flat();
}
