// Where a thread is, in words.

export function standing(s) {
  const at = s.text ? ` ${s.pos.line ? s.pos.line + ": " : ""}${s.text}` : "";
  switch (s.state) {
    case "ended": return "■ ended";
    case "stopped": return "✗ stopped by the violation";
    case "blocked": return `‖ blocked${at ? " at" + at : ""}${s.waits ? `, waits for ${s.waits}` : ""}`;
  }
  return `▸ next${at}`;
}
