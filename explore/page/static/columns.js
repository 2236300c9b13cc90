// The columns of an execution: which are hidden, pinned to the left, in which order they stand, and
// which are folded because their threads do nothing from here on.

import { h, replace } from "./dom.js";

export const GUTTER = 58; // pixels
const MINWIDTH = 136;
const FOLDED = 34;

export class Columns {
  // changed is called when the user has changed something.
  constructor(changed) {
    this.changed = changed;
    this.list = h("ul", { class: "threadlist" });
    this.idle = h("select", { id: "idle", onchange: () => changed() },
      h("option", { value: "room" }, "fold if there is no room"), h("option", { value: "fold" }, "fold"), h("option", { value: "show" }, "show"));
    this.summary = h("summary", { id: "threads" }, "threads");
    this.el = h("details", { class: "threads" }, this.summary,
      h("div", { class: "popup" },
        h("p", {}, h("label", {}, "threads without a step from here on ", this.idle)), this.list,
        h("p", { class: "note" }, "Columns can also be dragged by their names.")));
    this.el.addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      this.el.open = false;
      this.summary.focus();
      e.stopPropagation();
    });
  }

  load(names) {
    const old = this.names ?? [];
    const same = old.every((name, i) => i >= names.length || names[i] === name);
    if (same && old.length === names.length) return;
    this.names = names;
    if (same && old.length) { // an execution by hand, in which threads begin or do not exist yet
      this.order = [...this.order.filter((c) => c < names.length), ...names.map((_, i) => i).slice(old.length)];
    } else {
      this.order = names.map((_, i) => i);
      this.hidden = new Set();
      this.pinned = new Set();
    }
    this.el.hidden = names.length < 2;
    this.menu();
  }

  // menu lists the threads; focus is the id of what has the focus afterwards.
  menu(focus) {
    const change = (f, id) => () => {
      f();
      this.menu(id);
      this.changed();
    };
    this.summary.textContent = this.hidden.size ? `threads (${this.hidden.size} hidden)` : "threads";
    replace(this.list, this.order.map((c, i) => h("li", {},
      h("label", {}, h("input", { type: "checkbox", checked: !this.hidden.has(c), id: `show-${c}`, onchange: change(() => toggle(this.hidden, c), `show-${c}`) }), " ", this.names[c]),
      h("button", { type: "button", id: `pin-${c}`, "aria-pressed": String(this.pinned.has(c)), "aria-label": `${this.pinned.has(c) ? "unpin" : "pin"} ${this.names[c]}`, title: "keep it at the left", onclick: change(() => toggle(this.pinned, c), `pin-${c}`) }, this.pinned.has(c) ? "unpin" : "pin"),
      h("button", { type: "button", id: `up-${c}`, disabled: i === 0, "aria-label": `← move ${this.names[c]} to the left`, onclick: change(() => this.move(c, this.order[i - 1]), `up-${c}`) }, "←"),
      h("button", { type: "button", id: `down-${c}`, disabled: i === this.order.length - 1, "aria-label": `→ move ${this.names[c]} to the right`, onclick: change(() => this.move(c, this.order[i + 1]), `down-${c}`) }, "→"))));
    if (focus) this.list.querySelector(`#${focus}`)?.focus();
  }

  // move puts column c where column to stands.
  move(c, to) {
    const from = this.order.indexOf(c), at = this.order.indexOf(to);
    if (from < 0 || at < 0) return;
    this.order.splice(from, 1);
    this.order.splice(at, 0, c);
  }

  drop(c, to) {
    this.move(c, to);
    this.menu();
    this.changed();
  }

  // layout returns where the columns stand in a grid of some width: shown, a list of { x, width,
  // columns, pinned, folded }; place, by column, the entry that it is in; and the width of all and
  // of the pinned ones. active are the columns that are not folded.
  layout(available, active) {
    const seen = this.order.filter((c) => !this.hidden.has(c));
    const pinned = seen.filter((c) => this.pinned.has(c)), others = seen.filter((c) => !this.pinned.has(c));
    const fold = this.idle.value === "fold" || (this.idle.value === "room" && GUTTER + seen.length * MINWIDTH > available);
    const shown = pinned.map((c) => ({ columns: [c], pinned: true }));
    for (const c of others) {
      const last = shown.at(-1);
      if (!fold || active.has(c)) shown.push({ columns: [c] });
      else if (last?.folded) last.columns.push(c);
      else shown.push({ columns: [c], folded: true });
    }
    const folded = shown.filter((s) => s.folded).length;
    const width = Math.max(MINWIDTH, Math.floor((available - GUTTER - 2 - folded * FOLDED) / Math.max(1, shown.length - folded)));
    const place = new Map();
    let x = GUTTER, pinnedWidth = 0;
    for (const s of shown) {
      s.x = x;
      s.width = s.folded ? FOLDED : width;
      x += s.width;
      if (s.pinned) pinnedWidth += s.width;
      for (const c of s.columns) place.set(c, s);
    }
    return { shown, place, all: x, pinnedWidth };
  }
}

function toggle(set, x) {
  if (!set.delete(x)) set.add(x);
}
