// The source, with the line that was executed, where each thread is, and the line that fails.

import { h, replace } from "./dom.js";
import { source } from "./api.js";

export class SourcePane {
  constructor(x) {
    this.x = x; // the execution
    this.el = h("div", { class: "panel source", id: "source" });
    new ResizeObserver(() => this.reveal()).observe(this.el); // other panels take room from it
  }

  async draw() {
    const { doc, step } = this.x;
    const { rows, columns } = doc;
    const done = step > 0 ? rows[step - 1] : null;
    const stands = this.x.standingAt(step);
    const files = [...new Set([done?.pos.file, ...stands.map((s) => s?.pos.file), this.x.page.info.file, doc.pos.file].filter(Boolean))];
    if (!files.length) {
      this.el.hidden = true;
      return;
    }
    this.el.hidden = false;
    const file = files.includes(this.file) && this.pinned === step ? this.file : done?.pos.file || files[0];
    const src = await source(file);
    if (step !== this.x.step || doc !== this.x.doc) return; // it is late
    if (this.file !== file || !this.sourceLines) {
      this.file = file;
      this.sourceLines = src.lines.map((text, i) => h("div", { class: "srcline" }, h("span", { class: "no" }, i + 1), h("span", { class: "at" }), h("code", {}, text || " ")));
      this.sourceScroll = h("div", { class: "scroll code", tabindex: 0, role: "group", "aria-label": file }, src.error ? h("p", { class: "note" }, src.error) : this.sourceLines);
    }
    replace(this.el, h("div", { class: "panelhead" }, h("h2", {}, "Source"),
      files.length > 1 ? h("select", { "aria-label": "file", onchange: (e) => { this.file = e.target.value; this.sourceLines = null; this.pinned = this.x.step; this.draw(); } }, files.map((f) => h("option", { value: f, selected: f === file }, f))) : h("span", { class: "filename" }, file)), this.sourceScroll);
    const at = new Map();
    for (const s of stands) {
      if (s && s.state !== "ended" && s.state !== "stopped" && s.pos.file === file) at.set(s.pos.line, [...(at.get(s.pos.line) ?? []), s]);
    }
    const failed = doc.kind && doc.pos.file === file ? doc.pos.line : 0;
    let focus;
    this.sourceLines.forEach((el, i) => {
      const here = at.get(i + 1) ?? [];
      const was = done && done.pos.file === file && done.pos.line === i + 1;
      el.className = `srcline${was ? " done" : ""}${here.length ? " next" : ""}${failed === i + 1 ? " fails" : ""}`;
      replace(el.children[1], failed === i + 1 ? h("span", { class: "badge failing", title: doc.title }, "✗ fails here") : null, was ? h("span", { class: "badge was", title: `${columns[done.column]} has executed this` }, `✓ ${columns[done.column]}`) : null,
        here.map((s) => h("span", { class: `badge ${s.state}`, title: `${columns[s.column]} is here: ${s.state}${s.waits ? ", waits for " + s.waits : ""}` }, `${s.state === "blocked" ? "‖" : "▸"} ${columns[s.column]}`)));
      if (was || (!focus && !done && here.length)) focus = el;
      if (failed === i + 1 && step === rows.length && (!focus || !was)) focus ??= el;
    });
    this.focus = focus;
    this.reveal();
  }

  // reveal scrolls to the line, with some lines around it.
  reveal() {
    const box = this.sourceScroll;
    if (!this.focus?.isConnected || !box) return;
    const y = this.focus.offsetTop;
    if (y < box.scrollTop + 20 || y > box.scrollTop + box.clientHeight - 60) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
  }
}
