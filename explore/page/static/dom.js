// What makes elements. All texts become text nodes or attributes, never markup.

function fill(el, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
    else if (name === "value" || name === "checked" || name === "disabled") el[name] = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
  for (const c of children.flat(Infinity)) {
    if (c === undefined || c === null || c === false) continue;
    el.append(c instanceof Node ? c : document.createTextNode(String(c)));
  }
  return el;
}

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

export function replace(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter((c) => c));
}

// pressable returns what makes an element one that the pointer and the keyboard press.
export function pressable(f) {
  return { role: "button", onclick: f, onkeydown: (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    f(e);
    e.preventDefault();
    e.stopPropagation();
  } };
}

export function count(n) {
  return Number(n).toLocaleString("en-US");
}

export function plural(n, what, many = `${what}s`) {
  return `${count(n)} ${n === 1 ? what : many}`;
}

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (bytes >= 1024 && i < units.length - 1) {
    bytes /= 1024;
    i++;
  }
  return `${bytes < 10 && i > 0 ? bytes.toFixed(1) : Math.round(bytes)} ${units[i]}`;
}

export function short(n) {
  for (const [unit, by] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (n >= by) return `${(n / by).toFixed(n >= 100 * by ? 0 : 1)}${unit}`;
  }
  return String(Math.round(n));
}
