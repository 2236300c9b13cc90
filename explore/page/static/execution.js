// An execution: threads as columns, steps as rows, the source and the state beside it;
// and if there is a program, what can be done next.

import { h, svg, replace, plural } from "./dom.js";
import { get, post, source } from "./api.js";
import { attempt } from "./message.js";
import { encodePath, decodePath } from "./path.js";

const ROW = 46; // pixels
const GUTTER = 46;
const MINWIDTH = 130;

export class Execution {
  constructor(page) {
    this.page = page;
    this.step = 0;
    this.asked = 0; // requests for moves, to forget late answers
    this.build();
  }

  build() {
    const button = (id, text, title, f) => h("button", { type: "button", id, title, onclick: f }, text);
    this.choice = h("select", { id: "choice", "aria-label": "which execution", onchange: () => this.page.go({ view: "execution", doc: this.choice.value, step: 0 }) });
    this.slider = h("input", { type: "range", min: 0, id: "slider", "aria-label": "step", oninput: () => this.at(Number(this.slider.value)) });
    this.where = h("output", { id: "where" });
    this.filter = h("input", { type: "search", id: "filter", placeholder: "find in the steps  ( / )", "aria-label": "find in the steps", oninput: () => this.search(0), onkeydown: (e) => this.filterKey(e) });
    this.hits = h("span", { class: "hits" });
    this.headline = h("div", { class: "headline" });
    this.toolbar = h("div", { class: "toolbar" },
      this.choice,
      h("span", { class: "group" },
        button("first", "|◀", "to the beginning (Home)", () => this.at(0)),
        button("back", "◀", "one step back (↑ or ←)", () => this.at(this.step - 1)),
        button("forward", "▶", "one step on (↓ or →)", () => this.at(this.step + 1)),
        button("last", "▶|", "to the end (End)", () => this.at(Infinity))),
      this.slider, this.where, this.filter, this.hits);

    this.columns = h("div", { class: "columns", role: "row" });
    this.rows = h("div", { class: "rows" });
    this.arrows = svg("svg", { class: "arrows", "aria-hidden": "true" });
    this.body = h("div", { class: "body" }, this.arrows, this.rows);
    this.grid = h("div", { class: "grid", tabindex: 0, role: "grid", "aria-label": "steps", id: "steps" }, this.columns, this.body);
    this.grid.addEventListener("scroll", () => this.draw());
    this.grid.addEventListener("mouseleave", () => this.hover(null));
    new ResizeObserver(() => this.draw()).observe(this.grid);

    this.moves = h("div", { class: "panel", id: "moves" });
    this.sourceBox = h("div", { class: "panel source", id: "source" });
    this.stateBox = h("div", { class: "panel", id: "state" });
    this.varFilter = h("input", { type: "search", id: "varfilter", placeholder: "which variables", "aria-label": "which variables", oninput: () => this.drawState() });
    this.onlyChanged = h("input", { type: "checkbox", id: "onlychanged", onchange: () => this.drawState() });
    this.markButton = h("button", { type: "button", id: "mark", onclick: () => this.toggleMark() });
    this.stateBody = h("div", { class: "scroll" });
    replace(this.stateBox, h("div", { class: "panelhead" }, h("h2", {}, "State"), this.varFilter,
      h("label", {}, this.onlyChanged, " changed only"), this.markButton), this.stateBody);

    this.el = h("section", { class: "execution", id: "execution" }, this.headline, this.toolbar,
      h("div", { class: "split" }, this.grid, h("div", { class: "side" }, this.moves, this.sourceBox, this.stateBox)));
  }

  // address returns what of the address says which execution this is.
  address() {
    const a = { step: this.step };
    if (this.path) a.path = encodePath(this.path);
    else if (this.number !== undefined) a.doc = this.number;
    else if (this.found !== undefined) a.found = this.found;
    return a;
  }

  // open shows what the address says.
  async open(q) {
    const { documents, explore } = this.page.info;
    let key;
    if (q.path !== undefined) key = `path=${q.path}`;
    else if (q.found !== undefined) key = `found=${q.found}&of=${this.page.searches ?? 0}`;
    else if (documents.length) key = `doc=${q.doc ?? 0}`;
    else if (explore) key = "path=0:";
    if (key !== this.key) {
      let doc;
      this.path = this.number = this.found = undefined;
      if (key.startsWith("path=")) {
        const path = decodePath(key.slice(5));
        doc = await post("play", path);
        this.path = path;
      } else if (key.startsWith("found=")) {
        doc = await get("found", { n: q.found });
        this.found = Number(q.found);
      } else {
        doc = await get("document", { n: q.doc ?? 0 });
        this.number = Number(q.doc ?? 0);
      }
      this.key = key;
      this.load(doc);
    }
    // A recorded run is opened where the cut is.
    this.at(Number(q.step ?? Math.max(0, this.doc.cut)));
  }

  load(doc) {
    this.doc = doc;
    this.step = 0;
    const { documents } = this.page.info;
    this.choice.hidden = documents.length < 2 && (this.number !== undefined || documents.length === 0);
    const options = documents.map((t, i) => h("option", { value: i }, `${i + 1}: ${t}`));
    if (this.number === undefined) options.unshift(h("option", { value: "" }, this.found !== undefined ? "found by the search" : "by hand"));
    replace(this.choice, options);
    this.choice.value = this.number ?? "";
    this.slider.max = doc.rows.length;
    // Everything that depends on a row, for the hover: who depends on whom.
    this.past = null;
    this.hovered = null;
    replace(this.headline,
      doc.title || doc.message ? h("p", { class: doc.kind === "detect" ? "what" : "what bad" }, doc.kind === "detect" ? "" : "✗ ", doc.title || doc.message, place(doc.pos)) : null,
      doc.notes.map((n) => h("p", { class: "note" }, n)));
    this.filter.value = "";
    this.matches = [];
    this.hits.textContent = "";
    this.grid.scrollTop = 0;
    replace(this.columns, h("div", { class: "gutter" }, "#"), doc.columns.map((c) => h("div", { class: "column", title: c }, c)));
    this.values = this.valuesAt(0);
  }

  valuesAt(step) {
    const now = this.doc.vars.map((v) => v.value);
    for (let i = 0; i < step; i++) for (const s of this.doc.rows[i].set) now[s.var] = s.value;
    return now;
  }

  standingAt(step) {
    const now = [];
    for (const s of this.doc.next ?? []) now[s.column] = s;
    for (let i = 0; i < step; i++) for (const s of this.doc.rows[i].next ?? []) now[s.column] = s;
    return now;
  }

  // at goes to the state after a number of steps.
  at(step) {
    if (!this.doc) return;
    step = Math.max(0, Math.min(step, this.doc.rows.length));
    this.step = step;
    this.slider.value = step;
    const n = this.doc.rows.length;
    this.where.textContent = n ? `step ${step} of ${n}` : "the beginning";
    this.el.querySelector("#back").disabled = this.el.querySelector("#first").disabled = step === 0;
    this.el.querySelector("#forward").disabled = this.el.querySelector("#last").disabled = step === n;
    this.page.put({ view: "execution", ...this.address() });
    this.values = this.valuesAt(step);
    this.draw(); // there has to be something to scroll
    const y = (step - 1) * ROW;
    const room = this.grid.clientHeight - this.columns.offsetHeight;
    const off = Math.max(this.grid.scrollTop - y, y + ROW - this.grid.scrollTop - room);
    if (off > 2 * ROW) this.grid.scrollTop = Math.max(0, y - room / 2); // from afar: into the middle
    else if (y < this.grid.scrollTop) this.grid.scrollTop = Math.max(0, y);
    else if (off > 0) this.grid.scrollTop = y + ROW - room;
    this.draw();
    this.drawSource();
    this.drawState();
    this.drawMoves();
  }

  onKey(e) {
    const editing = ["INPUT", "SELECT", "TEXTAREA"].includes(e.target.tagName);
    if (editing && e.target !== this.slider) return false;
    switch (e.key) {
      case "ArrowDown": case "ArrowRight": this.at(this.step + 1); return true;
      case "ArrowUp": case "ArrowLeft": this.at(this.step - 1); return true;
      case "PageDown": this.at(this.step + 10); return true;
      case "PageUp": this.at(this.step - 10); return true;
      case "Home": this.at(0); return true;
      case "End": this.at(Infinity); return true;
      case "/": this.filter.focus(); this.filter.select(); return true;
      case "n": this.search(1); return true;
      case "N": this.search(-1); return true;
      case "Escape": this.hover(null); return true;
    }
    if (/^[1-9]$/.test(e.key)) {
      const b = this.moves.querySelectorAll("button.move")[Number(e.key) - 1];
      b?.click();
      return Boolean(b);
    }
    return false;
  }

  filterKey(e) {
    if (e.key === "Enter") this.search(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") {
      this.filter.value = "";
      this.search(0);
      this.grid.focus();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // search finds the rows with the text, and goes to the next (1) or the one before (-1).
  search(direction) {
    const text = this.filter.value.trim().toLowerCase();
    const { rows, columns } = this.doc;
    this.matches = [];
    if (text) {
      rows.forEach((r, i) => {
        const all = [columns[r.column], r.text, `${r.pos.line}`, r.violation ?? "", ...(r.deeds ?? []), ...r.accesses.map((a) => `${a.loc} = ${a.value}`)].join(" ").toLowerCase();
        if (all.includes(text)) this.matches.push(i);
      });
    }
    this.hits.textContent = text ? plural(this.matches.length, "step") : "";
    if (direction && this.matches.length) {
      const now = this.step - 1;
      const next = direction > 0 ? this.matches.find((i) => i > now) ?? this.matches[0] : this.matches.findLast((i) => i < now) ?? this.matches.at(-1);
      this.at(next + 1);
      return;
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

  // draw draws the rows that can be seen.
  draw() {
    if (!this.doc || !this.grid.clientHeight) return;
    const { rows, columns, arrows } = this.doc;
    const width = Math.max(MINWIDTH, Math.floor((this.grid.clientWidth - GUTTER - 2) / Math.max(1, columns.length)));
    const all = GUTTER + width * columns.length;
    const height = Math.max(rows.length * ROW, 1);
    for (const el of [this.columns, this.body]) el.style.width = `${all}px`;
    this.columns.style.gridTemplateColumns = `${GUTTER}px repeat(${columns.length}, ${width}px)`;
    this.body.style.height = `${height}px`;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / ROW) - 4);
    const last = Math.min(rows.length, first + Math.ceil(this.grid.clientHeight / ROW) + 8);
    const shown = this.hovered;
    const past = shown === null ? null : this.before(shown);
    const matches = new Set(this.matches);
    const list = [];
    for (let i = first; i < last; i++) {
      const r = rows[i];
      const cls = ["row"];
      if (i === this.step - 1) cls.push("current");
      if (i >= this.step) cls.push("later");
      if (i > 0 && rows[i - 1].column !== r.column) cls.push("switch");
      if (past) cls.push(past.has(i) ? "past" : i === shown ? "hovered" : "apart");
      if (matches.has(i)) cls.push("match");
      if (r.violation) cls.push("violation");
      const writes = r.accesses.filter((a) => a.write);
      const effect = r.deeds?.length ? [...r.deeds, ...writes.map((a) => `${a.loc} = ${a.value}`)].join(", ") : (writes.length ? writes.map((a) => `${a.loc} = ${a.value}`) : r.accesses.map((a) => `read ${a.loc} = ${a.value}`)).join(", ");
      const cell = h("div", { class: "cell", style: { left: `${GUTTER + r.column * width}px`, width: `${width}px` }, title: `${(r.calls ?? []).map((c) => `in ${c.func}, called at line ${c.pos.line}\n`).join("")}${r.text}\n${effect}${r.violation ? "\n✗ " + r.violation : ""}` },
        h("div", { class: effect || r.violation ? "text" : "text two" }, r.pos.line ? h("span", { class: "line" }, `${r.pos.line}: `) : null, r.text),
        h("div", { class: r.violation ? "effect bad" : "effect" }, r.violation ? `✗ ${r.violation}` : effect));
      list.push(h("div", {
        class: cls.join(" "), role: "row", "aria-selected": i === this.step - 1, "data-row": i, style: { top: `${i * ROW}px` },
        onclick: () => this.at(i + 1), onmouseenter: () => this.hover(i),
      }, h("div", { class: "gutter" }, i === this.step - 1 ? "▸" : "", i + 1), cell));
    }
    replace(this.rows, list);
    this.drawArrows(first, last, width, all, height, arrows, shown);
  }

  drawArrows(first, last, width, all, height, arrows, shown) {
    const { rows, loop, cut } = this.doc;
    const a = this.arrows;
    a.setAttribute("width", all);
    a.setAttribute("height", height + (loop >= 0 || cut >= 0 ? 20 : 0));
    const mid = (c) => GUTTER + c * width + width / 2;
    const y = (i) => i * ROW + ROW / 2;
    const seen = (i, j) => Math.max(i, j) >= first && Math.min(i, j) < last;
    const parts = [svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" })))];
    for (let c = 0; c < this.doc.columns.length; c++) parts.push(svg("line", { class: "lifeline", x1: GUTTER + c * width + 6, x2: GUTTER + c * width + 6, y1: 0, y2: height }));
    for (const m of arrows) {
      if (!seen(m.from, m.to)) continue;
      const from = m.ends ? m.ends[0] : rows[m.from].column;
      const to = m.ends ? m.ends[1] : rows[m.to].column;
      const right = to > from;
      const x1 = GUTTER + from * width + (right ? width - 10 : 6);
      const y1 = y(m.from), y2 = y(m.to);
      if (m.ends) { // within a row the other thread's cell is free: the arrow reaches into it, with its text
        const x2 = GUTTER + to * width + (right ? 26 : 10);
        const room = Math.floor((width - 30) / 7);
        const value = m.value || m.text;
        const text = value.length > room ? value.slice(0, room - 1) + "…" : value;
        parts.push(svg("path", { class: "message", d: `M${x1},${y1} H${x2}`, "marker-end": "url(#tip)" }, svg("title", {}, m.text || "message")),
          svg("text", { class: "messagetext", x: GUTTER + to * width + (right ? 32 : 16), y: right ? y1 + 4 : y1 - 5 }, text));
        continue;
      }
      const x2 = GUTTER + to * width + (right ? 4 : width - 12);
      parts.push(svg("path", { class: "message", d: `M${x1},${y1} C${x1 + (right ? 26 : -26)},${y1} ${x2 + (right ? -26 : 26)},${y2} ${x2},${y2}`, "marker-end": "url(#tip)" }, svg("title", {}, m.text || "message")));
    }
    if (shown !== null) {
      for (const d of rows[shown].depends) {
        if (!seen(d, shown)) continue;
        const x1 = mid(rows[d].column), x2 = mid(rows[shown].column);
        parts.push(svg("path", { class: "depends", d: `M${x1},${y(d) + 14} C${x1},${y(shown) - 20} ${x2},${y(d) + 30} ${x2},${y(shown) - 14}`, "marker-end": "url(#tip)" }));
      }
    }
    if (loop >= 0) {
      const top = loop * ROW + 6;
      const bottom = height - 6;
      const x = 6;
      if (loop < rows.length) parts.push(svg("path", { class: "loop", d: `M${x + 10},${bottom} H${x} V${top} H${x + 9}`, "marker-end": "url(#tip)" }), svg("text", { class: "looptext", x: x + 14, y: height + 14 }, `↺ steps ${loop + 1} to ${rows.length} are repeated forever`));
      else parts.push(svg("text", { class: "looptext", x: x + 14, y: height + 14 }, "↺ nothing more happens"));
    }
    if (cut >= 0) {
      parts.push(svg("line", { class: "cut", x1: 0, x2: all, y1: cut * ROW, y2: cut * ROW }),
        svg("text", { class: "cuttext", x: 4, y: cut * ROW - 4 }, "✂ cut"));
    }
    replace(a, parts);
    this.body.style.height = `${height + (loop >= 0 || cut >= 0 ? 24 : 0)}px`;
  }

  async drawSource() {
    const { rows, columns } = this.doc;
    const done = this.step > 0 ? rows[this.step - 1] : null;
    const stands = this.standingAt(this.step);
    const files = [...new Set([done?.pos.file, ...stands.map((s) => s?.pos.file), this.page.info.file, this.doc.pos.file].filter(Boolean))];
    if (!files.length) {
      this.sourceBox.hidden = true;
      return;
    }
    this.sourceBox.hidden = false;
    const file = files.includes(this.file) && this.pinned === this.step ? this.file : done?.pos.file || files[0];
    const src = await source(file);
    if (done !== (this.step > 0 ? this.doc.rows[this.step - 1] : null)) return; // it is late
    if (this.file !== file || !this.sourceLines) {
      this.file = file;
      this.sourceLines = src.lines.map((text, i) => h("div", { class: "srcline" }, h("span", { class: "no" }, i + 1), h("span", { class: "at" }), h("code", {}, text || " ")));
      this.sourceScroll = h("div", { class: "scroll code" }, src.error ? h("p", { class: "note" }, src.error) : this.sourceLines);
    }
    replace(this.sourceBox, h("div", { class: "panelhead" }, h("h2", {}, "Source"),
      files.length > 1 ? h("select", { "aria-label": "file", onchange: (e) => { this.file = e.target.value; this.sourceLines = null; this.pinned = this.step; this.drawSource(); } }, files.map((f) => h("option", { value: f, selected: f === file }, f))) : h("span", { class: "filename" }, file)), this.sourceScroll);
    const at = new Map();
    for (const s of stands) {
      if (s && s.state !== "ended" && s.state !== "stopped" && s.pos.file === file) at.set(s.pos.line, [...(at.get(s.pos.line) ?? []), s]);
    }
    let focus;
    this.sourceLines.forEach((el, i) => {
      const here = at.get(i + 1) ?? [];
      const was = done && done.pos.file === file && done.pos.line === i + 1;
      el.className = `srcline${was ? " done" : ""}${here.length ? " next" : ""}`;
      replace(el.children[1], was ? h("span", { class: "badge was", title: `${columns[done.column]} has executed this` }, `✓ ${columns[done.column]}`) : null,
        here.map((s) => h("span", { class: `badge ${s.state}`, title: `${columns[s.column]} is here: ${s.state}${s.waits ? ", waits for " + s.waits : ""}` }, `${s.state === "blocked" ? "‖" : "▸"} ${columns[s.column]}`)));
      if (was || (!focus && !done && here.length)) focus = el;
    });
    if (focus) {
      const box = this.sourceScroll;
      const y = focus.offsetTop;
      if (y < box.scrollTop + 20 || y > box.scrollTop + box.clientHeight - 40) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
    }
  }

  name(v) {
    return `${v.group}\u0000${v.name}`;
  }

  toggleMark() {
    if (this.marked) this.marked = null;
    else {
      this.marked = { title: this.step ? `step ${this.step}` : "the beginning", values: new Map(this.doc.vars.map((v, i) => [this.name(v), this.values[i]])) };
    }
    this.drawState();
  }

  drawState() {
    const { vars, columns, rows } = this.doc;
    this.markButton.textContent = this.marked ? "end the comparison" : "compare with…";
    this.markButton.title = this.marked ? "" : "keep this state, to compare others with it";
    const changed = new Map();
    if (this.step > 0) {
      const before = this.valuesAt(this.step - 1);
      for (const s of rows[this.step - 1].set) if (before[s.var] !== s.value) changed.set(s.var, before[s.var]);
    }
    const stands = this.standingAt(this.step);
    const text = this.varFilter.value.trim().toLowerCase();
    const groups = new Map([["shared", []]]);
    for (const c of columns) groups.set(c, []);
    let differ = 0;
    vars.forEach((v, i) => {
      const kept = this.marked?.values.get(this.name(v)) ?? "";
      const differs = this.marked && kept !== this.values[i];
      if (differs) differ++;
      if (text && !`${v.group}.${v.name}`.toLowerCase().includes(text)) return;
      if (this.onlyChanged.checked && !(this.marked ? differs : changed.has(i))) return;
      if (this.values[i] === "" && kept === "") return;
      const was = changed.get(i);
      const row = h("tr", { class: differs || (!this.marked && was !== undefined) ? "changed" : "" },
        h("td", { class: "mark" }, this.marked ? (differs ? "≠" : "") : was !== undefined ? "●" : ""),
        h("td", { class: "name" }, v.name),
        this.marked ? h("td", { class: "value" }, kept || "–") : null,
        h("td", { class: "value" }, this.values[i] || "–", !this.marked && was ? h("span", { class: "was" }, ` was ${was}`) : null));
      if (!groups.has(v.group)) groups.set(v.group, []);
      groups.get(v.group).push(row);
    });
    const span = this.marked ? 4 : 3;
    const body = [];
    for (const [group, list] of groups) {
      const s = stands[columns.indexOf(group)];
      if (!list.length && (!s || text || this.onlyChanged.checked)) continue;
      body.push(h("tbody", {}, h("tr", { class: "grouphead" }, h("th", { colspan: span, scope: "rowgroup" }, group, s ? h("span", { class: `stands ${s.state}` }, standing(s)) : null)), list));
    }
    const note = this.marked ? h("p", { class: "note" }, differ ? `${plural(differ, "variable")} ${differ === 1 ? "differs" : "differ"}; go to the state to compare with.` : "No variable differs; go to the state to compare with.") : null;
    const head = this.marked ? h("thead", {}, h("tr", {}, h("th"), h("th"), h("th", {}, this.marked.title), h("th", {}, this.step ? `step ${this.step}` : "the beginning"))) : null;
    replace(this.stateBody, note, body.length ? h("table", { class: "vars" }, head, body) : h("p", { class: "note" }, vars.length ? "There are no variables to show." : "There are no variables."));
  }

  // here returns the path to the state that is shown; null if nothing could execute it.
  here() {
    const p = this.path ?? this.doc?.path;
    if (!p || !this.page.info.explore) return null;
    return { initial: p.initial, steps: p.steps.slice(0, this.step) };
  }

  async drawMoves() {
    const p = this.here();
    this.moves.hidden = !p;
    if (!p) return;
    const asked = ++this.asked;
    let list;
    try {
      list = await post("moves", p);
    } catch (e) {
      if (asked === this.asked) replace(this.moves, h("p", { class: "note" }, e.message));
      return;
    }
    if (asked !== this.asked) return;
    const { info } = this.page;
    const mine = (this.path ?? this.doc.path).steps[this.step];
    const can = list.filter((m) => m.state === "enabled");
    const cannot = list.filter((m) => m.state !== "enabled");
    const predicate = h("input", { type: "text", id: "predicate", placeholder: "counter == 2 && Lock@held", "aria-label": "condition", value: this.predicate ?? "", oninput: (e) => (this.predicate = e.target.value) });
    const focused = document.activeElement?.id === "predicate";
    replace(this.moves,
      h("div", { class: "panelhead" }, h("h2", {}, "Next"),
        info.initial > 1 && this.step === 0 ? h("label", {}, "initial state ", h("select", { id: "initial", onchange: (e) => this.page.go({ view: "execution", path: `${e.target.value}:`, step: 0 }) }, Array.from({ length: info.initial }, (_, i) => h("option", { value: i, selected: i === p.initial }, i + 1)))) : null,
        info.searches?.length ? h("button", { type: "button", id: "searchhere", onclick: () => this.page.go({ view: "search", path: encodePath(p) }) }, "search from here") : null),
      h("div", { class: "scroll moves" },
        (this.step ? this.doc.rows[this.step - 1].violation : this.doc.violation) ? h("p", { class: "bad" }, "✗ ", this.step ? this.doc.rows[this.step - 1].violation : this.doc.violation) : null,
        can.length ? null : h("p", { class: "note" }, cannot.some((m) => m.state === "blocked") ? "No thread is enabled here." : "All threads have ended."),
        can.map((m, i) => h("button", {
          type: "button", class: `move${mine && mine[0] === m.step[0] && mine[1] === m.step[1] ? " taken" : ""}`, "data-thread": m.name, title: i < 9 ? `key ${i + 1}` : "", onclick: () => this.take(p, m.step),
        }, h("span", { class: "who" }, i < 9 ? h("kbd", {}, i + 1) : null, m.name), h("span", { class: "text" }, m.pos.line ? h("span", { class: "line" }, `${m.pos.line}: `) : null, m.text),
        m.violation ? h("span", { class: "effect bad" }, `✗ ${m.violation}`) : m.writes.length || m.deeds ? h("span", { class: "effect" }, [...(m.deeds ?? []), ...m.writes.map((w) => `${w.loc} = ${w.value}`)].join(", ")) : null)),
        cannot.map((m) => h("p", { class: "cannot" }, h("span", { class: "who" }, m.name), " ", standing(m)))),
      info.jump ? h("form", { class: "jump", onsubmit: (e) => { e.preventDefault(); this.jump(p, predicate.value); } }, h("label", { for: "predicate" }, "go to the nearest state with"), predicate, h("button", { type: "submit", id: "jump" }, "go")) : null);
    if (focused) predicate.focus();
  }

  // take executes a transition: along the execution if it is the next one there.
  take(p, step) {
    const whole = this.path ?? this.doc.path;
    const next = whole.steps[this.step];
    if (next && next[0] === step[0] && next[1] === step[1]) {
      this.at(this.step + 1);
      return;
    }
    this.page.go({ view: "execution", path: encodePath({ initial: p.initial, steps: [...p.steps, step] }), step: p.steps.length + 1 });
  }

  jump(p, predicate) {
    attempt(async () => {
      const found = await post("jump", { ...p, predicate });
      this.page.go({ view: "execution", path: encodePath(found), step: found.steps.length });
    });
  }
}

function standing(s) {
  const at = s.text ? ` ${s.pos.line ? s.pos.line + ": " : ""}${s.text}` : "";
  switch (s.state) {
    case "ended": return "■ ended";
    case "stopped": return "✗ stopped by the violation";
    case "blocked": return `‖ blocked${at ? " at" + at : ""}${s.waits ? `, waits for ${s.waits}` : ""}`;
  }
  return `▸ next${at}`;
}

function place(p) {
  return p?.line ? h("span", { class: "place" }, ` ${p.file}:${p.line}`) : null;
}
