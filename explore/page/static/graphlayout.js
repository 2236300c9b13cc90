// What the picture of a state graph shows, and where: a mark for each state, or one for all states
// of a wide layer, or one for all states with the same value of a variable.
//
// Layers by distance from the initial states are what a state graph is read by, and what layout
// libraries, which break cycles first, do not give. Within a layer, marks are in the order of the
// middle of their neighbors (the barycenter heuristic of Sugiyama, Tagawa and Toda, 1981). The path
// to a violation is a straight line.

export const DX = 34; // pixels from state to state
export const DY = 58; // and from layer to layer
const LETTER = 7.2;
const SWEEPS = 8;

// WIDE is how many states a layer has that is drawn as one mark.
export const WIDE = 24;

// arrange returns { items, edges, itemOf, width, height, left }. An item has nodes, a layer, x and y,
// the width w and, if it stands for many, a label and a key. options: skip(node) leaves a node out; by is the
// variable to cluster by, -1 for none; collapse: wide layers are one item; opened, by key, are those
// that are not; path, the nodes on the path, in order.
export function arrange(g, options) {
  const items = options.by >= 0 ? clusters(g, options) : states(g, options);
  const itemOf = new Int32Array(g.nodes.length).fill(-1);
  items.forEach((it, k) => it.nodes.forEach((n) => { itemOf[n] = k; }));
  const edges = [];
  const index = new Map();
  g.edges.forEach((e) => {
    const from = itemOf[e.from], to = itemOf[e.to];
    if (from < 0 || to < 0 || options.skipEdge(e)) return;
    const many = items[from].key || items[to].key;
    if (many && from === to) return;
    const key = many ? `${from} ${to}` : `${from} ${to} ${e.column}`;
    let own = index.get(key);
    if (!own) {
      own = { from, to, column: e.column, text: `${g.columns[e.column]}: ${e.text}`, taken: false, n: 0 };
      index.set(key, own);
      edges.push(own);
    } else own.text = "";
    own.n++;
    own.taken ||= e.taken;
  });
  place(items, edges, new Set(options.path.map((n) => itemOf[n])));
  const xs = items.flatMap((it) => [it.x - it.w / 2, it.x + it.w / 2]);
  const left = Math.min(0, ...xs) - DX, right = Math.max(0, ...xs) + DX;
  const layers = items.reduce((most, it) => Math.max(most, it.layer), 0) + 1;
  return { items, edges, itemOf, left, width: right - left, height: layers * DY };
}

// widest returns the largest number of marks side by side.
export function widest(items) {
  const n = new Map();
  for (const it of items) n.set(it.layer, (n.get(it.layer) ?? 0) + 1);
  return Math.max(0, ...n.values());
}

function states(g, { skip, collapse, opened, path }) {
  const layers = [];
  g.nodes.forEach((n, i) => {
    if (!skip(n)) (layers[n.y] ??= []).push(i);
  });
  const onPath = new Set(path);
  return layers.filter(Boolean).flatMap((nodes) => {
    const layer = g.nodes[nodes[0]].y;
    const key = `layer ${layer}`;
    const single = (i) => ({ nodes: [i], layer, w: 14 });
    if (nodes.length <= WIDE || !collapse || opened.has(key)) return nodes.map(single);
    // One item for those of the layer that are not on the path.
    const rest = nodes.filter((i) => !onPath.has(i));
    return [...nodes.filter((i) => onPath.has(i)).map(single), group(rest, layer, key, `${rest.length} states`)];
  });
}

function clusters(g, { skip, by }) {
  const sets = new Map();
  g.nodes.forEach((n, i) => {
    if (skip(n)) return;
    const v = n.values[by] ?? -1;
    if (!sets.has(v)) sets.set(v, []);
    sets.get(v).push(i);
  });
  return [...sets].map(([v, nodes]) => {
    const value = v < 0 ? "–" : g.vars[by].values[v];
    const short = value.length > 34 ? `${value.slice(0, 33)}…` : value;
    return group(nodes, Math.min(...nodes.map((i) => g.nodes[i].y)), `value ${v}`, `${short} (${nodes.length})`, value);
  });
}

function group(nodes, layer, key, label, title) {
  return { nodes, layer, key, label, title: title ?? label, w: label.length * LETTER + 22 };
}

function place(items, edges, path) {
  const layers = [];
  items.forEach((it, k) => {
    it.x = 0;
    it.y = it.layer * DY + DY / 2;
    (layers[it.layer] ??= []).push(k);
  });
  const up = items.map(() => []), down = items.map(() => []);
  for (const e of edges) {
    const d = items[e.to].layer - items[e.from].layer;
    if (d > 0) up[e.to].push(e.from), down[e.from].push(e.to);
    else if (d < 0) up[e.from].push(e.to), down[e.to].push(e.from);
  }
  const spread = (layer) => {
    const fixed = layer.findIndex((k) => path.has(k));
    let x = 0;
    layer.forEach((k) => {
      const room = Math.max(DX, items[k].w + 16);
      items[k].x = x + room / 2;
      x += room;
    });
    // The path runs down in the middle.
    const middle = fixed >= 0 ? items[layer[fixed]].x : x / 2;
    for (const k of layer) items[k].x -= middle;
  };
  const sort = (layer, near) => {
    const mid = new Map(layer.map((k) => [k, near[k].length ? near[k].reduce((sum, j) => sum + items[j].x, 0) / near[k].length : items[k].x]));
    layer.sort((a, b) => mid.get(a) - mid.get(b));
    const fixed = layer.findIndex((k) => path.has(k));
    if (fixed >= 0) layer.splice(Math.floor(layer.length / 2), 0, ...layer.splice(fixed, 1));
    spread(layer);
  };
  const all = layers.filter(Boolean);
  all.forEach(spread);
  for (let s = 0; s < SWEEPS; s++) {
    for (const l of all) sort(l, up);
    for (const l of [...all].reverse()) sort(l, down);
  }
  for (const l of all) sort(l, up);
}
