// Requests to the server. The token stands in the address that the command printed,
// and is kept for the tab when the address changes.

const given = new URLSearchParams(location.search).get("token");
if (given) sessionStorage.setItem("token", given);
const token = given ?? sessionStorage.getItem("token") ?? "";

async function ask(url, init) {
  let r;
  try {
    r = await fetch(url, { ...init, headers: { ...init?.headers, "X-Cpor-Token": token } });
  } catch {
    throw new Error("the command that served this page has ended; start it again");
  }
  const text = await r.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `the server answered ${r.status}`);
  }
  if (!r.ok) throw new Error(answer.error ?? `the server answered ${r.status}`);
  return answer;
}

export function get(name, query) {
  const q = query ? "?" + new URLSearchParams(query) : "";
  return ask(`/api/${name}${q}`);
}

export function post(name, body) {
  return ask(`/api/${name}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

const sources = new Map();

// source returns the lines of a file; an error is shown instead of them.
export function source(name) {
  if (!sources.has(name)) {
    sources.set(name, get("source", { name }).then((s) => ({ lines: s.text.replace(/\n$/, "").split("\n") }), (e) => ({ lines: [], error: e.message })));
  }
  return sources.get(name);
}
