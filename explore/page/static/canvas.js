// A drawing that can be moved and zoomed, with the pointer and with keys.

import { h, svg } from "./dom.js";

// SMALLEST is how many pixels at least a unit of the drawing has when it is opened.
const SMALLEST = 0.8;
const LARGEST = 1.5; // and at most

export class Canvas {
  constructor(id, label) {
    this.svg = svg("svg", { class: "graph", id, role: "group", "aria-label": `${label}; arrow keys move it, + and − zoom`, tabindex: 0 });
    this.el = this.svg;
    this.whole = [0, 0, 200, 120];
    const button = (title, text, f) => h("button", { type: "button", title, "aria-label": title, onclick: f }, text);
    this.buttons = h("span", { class: "group" }, button("nearer (+)", "+", () => this.zoom(1 / 1.3)), button("farther (−)", "−", () => this.zoom(1.3)), button("all (0)", "all", () => this.all()));
    this.svg.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.15 : 1 / 1.15, e);
    }, { passive: false });
    let drag = null;
    this.svg.addEventListener("pointerdown", (e) => { drag = this.box ? [e.clientX, e.clientY, ...this.box] : null; });
    window.addEventListener("pointerup", () => { drag = null; });
    this.svg.addEventListener("pointermove", (e) => {
      if (!drag) return;
      const f = this.scale();
      this.view([drag[2] - (e.clientX - drag[0]) * f, drag[3] - (e.clientY - drag[1]) * f, this.box[2], this.box[3]]);
    });
  }

  // scale returns how many units a pixel has.
  scale() {
    return Math.max(this.box[2] / (this.svg.clientWidth || 1), this.box[3] / (this.svg.clientHeight || 1));
  }

  onKey(e) {
    if (["INPUT", "SELECT"].includes(e.target.tagName)) return false;
    const move = (x, y) => this.box && this.view([this.box[0] + x * this.box[2], this.box[1] + y * this.box[3], this.box[2], this.box[3]]);
    switch (e.key) {
      case "+": this.zoom(1 / 1.3); return true;
      case "-": this.zoom(1.3); return true;
      case "0": this.all(); return true;
      case "ArrowLeft": move(-0.1, 0); return true;
      case "ArrowRight": move(0.1, 0); return true;
      case "ArrowUp": move(0, -0.1); return true;
      case "ArrowDown": move(0, 0.1); return true;
    }
    return false;
  }

  // all shows everything, however small.
  all() {
    const [x, y, w, ht] = this.whole;
    this.view([x, y, Math.max(w, 200), Math.max(ht, 120)]);
  }

  // open shows everything if it can be recognized then, or else what is around a place, from the
  // top.
  open(x = this.whole[0] + this.whole[2] / 2) {
    const [left, top, w, ht] = this.whole;
    const wide = this.svg.clientWidth || 900, tall = this.svg.clientHeight || 420;
    const width = Math.min(Math.max(w, wide / LARGEST), wide / SMALLEST);
    const height = Math.min(Math.max(ht, tall / LARGEST), tall / SMALLEST);
    this.view([width < w ? Math.max(left, Math.min(left + w - width, x - width / 2)) : left + (w - width) / 2, top, width, height]);
  }

  // show moves a place into the picture.
  show(x, y) {
    if (!this.box) return;
    const [left, top, w, ht] = this.box;
    const inside = x > left + 20 && x < left + w - 20 && y > top + 20 && y < top + ht - 20;
    if (!inside) this.view([x - w / 2, y - ht / 2, w, ht]);
  }

  view(box) {
    this.box = box;
    this.svg.setAttribute("viewBox", box.join(" "));
    this.svg.setAttribute("preserveAspectRatio", "xMidYMin meet");
  }

  zoom(f, e) {
    if (!this.box) return;
    const [x, y, w, ht] = this.box;
    if (w * f < 40 || w * f > 1e6) return;
    let px = x + w / 2, py = y + ht / 2;
    if (e) {
      const m = this.svg.getScreenCTM();
      if (m) {
        const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(m.inverse());
        [px, py] = [p.x, p.y];
      }
    }
    this.view([px - (px - x) * f, py - (py - y) * f, w * f, ht * f]);
  }
}
