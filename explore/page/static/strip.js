// The overview of a whole execution in one strip: the steps of each thread in a lane, messages from
// lane to lane, context switches below, failures and what was found as lines across. The slider
// that lies over it goes to a step.

import { h, svg, replace, plural } from "./dom.js";

const HEIGHT = 40;
const LANES = 28; // the height of all lanes
const SWITCHES = 33;

export class Strip {
  constructor(at) {
    this.slider = h("input", { type: "range", min: 0, id: "slider", "aria-label": "step", oninput: () => at(Number(this.slider.value)) });
    this.picture = svg("svg", { class: "overview", preserveAspectRatio: "none", role: "img" });
    this.el = h("div", { class: "strip" }, this.picture, this.slider);
  }

  // load draws an execution. order are the columns, from above.
  load(doc, order) {
    const { rows, arrows } = doc;
    const n = rows.length;
    this.el.hidden = n === 0;
    this.slider.max = n;
    this.n = n;
    this.picture.setAttribute("viewBox", `0 0 ${Math.max(1, n)} ${HEIGHT}`);
    const lane = new Map(order.map((c, i) => [c, i]));
    const tall = Math.min(8, LANES / Math.max(1, order.length));
    const y = (c) => 2 + (lane.get(c) ?? 0) * tall;
    const steps = new Map();
    let switches = "", failures = "", messages = "", count = 0;
    rows.forEach((r, i) => {
      if (lane.has(r.column)) {
        const k = r.column % 6;
        steps.set(k, `${steps.get(k) ?? ""}M${i},${y(r.column) + tall / 2}h1`);
      }
      if (i > 0 && rows[i - 1].column !== r.column) {
        switches += `M${i},${SWITCHES}v5`;
        count++;
      }
      if (r.violation) failures += `M${i + 0.5},0v${HEIGHT}`;
    });
    for (const a of arrows) {
      const [from, to] = a.ends ?? [rows[a.from].column, rows[a.to].column];
      if (lane.has(from) && lane.has(to)) messages += `M${a.from + 0.5},${y(from) + tall / 2}L${a.to + 0.5},${y(to) + tall / 2}`;
    }
    this.window = svg("rect", { class: "window", y: 0, height: HEIGHT });
    this.found = svg("path", { class: "foundline" });
    this.cursor = svg("path", { class: "cursor" });
    replace(this.picture, this.window,
      [...steps].map(([k, d]) => svg("path", { class: `lane s${k}`, d, "stroke-width": Math.max(1, tall - 1) })),
      svg("path", { class: "messageline", d: messages }), svg("path", { class: "switchline", d: switches }),
      this.found, svg("path", { class: "failureline", d: failures }), this.cursor);
    this.picture.setAttribute("aria-label", `overview: ${plural(n, "step")} of ${plural(order.length, "thread")}, ${plural(count, "context switch", "context switches")}, ${plural(arrows.length, "message")}`);
  }

  // show marks the step, the rows in the window, and those that were found.
  show(step, first, last, matches) {
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step} of ${this.n}`);
    this.cursor?.setAttribute("d", `M${step},0v${HEIGHT}`);
    this.window?.setAttribute("x", first);
    this.window?.setAttribute("width", Math.max(0, last - first));
    this.found?.setAttribute("d", matches.map((i) => `M${i + 0.5},0v${HEIGHT}`).join(""));
  }
}
