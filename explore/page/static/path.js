// Executions in the address: "0:1,0.2" is initial state 0, thread 1, and then alternative 2
// of thread 0.

export function encodePath(p) {
  return `${p.initial}:${p.steps.map(([t, a]) => (a ? `${t}.${a}` : t)).join(",")}`;
}

export function decodePath(s) {
  const m = /^(\d+):([\d.,]*)$/.exec(s);
  if (!m) throw new Error("the path in the address is damaged");
  const steps = m[2] === "" ? [] : m[2].split(",").map((x) => {
    const [t, a] = x.split(".");
    return [Number(t), Number(a ?? 0)];
  });
  return { initial: Number(m[1]), steps };
}
