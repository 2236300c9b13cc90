// The grid of steps: threads as columns, a line for each step or folded run, and arrows. Only the
// lines that can be seen are in the page.

import { h, svg, replace } from "./dom.js";
import { GUTTER } from "./columns.js";
import { folds, lines } from "./folds.js";

const ROW = 46; // pixels

export class Steps {
  // on has: at(step) to go to a step, step() which is shown, changed() when lines have folded.
  constructor(columns, on) {
    this.cols = columns;
    this.on = on;
    this.head = h("div", { class: "columns", role: "row" });
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.arrows = svg("svg", { class: "arrows", "aria-hidden": "true" });
    this.body = h("div", { class: "body", role: "presentation" }, this.arrows, this.rows);
    this.el = h("div", { class: "grid", tabindex: 0, role: "grid", "aria-label": "steps", id: "steps" }, this.head, this.body);
    this.el.addEventListener("scroll", () => this.draw());
    this.el.addEventListener("mouseleave", () => this.hover(null));
    new ResizeObserver(() => this.doc && this.show(this.on.step())).observe(this.el);
    this.matches = [];
    this.hovered = null;
  }

  load(doc, fails) {
    this.doc = doc;
    this.fails = fails;
    this.opened = new Set();
    this.folding = true;
    this.hovered = null;
    this.matches = [];
    this.el.scrollTop = this.el.scrollLeft = 0;
    this.refold();
  }

  key(f) {
    return `${f.from}-${f.to}`;
  }

  // refold finds the folds again, because columns were hidden.
  refold() {
    this.folds = folds(this.doc, this.cols.hidden);
    this.relist();
  }

  relist() {
    this.lines = lines(this.doc.rows.length, this.folds, (f) => !this.folding || this.opened.has(this.key(f)));
    this.lineOf = new Int32Array(this.doc.rows.length);
    this.lines.forEach((l, k) => this.lineOf.fill(k, l.from, l.to + 1));
    this.drawn = null;
  }

  toggle(f) {
    const key = this.key(f);
    if (!this.opened.delete(key)) this.opened.add(key);
    this.relist();
    this.on.changed();
  }

  // toggleAll opens all folds, or closes them.
  toggleAll() {
    this.folding = !this.folding;
    this.opened.clear();
    this.relist();
    this.on.changed();
  }

  // reveal opens the folds that a step is in the middle of.
  reveal(step) {
    for (let k; step > 0 && (k = this.lineOf[step - 1], this.lines[k].fold && this.lines[k].to !== step - 1);) {
      this.opened.add(this.key(this.lines[k].fold));
      this.relist();
    }
  }

  // beside returns the step one line on (1) or back (-1).
  beside(step, direction) {
    const { rows } = this.doc;
    if (direction > 0) return step < rows.length ? this.lines[this.lineOf[step]].to + 1 : step;
    return step > 0 ? this.lines[this.lineOf[step - 1]].from : 0;
  }

  // foldAt returns the fold that a step ends, or the open one that it is in.
  foldAt(step) {
    if (step === 0) return null;
    return this.lines[this.lineOf[step - 1]].fold ?? this.folds.find((f) => f.from <= step - 1 && step - 1 <= f.to) ?? null;
  }

  // active returns the columns with a step from here on. Near the end these are few, so all that
  // fits into the window before the end counts as well.
  active(step) {
    const { rows } = this.doc;
    const room = Math.max(4, Math.floor(this.el.clientHeight / ROW) - 1);
    const late = this.lines.at(-room)?.from ?? 0;
    const set = new Set();
    for (let i = Math.max(0, Math.min(step - 1, late)); i < rows.length; i++) set.add(rows[i].column);
    return set;
  }

  // show scrolls to a step, downwards and sideways.
  show(step) {
    const grid = this.el;
    if (!this.measure()) return;
    const y = step > 0 ? this.lineOf[step - 1] * ROW : -ROW;
    const room = grid.clientHeight - this.head.offsetHeight;
    const off = Math.max(grid.scrollTop - y, y + ROW - grid.scrollTop - room);
    if (off > 2 * ROW) grid.scrollTop = Math.max(0, y - room / 2); // from afar: into the middle
    else if (y < grid.scrollTop) grid.scrollTop = Math.max(0, y);
    else if (off > 0) grid.scrollTop = y + ROW - room;
    const at = step > 0 ? this.layout.place.get(this.doc.rows[step - 1].column) : null;
    if (at && !at.pinned) {
      const left = GUTTER + this.layout.pinnedWidth;
      const most = at.x - left, least = at.x + at.width - grid.clientWidth;
      if (grid.scrollLeft > most) grid.scrollLeft = most;
      else if (grid.scrollLeft < least) grid.scrollLeft = Math.min(least, most);
    }
    this.draw();
  }

  hover(row) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.draw();
  }

  // before returns the rows that a row depends on, directly or not.
  before(row) {
    const all = new Set();
    const todo = [row];
    while (todo.length) {
      for (const d of this.doc.rows[todo.pop()].depends) {
        if (!all.has(d)) {
          all.add(d);
          todo.push(d);
        }
      }
    }
    return all;
  }

  drawHead() {
    const { columns } = this.doc;
    const { shown } = this.layout;
    const key = JSON.stringify(shown);
    if (key === this.drawn) return;
    this.drawn = key;
    const cell = (s) => {
      const names = s.columns.map((c) => columns[c]);
      if (s.folded) {
        return h("div", { class: "column foldedcolumn", role: "columnheader", style: { left: `${s.x}px`, width: `${s.width}px` } },
          h("button", { type: "button", title: `no step from here on: ${names.join(", ")}`, "aria-label": `+${names.length} folded: ${names.join(", ")}`, onclick: () => { this.cols.el.open = true; this.cols.summary.focus(); } }, `+${names.length}`));
      }
      const c = s.columns[0];
      return h("div", {
        class: `column${s.pinned ? " pinned" : ""}`, role: "columnheader", title: names[0], draggable: "true", "data-column": c, style: { left: `${s.x}px`, width: `${s.width}px` },
        ondragstart: (e) => { e.dataTransfer.setData("text/plain", String(c)); e.dataTransfer.effectAllowed = "move"; },
        ondragover: (e) => e.preventDefault(),
        ondrop: (e) => { e.preventDefault(); this.cols.drop(Number(e.dataTransfer.getData("text/plain")), c); },
      }, s.pinned ? "⚲ " : "", names[0]);
    };
    replace(this.head, h("div", { class: "gutter", role: "columnheader" }, "#"), shown.map(cell));
  }

  // measure lays out the columns and makes room for all lines, so that there is something to
  // scroll. It returns false if nothing can be shown.
  measure() {
    if (!this.doc || !this.el.clientHeight) return false;
    const layout = (this.layout = this.cols.layout(this.el.clientWidth, this.active(this.on.step())));
    for (const el of [this.head, this.body]) el.style.width = `${layout.all}px`;
    this.body.style.height = `${this.height() + this.below()}px`;
    this.drawHead();
    return true;
  }

  height() {
    return Math.max(this.lines.length * ROW, 1);
  }

  // below is the room below the lines, for what is said about a loop or a cut.
  below() {
    return this.doc.loop >= 0 || this.doc.cut >= 0 ? 24 : 0;
  }

  // draw draws the lines that can be seen.
  draw() {
    if (!this.measure()) return;
    const { rows } = this.doc;
    const step = this.on.step();
    const first = Math.max(0, Math.floor(this.el.scrollTop / ROW) - 4);
    const last = Math.min(this.lines.length, first + Math.ceil(this.el.clientHeight / ROW) + 8);
    const shown = this.hovered;
    const past = shown === null ? null : this.before(shown);
    const matches = new Set(this.matches);
    const list = [];
    for (let k = first; k < last; k++) {
      const l = this.lines[k];
      list.push(l.fold ? this.folded(l, k, step, past) : this.row(l.from, k, step, past, matches));
    }
    replace(this.rows, list);
    this.drawArrows(first, last, this.height());
    const seen = (k) => this.lines[Math.max(0, Math.min(this.lines.length - 1, k))];
    if (rows.length) this.range = [seen(Math.floor(this.el.scrollTop / ROW)).from, seen(Math.ceil((this.el.scrollTop + this.el.clientHeight) / ROW) - 2).to + 1];
    this.on.drawn?.();
  }

  // line returns a line of the grid: with its number and, in the column of its thread, cell.
  line(k, cls, column, attributes, number, cell) {
    const at = this.layout.place.get(column);
    const el = h("div", { class: cls.join(" "), role: "row", style: { top: `${k * ROW}px` }, ...attributes },
      h("div", { class: "gutter", role: "rowheader" }, number));
    const into = (props, ...children) => h("div", { ...props, role: "gridcell" }, children);
    if (this.layout.pinnedWidth) {
      el.append(h("div", { class: "pins", role: "presentation", style: { width: `${this.layout.pinnedWidth}px` } }, at?.pinned ? into({ class: "cell", style: { left: `${at.x - GUTTER}px`, width: `${at.width - 4}px` }, title: cell.title }, cell.content) : null));
      if (at?.pinned) return el;
    }
    if (at?.folded) el.append(into({ class: "cell tiny", style: { left: `${at.x}px`, width: `${at.width - 4}px` }, title: `${this.doc.columns[column]}: ${cell.title}` }, "●"));
    else if (at) el.append(into({ class: "cell", style: { left: `${at.x}px`, width: `${at.width - 4}px` }, title: cell.title }, cell.content));
    else el.append(into({ class: "cell", style: { left: `${GUTTER + this.layout.pinnedWidth}px` }, title: cell.title }, cell.content));
    return el;
  }

  row(i, k, step, past, matches) {
    const { rows } = this.doc;
    const r = rows[i];
    const cls = ["row"];
    if (i === step - 1) cls.push("current");
    if (i >= step) cls.push("later");
    if (i > 0 && rows[i - 1].column !== r.column) cls.push("switch");
    if (past) cls.push(past.has(i) ? "past" : i === this.hovered ? "hovered" : "apart");
    if (matches.has(i)) cls.push("match");
    if (r.violation) cls.push("violation");
    const writes = r.accesses.filter((a) => a.write);
    const effect = r.deeds?.length ? [...r.deeds, ...writes.map((a) => `${a.loc} = ${a.value}`)].join(", ") : (writes.length ? writes.map((a) => `${a.loc} = ${a.value}`) : r.accesses.map((a) => `read ${a.loc} = ${a.value}`)).join(", ");
    const content = [
      h("div", { class: effect || r.violation ? "text" : "text two" }, r.pos.line ? h("span", { class: "line" }, `${r.pos.line}: `) : null, r.text),
      h("div", { class: r.violation ? "effect bad" : "effect" }, r.violation ? `✗ ${r.violation}` : effect)];
    const title = `${(r.calls ?? []).map((c) => `in ${c.func}, called at line ${c.pos.line}\n`).join("")}${r.text}\n${effect}${r.violation ? "\n✗ " + r.violation : ""}`;
    return this.line(k, cls, r.column, {
      "aria-selected": String(i === step - 1), "data-row": i, onclick: () => this.on.at(i + 1), onmouseenter: () => this.hover(i),
    }, [r.violation ? h("span", { class: "bad", "aria-hidden": "true" }, "➜ ") : i === step - 1 ? "▸" : "", i + 1], { title, content });
  }

  folded(l, k, step, past) {
    const { rows } = this.doc;
    const cls = ["row", "fold"];
    const now = step - 1 >= l.from && step - 1 <= l.to;
    if (now) cls.push("current");
    if (l.from >= step) cls.push("later");
    if (past) {
      let within = false;
      for (let i = l.from; i <= l.to && !within; i++) within = past.has(i);
      cls.push(within ? "past" : "apart");
    }
    const set = new Map(); // the last values that it writes
    for (let i = l.from; i <= l.to; i++) for (const a of rows[i].accesses) if (a.write) set.set(a.loc, a.value);
    const effect = [...set].map(([loc, v]) => `${loc} = ${v}`).join(", ") || [...new Set(rows.slice(l.from, Math.min(l.to + 1, l.from + 8)).map((r) => r.text))].join("; ");
    const content = [
      h("div", { class: "text" }, h("button", { type: "button", class: "unfold", "aria-expanded": "false", onclick: (e) => { e.stopPropagation(); this.toggle(l.fold); } }, `⋯ ${l.fold.text}`)),
      h("div", { class: "effect" }, effect)];
    return this.line(k, cls, rows[l.from].column, { "data-fold": `${l.from + 1}-${l.to + 1}`, "aria-selected": String(now), onclick: () => this.on.at(l.to + 1) },
      [now ? "▸" : "", l.from === l.to ? l.from + 1 : `${l.from + 1}–${l.to + 1}`], { title: `steps ${l.from + 1} to ${l.to + 1}: ${l.fold.text}\n${effect}`, content });
  }

  drawArrows(first, last, height) {
    const { rows, loop, cut, arrows } = this.doc;
    const { place, all, shown } = this.layout;
    const a = this.arrows;
    a.setAttribute("width", all);
    a.setAttribute("height", height + this.below());
    const scrolled = this.el.scrollLeft;
    const left = (s) => s.x + (s.pinned ? scrolled : 0);
    const line = (i) => this.lineOf[i];
    const y = (i) => line(i) * ROW + ROW / 2;
    const seen = (i, j) => Math.max(line(i), line(j)) >= first && Math.min(line(i), line(j)) < last;
    const parts = [svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" })))];
    for (const s of shown) if (!s.pinned) parts.push(svg("line", { class: s.folded ? "lifeline folded" : "lifeline", x1: s.x + 6, x2: s.x + 6, y1: 0, y2: height }));
    for (const m of arrows) {
      if (!seen(m.from, m.to)) continue;
      if (m.from !== m.to && line(m.from) === line(m.to)) continue; // within a fold
      if (m.from === m.to && this.lines[line(m.from)].fold) continue;
      const f = place.get(m.ends ? m.ends[0] : rows[m.from].column), t = place.get(m.ends ? m.ends[1] : rows[m.to].column);
      if (!f || !t || f === t) continue;
      const right = t.x > f.x;
      const x1 = left(f) + (right && !f.folded ? f.width - 10 : 6);
      const y1 = y(m.from), y2 = y(m.to);
      if (m.ends) { // within a row the other thread's cell is free: the arrow reaches into it, with its text
        const x2 = left(t) + (right ? 26 : 10);
        const room = Math.floor((t.width - 34) / 7);
        const value = m.value || m.text;
        const text = room < 1 ? "" : value.length > room ? value.slice(0, room - 1) + "…" : value;
        parts.push(svg("path", { class: "message", d: `M${x1},${y1} H${x2}`, "marker-end": "url(#tip)" }, svg("title", {}, m.text || "message")),
          svg("text", { class: "messagetext", x: left(t) + (right ? 32 : 16), y: right ? y1 + 4 : y1 - 6 }, text));
        continue;
      }
      const x2 = left(t) + (right ? 4 : t.folded ? 14 : t.width - 12);
      const between = Math.abs(shown.indexOf(f) - shown.indexOf(t)) - 1;
      if (between > 0) { // past other columns: above the line where it ends, so that it crosses no text
        const aside = 3 * (m.from % 4); // several messages from one thread stand apart
        const lane = (right ? x1 + 6 : x1 - 10) - aside, top = line(m.to) * ROW + (y2 > y1 ? 0 : ROW), end = right ? x2 - 8 : x2 + 12;
        parts.push(svg("path", { class: "message", d: `M${x1},${y1} H${lane} V${top} H${end} V${y2} H${x2}`, "marker-end": "url(#tip)" }, svg("title", {}, m.text || "message")));
        continue;
      }
      parts.push(svg("path", { class: "message", d: `M${x1},${y1} C${x1 + (right ? 26 : -26)},${y1} ${x2 + (right ? -26 : 26)},${y2} ${x2},${y2}`, "marker-end": "url(#tip)" }, svg("title", {}, m.text || "message")));
    }
    if (this.hovered !== null) {
      for (const d of rows[this.hovered].depends) {
        const from = place.get(rows[d].column), to = place.get(rows[this.hovered].column);
        if (!from || !to || !seen(d, this.hovered) || line(d) === line(this.hovered)) continue;
        const x1 = left(from) + from.width / 2, x2 = left(to) + to.width / 2;
        parts.push(svg("path", { class: "depends", d: `M${x1},${y(d) + 14} C${x1},${y(this.hovered) - 20} ${x2},${y(d) + 30} ${x2},${y(this.hovered) - 14}`, "marker-end": "url(#tip)" }));
      }
    }
    if (loop >= 0) {
      const x = 6;
      if (loop < rows.length) parts.push(svg("path", { class: "loop", d: `M${x + 10},${height - 6} H${x} V${line(loop) * ROW + 6} H${x + 9}`, "marker-end": "url(#tip)" }), svg("text", { class: "looptext", x: x + 14, y: height + 14 }, `↺ steps ${loop + 1} to ${rows.length} are repeated forever`));
      else parts.push(svg("text", { class: "looptext", x: x + 14, y: height + 14 }, "↺ nothing more happens"));
    }
    if (cut >= 0) {
      const at = cut < rows.length ? line(cut) * ROW : height;
      parts.push(svg("line", { class: "cut", x1: 0, x2: all, y1: at, y2: at }),
        svg("text", { class: "cuttext", x: 4, y: at - 4 }, "✂ cut"));
    }
    replace(a, parts);
  }
}
