// Which steps are shown as one line: runs of local steps of a thread, of steps within a call of a
// library, and of threads that are hidden; and repetitions of the same steps, after the first.

const SHORTEST = 3; // a run of fewer steps stays as it is
const PERIOD = 16; // the longest sequence whose repetition is noticed

// folds returns runs of steps, { from, to, text, inner }: inner ones may lie within others. None
// contains a violation, or goes beyond the step where a loop or a cut begins.
export function folds(doc, hidden) {
  const { rows, arrows, loop, cut } = doc;
  const ends = new Set(arrows.flatMap((a) => [a.from, a.to]));
  const border = (i) => i === loop || i === cut;
  const why = rows.map((r, i) => {
    if (r.violation) return "";
    if (hidden.has(r.column)) return "of hidden threads";
    if (r.within) return `${r.column}:within a call of a library`;
    if (!r.accesses.length && !r.deeds?.length && !ends.has(i)) return `${r.column}:local`;
    return "";
  });
  const small = [];
  for (let i = 0, j; i < rows.length; i = j) {
    for (j = i + 1; j < rows.length && why[i] && why[j] === why[i] && !border(j); j++);
    const text = why[i].replace(/^\d+:/, "");
    if (!text || j - i < (text === "local" ? SHORTEST : text === "of hidden threads" ? 1 : 2)) continue;
    const n = j - i;
    const steps = `${n} step${n === 1 ? "" : "s"}`;
    small.push({ from: i, to: j - 1, text: text === "local" ? `${n} local steps` : `${steps} ${text}`, inner: true });
  }
  return [...repetitions(rows, small, border), ...small];
}

// repetitions finds sequences that follow each other at least SHORTEST times.
function repetitions(rows, small, border) {
  const signs = new Map();
  const sign = (text) => {
    if (!signs.has(text)) signs.set(text, signs.size);
    return signs.get(text);
  };
  const units = []; // what a line would show: a step, or a run
  const starts = new Map(small.map((f) => [f.from, f]));
  for (let i = 0; i < rows.length;) {
    const f = starts.get(i);
    const r = rows[i];
    const to = f ? f.to : i;
    units.push({ from: i, to, sign: sign(f ? `${r.column}|${f.text}` : `${r.column}|${r.pos.line}|${r.text}`), stop: Boolean(r.violation), border: border(i) });
    i = to + 1;
  }
  const found = [];
  for (let u = 0; u < units.length;) {
    let best = null;
    for (let p = 1; p <= PERIOD && u + 2 * p <= units.length; p++) {
      let end = u + p;
      while (end < units.length && units[end].sign === units[end - p].sign && !units[end].stop && !units[end].border) end++;
      if (units.slice(u, u + p).some((x, k) => x.stop || (k > 0 && x.border))) continue;
      const times = Math.floor((end - u) / p);
      if (times >= SHORTEST && (times - 1) * p >= SHORTEST && (!best || times * p > best.times * best.p)) best = { p, times };
    }
    if (!best) {
      u++;
      continue;
    }
    const first = units[u + best.p], last = units[u + best.times * best.p - 1];
    const n = last.to - first.from + 1;
    found.push({ from: first.from, to: last.to, text: `${best.p === 1 ? "the same step" : `the same ${best.p}`} ${best.times - 1} times more${n === best.times - 1 ? "" : `, ${n} steps`}` });
    u += best.times * best.p;
  }
  return found;
}

// lines returns what the grid shows: { from, to, fold }, without fold for a single step. open says
// which folds are open.
export function lines(n, all, open) {
  const outer = new Map(), inner = new Map();
  for (const f of all) (f.inner ? inner : outer).set(f.from, f);
  const out = [];
  for (let i = 0; i < n;) {
    const fold = [outer.get(i), inner.get(i)].find((f) => f && !open(f));
    const to = fold?.to ?? i;
    out.push({ from: i, to, fold });
    i = to + 1;
  }
  return out;
}
