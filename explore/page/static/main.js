// The page: its views, and the address, in which everything stands that one could want
// to send to a colleague.
//
//   #view=execution&doc=0&step=5       step 5 of execution 0 of the file
//   #view=execution&path=0:1,0.2&step=1  an execution by hand: initial state 0, thread 1,
//                                      then alternative 2 of thread 0
//   #view=search
//   #view=graph&por=cartesian
//   #view=prefix                       the prefix of the unfolding

import { h, replace } from "./dom.js";
import { get } from "./api.js";
import { attempt } from "./message.js";
import { Execution } from "./execution.js";
import { SearchView } from "./search.js";
import { GraphView } from "./graph.js";
import { PrefixView } from "./prefix.js";

class Page {
  constructor(info) {
    this.info = info;
    this.views = {};
    const add = (name, title, view) => (this.views[name] = { title, view });
    add("execution", info.documents.length ? "Execution" : "Explore", new Execution(this));
    if (info.explore) {
      if (info.searches?.length) add("search", "Search", new SearchView(this));
      if (info.reductions?.length) add("graph", "State graph", new GraphView(this));
      if (info.unfolds) add("prefix", "Unfolding", new PrefixView(this));
    }
    const tabs = document.getElementById("tabs");
    if (Object.keys(this.views).length > 1) {
      for (const [name, v] of Object.entries(this.views)) {
        v.tab = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "main", onclick: () => this.go({ view: name, ...v.view.address() }) }, v.title);
        tabs.append(v.tab);
      }
    }
    tabs.hidden = !tabs.children.length;
    tabs.addEventListener("keydown", (e) => { // as is usual for tabs
      const list = [...tabs.children];
      const to = list.indexOf(document.activeElement) + { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!list[to]) return;
      list[to].focus();
      list[to].click();
      e.preventDefault();
      e.stopPropagation();
    });
    replace(document.getElementById("main"), Object.values(this.views).map((v) => v.view.el));
    document.getElementById("title").textContent = info.title;
    document.title = `${info.title} – cpor`;
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.hash) this.read();
    });
    document.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.altKey || e.metaKey) return;
      if (this.views[this.view].view.onKey?.(e)) e.preventDefault();
    });
  }

  // read shows what the address says.
  read() {
    const q = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (!this.views[q.view]) q.view = "execution";
    this.show(q.view);
    attempt(() => this.views[q.view].view.open(q));
  }

  show(name) {
    this.view = name;
    for (const [n, v] of Object.entries(this.views)) {
      v.view.el.hidden = n !== name;
      v.tab?.setAttribute("aria-selected", String(n === name));
    }
  }

  // go shows something else, and puts it into the address.
  go(q) {
    this.put(q, true);
    this.read();
  }

  // put writes the address of what is shown.
  put(q, step) {
    this.hash = "#" + new URLSearchParams(Object.entries(q).filter(([, v]) => v !== undefined)).toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
    if (this.hash === location.hash) return;
    if (step) history.pushState(null, "", this.hash);
    else history.replaceState(null, "", this.hash);
  }
}

// The theme: that of the system until one chooses.
function theme() {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = () => {
    const chosen = localStorage.getItem("theme");
    const now = chosen ?? (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now;
    button.textContent = now === "dark" ? "☀ light" : "☾ dark";
  };
  button.addEventListener("click", () => {
    localStorage.setItem("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    set();
  });
  dark.addEventListener("change", set);
  set();
}

theme();
attempt(async () => {
  const page = new Page(await get("info"));
  page.read();
});
