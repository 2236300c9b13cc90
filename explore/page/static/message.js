// The message at the top of the page.

import { h, replace } from "./dom.js";

const message = document.getElementById("message");

function tell(text) {
  message.hidden = !text;
  replace(message, text ? [document.createTextNode(text), h("button", { type: "button", title: "close", onclick: () => tell("") }, "×")] : []);
}

// attempt runs what may fail, and shows why it did.
export async function attempt(f) {
  try {
    tell("");
    return await f();
  } catch (e) {
    tell(e.message);
  }
}
