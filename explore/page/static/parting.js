// Where a recorded run and a model part: what the run continues with, and what the model could do.

import { h, replace } from "./dom.js";

export class PartingPane {
  constructor(x) {
    this.x = x; // the execution
    this.el = h("div", { class: "panel", id: "parting" });
  }

  load() {
    const p = this.x.doc.parting;
    this.el.hidden = !p;
    if (!p) return;
    const { columns } = this.x.doc;
    replace(this.el,
      h("div", { class: "panelhead" }, h("h2", {}, "Where log and model part"),
        h("button", { type: "button", id: "tocut", onclick: () => this.x.at(this.x.doc.cut) }, "go there")),
      h("div", { class: "scroll moves", tabindex: 0, role: "group", "aria-label": "what comes next, and what the model could do" },
        h("h3", {}, "The log continues with"),
        p.next.map((n) => h("button", { type: "button", class: "move coming", disabled: n.row < 0, onclick: () => this.x.at(n.row + 1) },
          h("span", { class: "who" }, columns[n.column]), h("span", { class: "text" }, n.text),
          n.after.length ? h("span", { class: "effect" }, `after ${n.after.join(", ")}`) : null)),
        h("h3", {}, "There the model could do"),
        p.offers.length ? p.offers.map((o) => h("div", { class: "offer" },
          h("p", {}, h("span", { class: "who" }, o.host && o.host !== o.thread ? `${o.thread} (${o.host})` : o.thread), " ", o.does || "nothing"),
          h("p", { class: "why" }, `but ${o.why}`),
          h("p", { class: "note" }, h("span", { class: "place" }, `${o.pos.file}:${o.pos.line}: `), h("code", {}, o.text)))) : h("p", { class: "note" }, "nothing")));
  }
}
