// A drawing that can be moved and zoomed, with the pointer and with keys.

import { h, svg } from "./dom.js";

export class Canvas {
  constructor(id, label) {
    this.svg = svg("svg", { class: "graph", id, role: "img", "aria-label": label, tabindex: 0 });
    this.el = this.svg;
    this.whole = [200, 120];
    const button = (title, text, f) => h("button", { type: "button", title, onclick: f }, text);
    this.buttons = h("span", { class: "group" }, button("nearer (+)", "+", () => this.zoom(1 / 1.3)), button("farther (−)", "−", () => this.zoom(1.3)), button("all (0)", "all", () => this.fit()));
    this.svg.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.15 : 1 / 1.15, e);
    }, { passive: false });
    let drag = null;
    this.svg.addEventListener("pointerdown", (e) => { drag = [e.clientX, e.clientY, ...this.box]; });
    window.addEventListener("pointerup", () => { drag = null; });
    this.svg.addEventListener("pointermove", (e) => {
      if (!drag) return;
      const f = Math.max(this.box[2] / this.svg.clientWidth, this.box[3] / this.svg.clientHeight);
      this.view([drag[2] - (e.clientX - drag[0]) * f, drag[3] - (e.clientY - drag[1]) * f, this.box[2], this.box[3]]);
    });
  }

  onKey(e) {
    if (["INPUT", "SELECT"].includes(e.target.tagName)) return false;
    const move = (x, y) => this.box && this.view([this.box[0] + x * this.box[2], this.box[1] + y * this.box[3], this.box[2], this.box[3]]);
    switch (e.key) {
      case "+": this.zoom(1 / 1.3); return true;
      case "-": this.zoom(1.3); return true;
      case "0": this.fit(); return true;
      case "ArrowLeft": move(-0.1, 0); return true;
      case "ArrowRight": move(0.1, 0); return true;
      case "ArrowUp": move(0, -0.1); return true;
      case "ArrowDown": move(0, 0.1); return true;
    }
    return false;
  }

  // fit shows everything; what is larger than the most that is given, only its beginning.
  fit(mostWidth = Infinity, mostHeight = Infinity) {
    const [w, ht] = this.whole;
    const f = Math.min(1, Math.max(mostWidth / w, mostHeight / ht));
    this.view([0, 0, Math.max(w * f, 200), Math.max(ht * f, 120)]);
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
