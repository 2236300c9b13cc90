// What can be done next, and what blocked threads wait for.

import { h, replace } from "./dom.js";
import { post } from "./api.js";
import { attempt } from "./message.js";
import { encodePath } from "./path.js";
import { standing } from "./standing.js";

export class MovesPane {
  constructor(x) {
    this.x = x; // the execution
    this.asked = 0; // requests for moves, to forget late answers
    this.el = h("div", { class: "panel", id: "moves" });
  }

  async draw() {
    const p = this.x.here();
    this.el.hidden = !p;
    if (!p) return;
    const asked = ++this.asked;
    let list;
    try {
      list = await post("moves", p);
    } catch (e) {
      if (asked === this.asked) replace(this.el, h("p", { class: "note" }, e.message));
      return;
    }
    if (asked !== this.asked) return;
    const { info } = this.x.page;
    const mine = (this.x.path ?? this.x.doc.path).steps[this.x.step];
    const violation = this.x.step ? this.x.doc.rows[this.x.step - 1].violation : this.x.doc.violation;
    const can = list.filter((m) => m.state === "enabled");
    const cannot = list.filter((m) => m.state !== "enabled");
    const predicate = h("input", { type: "text", id: "predicate", placeholder: "counter == 2 && Lock@held", "aria-label": "condition", value: this.predicate ?? "", oninput: (e) => (this.predicate = e.target.value) });
    const focused = document.activeElement?.id === "predicate";
    replace(this.el,
      h("div", { class: "panelhead" }, h("h2", {}, "Next"),
        info.initial > 1 && this.x.step === 0 ? h("label", {}, "initial state ", h("select", { id: "initial", onchange: (e) => this.x.page.go({ view: "execution", path: `${e.target.value}:`, step: 0 }) }, Array.from({ length: info.initial }, (_, i) => h("option", { value: i, selected: i === p.initial }, i + 1)))) : null,
        info.searches?.length ? h("button", { type: "button", id: "searchhere", onclick: () => this.x.page.go({ view: "search", path: encodePath(p) }) }, "search from here") : null),
      h("div", { class: "scroll moves", tabindex: 0, role: "group", "aria-label": "what can be done next" },
        violation ? h("p", { class: "bad" }, "✗ ", violation) : null,
        can.length ? null : h("p", { class: "note" }, cannot.some((m) => m.state === "blocked") ? "No thread is enabled here: ← goes back." : "All threads have ended: ← goes back, Home to the beginning."),
        can.map((m, i) => h("button", {
          type: "button", class: `move${mine && mine[0] === m.step[0] && mine[1] === m.step[1] ? " taken" : ""}`, "data-thread": m.name, title: i < 9 ? `key ${i + 1}` : "", onclick: () => this.take(p, m.step),
        }, h("span", { class: "who" }, i < 9 ? h("kbd", {}, i + 1) : null, m.name), h("span", { class: "text" }, m.pos.line ? h("span", { class: "line" }, `${m.pos.line}: `) : null, m.text),
        m.violation ? h("span", { class: "effect bad" }, `✗ ${m.violation}`) : m.writes.length || m.deeds ? h("span", { class: "effect" }, [...(m.deeds ?? []), ...m.writes.map((w) => `${w.loc} = ${w.value}`)].join(", ")) : null)),
        cannot.map((m) => h("p", { class: "cannot" }, h("span", { class: "who" }, m.name), " ", standing(m)))),
      info.jump ? h("form", { class: "jump", onsubmit: (e) => { e.preventDefault(); this.jump(p, predicate.value); } }, h("label", { for: "predicate" }, "go to the nearest state with "), predicate, h("button", { type: "submit", id: "jump" }, "go")) : null);
    if (focused) predicate.focus();
  }

  // take executes a transition: along the execution if it is the next one there.
  take(p, step) {
    const whole = this.x.path ?? this.x.doc.path;
    const next = whole.steps[this.x.step];
    if (next && next[0] === step[0] && next[1] === step[1]) {
      this.x.at(this.x.step + 1);
      return;
    }
    this.x.page.go({ view: "execution", path: encodePath({ initial: p.initial, steps: [...p.steps, step] }), step: p.steps.length + 1 });
  }

  jump(p, predicate) {
    attempt(async () => {
      const found = await post("jump", { ...p, predicate });
      this.x.page.go({ view: "execution", path: encodePath(found), step: found.steps.length });
    });
  }
}

