// The values of all variables in a state, what the step has changed, and a comparison of two states.

import { h, replace, plural } from "./dom.js";
import { standing } from "./standing.js";

export class StatePane {
  constructor(x) {
    this.x = x; // the execution
    this.varFilter = h("input", { type: "search", id: "varfilter", placeholder: "which variables", "aria-label": "which variables", oninput: () => this.draw() });
    this.onlyChanged = h("input", { type: "checkbox", id: "onlychanged", onchange: () => this.draw() });
    this.markButton = h("button", { type: "button", id: "mark", onclick: () => this.toggleMark() });
    this.stateBody = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "variables" });
    this.el = h("div", { class: "panel", id: "state" }, h("div", { class: "panelhead" }, h("h2", {}, "State"), this.varFilter,
      h("label", {}, this.onlyChanged, " changed only"), this.markButton), this.stateBody);
  }

  name(v) {
    return `${v.group}\u0000${v.name}`;
  }

  toggleMark() {
    if (this.marked) this.marked = null;
    else {
      this.marked = { title: this.x.step ? `step ${this.x.step}` : "the beginning", values: new Map(this.x.doc.vars.map((v, i) => [this.name(v), this.x.values[i]])) };
    }
    this.draw();
  }

  draw() {
    const { vars, columns, rows } = this.x.doc;
    this.markButton.textContent = this.marked ? "end the comparison" : "compare with…";
    this.markButton.title = this.marked ? "" : "keep this state, to compare others with it";
    const changed = new Map();
    if (this.x.step > 0) {
      const before = this.x.valuesAt(this.x.step - 1);
      for (const s of rows[this.x.step - 1].set) if (before[s.var] !== s.value) changed.set(s.var, before[s.var]);
    }
    const stands = this.x.standingAt(this.x.step);
    const text = this.varFilter.value.trim().toLowerCase();
    const groups = new Map([["shared", []]]);
    for (const c of columns) groups.set(c, []);
    let differ = 0;
    vars.forEach((v, i) => {
      const kept = this.marked?.values.get(this.name(v)) ?? "";
      const differs = this.marked && kept !== this.x.values[i];
      if (differs) differ++;
      if (text && !`${v.group}.${v.name}`.toLowerCase().includes(text)) return;
      if (this.onlyChanged.checked && !(this.marked ? differs : changed.has(i))) return;
      if (this.x.values[i] === "" && kept === "") return;
      const was = changed.get(i);
      const row = h("tr", { class: differs || (!this.marked && was !== undefined) ? "changed" : "" },
        h("td", { class: "mark" }, this.marked ? (differs ? "≠" : "") : was !== undefined ? "●" : ""),
        h("td", { class: "name" }, v.name),
        this.marked ? h("td", { class: "value" }, kept || "–") : null,
        h("td", { class: "value" }, this.x.values[i] || "–", !this.marked && was ? h("span", { class: "was" }, ` was ${was}`) : null));
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
    const head = this.marked ? h("thead", {}, h("tr", {}, h("th"), h("th"), h("th", {}, this.marked.title), h("th", {}, this.x.step ? `step ${this.x.step}` : "the beginning"))) : null;
    replace(this.stateBody, note, body.length ? h("table", { class: "vars" }, head, body) : h("p", { class: "note" }, this.empty(text)));
  }

  // empty says why there is nothing, and what to do.
  empty(text) {
    if (!this.x.doc.vars.length) return "There are no variables.";
    if (text) return "No variable has this name: clear the field to see all.";
    if (this.onlyChanged.checked) return "Nothing has changed here: step on with ↓, or clear \"changed only\".";
    return "No variable has a value yet: step on with ↓.";
  }
}
