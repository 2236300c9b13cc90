// The calls of an execution of which no order explains what they return: a lane for each goroutine,
// time running down, and beside it the longest order that fits, what does not, and a test.

import { h, replace } from "./dom.js";

export class HistoryPane {
  constructor() {
    this.el = h("details", { class: "history", id: "history", open: true });
  }

  load(history) {
    this.el.hidden = !history;
    if (!history) return;
    replace(this.el, h("summary", {}, `The calls, which are not ${history.promise}`),
      h("div", { class: "calls", tabindex: 0, role: "group", "aria-label": "the calls and an order of them" },
        lanes(history.calls), h("div", { class: "orders" }, order(history.calls), test(history))));
  }
}

function text(c) {
  if (c.end < 0) return `${c.call} waits`;
  return c.result ? `${c.call} = ${c.result}` : c.call;
}

// lanes draws the calls in a grid: a column for each goroutine, a row for each moment, but one for
// each call before or after all others.
function lanes(calls) {
  const lanes = Math.max(1, ...calls.map((c) => c.goroutine));
  const moments = Math.max(...calls.map((c) => Math.max(c.begin, c.end))) + 1;
  const first = Math.min(moments, ...calls.filter((c) => c.goroutine).map((c) => c.begin));
  const alone = new Set(calls.filter((c) => !c.goroutine && c.end > 0).map((c) => c.end));
  const rows = [];
  let row = 1;
  for (let m = 0; m <= moments; m++) {
    if (m === first) row++; // one has the names
    if (alone.has(m)) row--;
    rows.push(row++);
  }
  const box = (c) => {
    const kind = c.misfit ? "misfit" : c.order ? "ordered" : "other";
    const said = c.misfit ? "does not fit after the order" : c.order ? `call ${c.order} of the order` : "not in the order";
    return h("div", { class: `call ${kind}`, title: `${text(c)}: ${said}`,
      style: { "grid-column": c.goroutine ? String(c.goroutine) : "1 / -1", "grid-row": `${rows[c.begin]} / ${rows[c.end < 0 ? moments : c.end] + 1}` } },
      h("span", { class: "calltext" }, h("b", {}, c.misfit ? "✗ " : c.order ? `${c.order}. ` : ""), c.goroutine ? c.call : text(c)),
      !c.goroutine ? null : c.end < 0 ? h("span", { class: "result" }, "waits") : c.result ? h("span", { class: "result" }, `= ${c.result}`) : null);
  };
  return h("div", { class: "lanes", style: { "grid-template-columns": `repeat(${lanes}, minmax(105px, 240px))`, "grid-template-rows": `repeat(${row - 1}, minmax(20px, auto))` } },
    first < moments ? Array.from({ length: lanes }, (_, g) => h("div", { class: "lanename", style: { "grid-column": String(g + 1), "grid-row": String(rows[first] - 1) } }, `goroutine ${g + 1}`)) : null,
    calls.map(box));
}

// order lists the calls that fit one after the other, and those that do not fit after them.
function order(calls) {
  const ordered = calls.filter((c) => c.order).sort((a, b) => a.order - b.order);
  const misfits = calls.filter((c) => c.misfit);
  return [
    h("p", {}, ordered.length ? "One after the other, the most that fit are" : "No call can come first:"),
    ordered.length ? h("ol", {}, ordered.map((c) => h("li", {}, h("code", {}, text(c))))) : null,
    ordered.length ? h("p", {}, "After these, none of the others fits:") : null,
    h("ul", { class: "misfits" }, misfits.map((c) => h("li", {}, h("code", {}, text(c)), ` (${c.misfit})`))),
  ];
}

// test shows the test of the scenario, which can be copied.
function test(history) {
  if (!history.test) return h("p", {}, "To run this scenario alone, add the option ", h("code", {}, `check.Only(\`${history.scenario}\`)`));
  const copy = h("button", { type: "button", id: "copytest", onclick: async () => {
    await navigator.clipboard.writeText(history.test);
    copy.textContent = "copied";
  } }, "copy");
  return [h("p", {}, "A test of this scenario: ", copy), h("pre", { class: "code", tabindex: 0, role: "group", "aria-label": "the test" }, history.test)];
}
