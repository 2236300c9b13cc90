// Fields that find steps or states.

import { h } from "./dom.js";

// field returns a search field. search is called with 0 when the text changes, and with 1 or -1 to
// go to the next or the previous hit; leave is called after Escape.
export function field(id, placeholder, label, search, leave) {
  const input = h("input", { type: "search", id, placeholder, "aria-label": label, oninput: () => search(0), onkeydown: (e) => {
    if (e.key === "Enter") search(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") {
      input.value = "";
      search(0);
      leave();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  } });
  return input;
}

// nextHit returns the hit after now (1) or before it (-1); after the last comes the first.
export function nextHit(hits, now, direction) {
  return direction > 0 ? hits.find((i) => i > now) ?? hits[0] : hits.findLast((i) => i < now) ?? hits.at(-1);
}
