// An execution: threads as columns, steps as rows, the source and the state beside it;
// and if there is a program, what can be done next.

import { h, replace, plural } from "./dom.js";
import { get, post } from "./api.js";
import { encodePath, decodePath } from "./path.js";
import { field, nextHit } from "./find.js";
import { Columns } from "./columns.js";
import { Steps } from "./steps.js";
import { Strip } from "./strip.js";
import { SourcePane } from "./sourcepane.js";
import { HistoryPane } from "./history.js";
import { StatePane } from "./statepane.js";
import { MovesPane } from "./movespane.js";
import { PartingPane } from "./parting.js";

export class Execution {
  constructor(page) {
    this.page = page;
    this.step = 0;
    this.build();
  }

  build() {
    const button = (id, text, title, f) => h("button", { type: "button", id, title, "aria-label": title, onclick: f }, text);
    this.choice = h("select", { id: "choice", "aria-label": "which execution", onchange: () => this.page.go({ view: "execution", doc: this.choice.value }) });
    this.where = h("output", { id: "where" });
    this.filter = field("filter", "find in the steps  ( / )", "find in the steps", (direction) => this.search(direction), () => this.steps.el.focus());
    this.hits = h("span", { class: "hits", role: "status" });
    this.headline = h("div", { class: "headline" });
    this.columns = new Columns(() => this.rearranged());
    this.foldAll = h("button", { type: "button", id: "foldall", title: "fold or unfold (F)", onclick: () => this.steps.toggleAll() });
    this.toolbar = h("div", { class: "toolbar" },
      this.choice,
      h("span", { class: "group" },
        button("first", "|◀", "to the beginning (Home)", () => this.at(0)),
        button("back", "◀", "one step back (↑ or ←)", () => this.beside(-1)),
        button("forward", "▶", "one step on (↓ or →)", () => this.beside(1)),
        button("last", "▶|", "to the end (End)", () => this.at(Infinity))),
      this.where, this.columns.el, this.foldAll, this.filter, this.hits);
    this.strip = new Strip((step) => this.at(step));
    this.steps = new Steps(this.columns, {
      at: (step) => this.at(step), step: () => this.step, changed: () => this.refolded(),
      drawn: () => this.strip.show(this.step, ...(this.steps.range ?? [0, 0]), this.steps.matches),
    });
    this.history = new HistoryPane();
    this.moves = new MovesPane(this);
    this.parting = new PartingPane(this);
    this.source = new SourcePane(this);
    this.state = new StatePane(this);
    this.el = h("section", { class: "execution", id: "execution" }, this.headline, this.history.el, this.toolbar, this.strip.el,
      h("div", { class: "split" }, this.steps.el, h("div", { class: "side" }, this.parting.el, this.moves.el, this.source.el, this.state.el)));
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
    this.at(Number(q.step ?? this.begin()));
  }

  // begin returns the step at which an execution is opened: where it fails, where a loop begins,
  // where the cut of a recorded run is.
  begin() {
    const { cut, loop } = this.doc;
    if (cut >= 0) return cut;
    if (loop >= 0) return loop;
    return this.path ? 0 : this.fails;
  }

  load(doc) {
    this.doc = doc;
    this.step = 0;
    // fails is the step that fails; 0 for none.
    this.fails = doc.rows.findLastIndex((r) => r.violation) + 1;
    const { documents } = this.page.info;
    this.choice.hidden = documents.length < 2 && (this.number !== undefined || documents.length === 0);
    const options = documents.map((t, i) => h("option", { value: i }, `${i + 1}: ${t}`));
    if (this.number === undefined) options.unshift(h("option", { value: "" }, this.found !== undefined ? "found by the search" : "by hand"));
    replace(this.choice, options);
    this.choice.value = this.number ?? "";
    this.banner();
    this.history.load(doc.history);
    this.parting.load();
    this.filter.value = "";
    this.hits.textContent = "";
    this.columns.load(doc.columns);
    this.steps.load(doc, this.fails);
    this.strip.load(doc, this.order());
    this.values = this.valuesAt(0);
  }

  // banner says what went wrong, and leads there and to the beginning.
  banner() {
    const { doc } = this;
    const what = doc.title || doc.message || (this.fails ? doc.rows[this.fails - 1].violation : doc.violation);
    const bad = doc.kind !== "detect";
    const to = doc.loop >= 0 ? doc.loop : this.fails;
    const label = doc.loop >= 0 ? `➜ the loop begins after step ${to}` : `➜ step ${to} of ${doc.columns[doc.rows[to - 1]?.column]}`;
    replace(this.headline,
      what ? h("div", { class: bad ? "banner bad" : "banner" },
        h("p", { class: bad ? "what bad" : "what" }, bad ? "✗ " : "", what, place(doc.pos)),
        to || doc.loop >= 0 ? h("button", { type: "button", id: "tofailure", title: "go to where it fails", onclick: () => this.at(to) }, label) : null,
        doc.rows.length ? h("button", { type: "button", id: "tobeginning", onclick: () => this.at(0) }, h("kbd", {}, "Home"), "the beginning") : null) : null,
      doc.notes.map((n) => h("p", { class: "note" }, n)));
  }

  order() {
    return this.columns.order.filter((c) => !this.columns.hidden.has(c));
  }

  // rearranged draws the columns again after the user has changed them.
  rearranged() {
    if (!this.doc) return;
    this.steps.refold();
    this.strip.load(this.doc, this.order());
    this.at(this.step);
  }

  // refolded draws the steps again after some have been folded or unfolded.
  refolded() {
    const { folding } = this.steps;
    // A step in the middle of a run that is folded now: to its end.
    if (this.step > 0) this.step = this.steps.lines[this.steps.lineOf[this.step - 1]].to + 1;
    this.foldAll.setAttribute("aria-pressed", String(!folding));
    this.at(this.step);
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

  // here returns the path to the state that is shown; null if nothing could execute it.
  here() {
    const p = this.path ?? this.doc?.path;
    if (!p || !this.page.info.explore) return null;
    return { initial: p.initial, steps: p.steps.slice(0, this.step) };
  }

  // beside goes a line on (1) or back (-1): a folded run is one line.
  beside(direction) {
    if (this.doc) this.at(this.steps.beside(this.step, direction));
  }

  // at goes to the state after a number of steps.
  at(step) {
    if (!this.doc) return;
    const n = this.doc.rows.length;
    this.step = step = Math.max(0, Math.min(step, n));
    this.where.textContent = n ? `step ${step} of ${n}` : "the beginning";
    const can = (id, yes) => { this.el.querySelector(id).disabled = !yes; };
    can("#back", step > 0);
    can("#first", step > 0);
    can("#forward", step < n);
    can("#last", step < n);
    this.steps.reveal(step);
    const { folds, folding } = this.steps;
    this.foldAll.hidden = folds.length === 0;
    this.foldAll.textContent = folding ? `unfold ${plural(folds.length, "run")}` : "fold";
    this.page.put({ view: "execution", ...this.address() });
    this.values = this.valuesAt(step);
    this.steps.show(step);
    this.source.draw();
    this.state.draw();
    this.moves.draw();
  }

  onKey(e) {
    const editing = ["INPUT", "SELECT", "TEXTAREA"].includes(e.target.tagName);
    if (editing && e.target !== this.strip.slider) return false;
    if (!this.doc) return false;
    switch (e.key) {
      case "ArrowDown": case "ArrowRight": this.beside(1); return true;
      case "ArrowUp": case "ArrowLeft": this.beside(-1); return true;
      case "PageDown": this.at(this.step + 10); return true;
      case "PageUp": this.at(this.step - 10); return true;
      case "Home": this.at(0); return true;
      case "End": this.at(Infinity); return true;
      case "/": this.filter.focus(); this.filter.select(); return true;
      case "n": this.search(1); return true;
      case "N": this.search(-1); return true;
      case "f": { // the run that the step is in
        const f = this.steps.foldAt(this.step);
        if (f) this.steps.toggle(f);
        return true;
      }
      case "F": this.steps.toggleAll(); return true;
      case "!": this.at(this.doc.loop >= 0 ? this.doc.loop : this.fails); return true;
      case "Escape": this.steps.hover(null); return true;
    }
    if (/^[1-9]$/.test(e.key)) {
      const b = this.moves.el.querySelectorAll("button.move")[Number(e.key) - 1];
      b?.click();
      return Boolean(b);
    }
    return false;
  }

  // search finds the rows with the text, and goes to the next (1) or the one before (-1).
  search(direction) {
    const text = this.filter.value.trim().toLowerCase();
    const { rows, columns } = this.doc;
    const found = [];
    if (text) {
      rows.forEach((r, i) => {
        const all = [columns[r.column], r.text, `${r.pos.line}`, r.violation ?? "", ...(r.deeds ?? []), ...r.accesses.map((a) => `${a.loc} = ${a.value}`)].join(" ").toLowerCase();
        if (all.includes(text)) found.push(i);
      });
    }
    this.steps.matches = found;
    this.hits.textContent = text ? plural(found.length, "step") : "";
    if (direction && found.length) {
      this.at(nextHit(found, this.step - 1, direction) + 1);
      return;
    }
    this.steps.draw();
  }
}

function place(p) {
  return p?.line ? h("span", { class: "place" }, ` ${p.file}:${p.line}`) : null;
}
