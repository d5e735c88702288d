"use strict";
// The page of a model: see html.rs for what it does, and layout.rs for how the layout works.
const data = JSON.parse(document.getElementById("data").textContent);
const HEIGHT = 40, GAP_X = 24, GAP_Y = 36, LETTER = 7.3, LONGEST = 24, SWEEPS = 4;
const LARGE = 1500; // More nodes than this begin with their modules collapsed.

function element(name, attributes, parent, text) {
  const inSvg = parent && (parent.namespaceURI || "").endsWith("svg");
  const made = inSvg || name === "svg"
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function mean(values) {
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

// ---- What is shown: nodes, and one box for each collapsed module. ----

const collapsed = new Set();

/** The outermost collapsed module that a node is in. */
function collapsedModule(path) {
  let end = -1;
  while (path && (end = path.indexOf(".", end + 1)) >= 0) if (collapsed.has(path.slice(0, end))) return path.slice(0, end);
  return path && collapsed.has(path) ? path : null;
}

function visible(graph) {
  const boxes = [], boxOf = [], groups = new Map();
  graph.nodes.forEach((node, i) => {
    const module = collapsedModule(node.module);
    if (module === null) {
      boxOf[i] = boxes.length;
      const called = node.calls.split("(")[0] || node.target;
      const lines = [node.name, [called === node.name ? "" : called, node.shape].filter(Boolean).join(" ")];
      boxes.push({ node, key: node.name, lines, inputs: new Set() });
    } else {
      if (!groups.has(module)) {
        groups.set(module, boxes.length);
        boxes.push({ module, key: "module:" + module, count: 0, inputs: new Set() });
      }
      boxOf[i] = groups.get(module);
      const box = boxes[boxOf[i]];
      box.count += 1;
      box.last = node;
      box.lines = [module, `${box.count} nodes ${node.shape}`];
    }
  });
  graph.nodes.forEach((node, i) => node.inputs.forEach((input) => {
    // A call of a shared module may go back up; such an edge is drawn from above all the same.
    const [from, to] = [boxOf[input], boxOf[i]];
    if (from !== to) boxes[Math.max(from, to)].inputs.add(Math.min(from, to));
  }));
  return boxes;
}

// ---- Layout: the steps of layout.rs. ----

function layout(boxes) {
  const width = boxes.map((box) => Math.max(...box.lines.map((line) => line.length)) * LETTER + 20);
  const layer = boxes.map(() => 0);
  boxes.forEach((box, to) => box.inputs.forEach((from) => { layer[to] = Math.max(layer[to], layer[from] + 1); }));
  const lowest = boxes.map(() => Infinity);
  boxes.forEach((box, to) => box.inputs.forEach((from) => { lowest[from] = Math.min(lowest[from], layer[to]); }));
  boxes.forEach((box, i) => { if (!box.inputs.size && lowest[i] < Infinity) layer[i] = lowest[i] - 1; });
  const above = boxes.map(() => []), below = boxes.map(() => []), paths = [];
  boxes.forEach((box, to) => box.inputs.forEach((from) => {
    const path = [from], near = layer[to] - layer[from] <= LONGEST;
    for (let between = layer[from] + 1; near && between < layer[to]; between++) {
      path.push(width.length);
      width.push(4); layer.push(between); above.push([]); below.push([]);
    }
    path.push(to);
    for (let i = 1; near && i < path.length; i++) { above[path[i]].push(path[i - 1]); below[path[i - 1]].push(path[i]); }
    paths.push({ path, from, to });
  }));
  const rows = [];
  layer.forEach((row, i) => (rows[row] = rows[row] || []).push(i));
  for (let i = 0; i < rows.length; i++) rows[i] = rows[i] || [];
  order(rows, above, below);
  const x = place(rows, width, above, below);
  const at = (i) => [x[i], layer[i] * (HEIGHT + GAP_Y)];
  return { width, centers: boxes.map((_, i) => at(i)), paths: paths.map((path) => ({ ...path, points: path.path.map(at) })) };
}

function order(rows, above, below) {
  const at = [];
  for (let sweep = 0; sweep <= SWEEPS; sweep++) {
    const down = sweep % 2 === 0, neighbours = down ? above : below;
    for (let step = 0; step < rows.length; step++) {
      const row = down ? step : rows.length - 1 - step;
      const keyed = rows[row].map((node, i) => [mean(neighbours[node].map((n) => at[n] || 0)) ?? i, node]);
      keyed.sort((a, b) => a[0] - b[0]);
      rows[row] = keyed.map(([, node], i) => { at[node] = i; return node; });
    }
  }
}

function place(rows, width, above, below) {
  const x = width.map(() => 0);
  rows.forEach((row) => spread(row, width, row.map(() => 0), x));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let step = 0; step < rows.length; step++) {
      const row = rows[sweep % 2 === 0 ? step : rows.length - 1 - step];
      const wanted = row.map((node) => mean([...above[node], ...below[node]].map((n) => x[n])) ?? x[node]);
      spread(row, width, wanted, x);
    }
  }
  return x;
}

function spread(row, width, wanted, x) {
  const offsets = [], blocks = [];
  row.forEach((node, i) => {
    offsets.push(i === 0 ? 0 : offsets[i - 1] + (width[row[i - 1]] + width[node]) / 2 + GAP_X);
    let block = [wanted[i] - offsets[i], 1];
    while (blocks.length && blocks.at(-1)[0] / blocks.at(-1)[1] > block[0] / block[1]) {
      const [sum, count] = blocks.pop();
      block = [block[0] + sum, block[1] + count];
    }
    blocks.push(block);
  });
  let i = 0;
  for (const [sum, count] of blocks) for (let k = 0; k < count; k++, i++) x[row[i]] = sum / count + offsets[i];
}

// ---- Drawing. ----

const panes = [];
let chosen = null;

function curve(points) {
  return points.map(([x, y], i) => {
    const top = y + (i === points.length - 1 ? -HEIGHT / 2 : i === 0 ? HEIGHT / 2 : 0);
    if (i === 0) return `M${x} ${top}`;
    const before = points[i - 1][1] + (i === 1 ? HEIGHT / 2 : 0), middle = (before + top) / 2;
    return `C${points[i - 1][0]} ${middle} ${x} ${middle} ${x} ${top}`;
  }).join("");
}

/** What a pass did to a node: `added`, `removed`, `changed`, or nothing. */
function change(graph, node) {
  if (data.graphs.length < 2 || !node) return "";
  const other = graph === data.graphs[0] ? data.graphs[1] : data.graphs[0];
  const same = other.byName.get(node.name);
  if (!same) return graph === data.graphs[0] ? "removed" : "added";
  return same.text.replace(/\[num_users=\d+\]/, "") === node.text.replace(/\[num_users=\d+\]/, "") ? "" : "changed";
}

function draw(pane) {
  const boxes = visible(pane.graph), { width, centers, paths } = layout(boxes);
  pane.view.replaceChildren();
  pane.boxes = new Map();
  paths.forEach(({ points, from, to }) => {
    const edge = element("path", { class: "edge", d: curve(points), "marker-end": "url(#arrow)" }, pane.view);
    edge.dataset.ends = boxes[from].key + " " + boxes[to].key;
  });
  boxes.forEach((box, i) => {
    const [x, y] = centers[i], kind = box.node ? change(pane.graph, box.node) : "group";
    const group = element("g", { class: "node " + kind, transform: `translate(${x} ${y})` }, pane.view);
    const rect = { x: -width[i] / 2, y: -HEIGHT / 2, width: width[i], height: HEIGHT };
    element("rect", box.node ? { ...rect, fill: box.node.color } : rect, group);
    element("text", { class: "name", y: -4 }, group, box.lines[0]);
    element("text", { y: 12 }, group, box.lines[1]);
    group.addEventListener("click", () => choose(box.key));
    group.addEventListener("dblclick", () => toggle(box.node ? box.node.module : box.module));
    pane.boxes.set(box.key, { box, group, x, y });
  });
  pane.bounds = pane.view.getBBox();
}

function fit(pane) {
  const { width, height } = pane.svg.getBoundingClientRect(), bounds = pane.bounds;
  // Wide enough to read: a long model is shown from its top.
  pane.scale = Math.min(1.2, Math.max(0.6, Math.min(width / (bounds.width + 40), height / (bounds.height + 40))));
  pane.x = width / 2 - (bounds.x + bounds.width / 2) * pane.scale;
  pane.y = 40 - bounds.y * pane.scale;
  move(pane);
}

function move(pane) {
  pane.view.setAttribute("transform", `translate(${pane.x} ${pane.y}) scale(${pane.scale})`);
}

function center(pane, key) {
  const found = pane.boxes.get(key);
  if (!found) return;
  const { width, height } = pane.svg.getBoundingClientRect();
  [pane.x, pane.y] = [width / 2 - found.x * pane.scale, height / 2 - found.y * pane.scale];
  move(pane);
}

function addPane(graph, parent) {
  const holder = element("div", { class: "pane" }, parent);
  if (graph.name) element("h2", {}, holder, graph.name);
  const svg = element("svg", {}, holder);
  const marker = element("marker",
    { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, element("defs", {}, svg));
  element("path", { d: "M0 0L8 4L0 8z", fill: "#888" }, marker);
  const pane = { graph, svg, view: element("g", {}, svg), x: 0, y: 0, scale: 1 };
  svg.addEventListener("pointerdown", (event) => { pane.drag = [event.clientX - pane.x, event.clientY - pane.y]; });
  window.addEventListener("pointermove", (event) => {
    if (!pane.drag) return;
    [pane.x, pane.y] = [event.clientX - pane.drag[0], event.clientY - pane.drag[1]];
    move(pane);
  });
  window.addEventListener("pointerup", () => { pane.drag = null; });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = svg.getBoundingClientRect(), [x, y] = [event.clientX - frame.x, event.clientY - frame.y];
    const factor = Math.exp(-event.deltaY / 500), scale = Math.min(8, Math.max(0.02, pane.scale * factor));
    pane.x = x - (x - pane.x) * (scale / pane.scale);
    pane.y = y - (y - pane.y) * (scale / pane.scale);
    pane.scale = scale;
    move(pane);
  }, { passive: false });
  panes.push(pane);
}

// ---- Details, search, modules. ----

function choose(key) {
  chosen = key;
  for (const pane of panes) {
    pane.boxes.forEach(({ group }, have) => group.classList.toggle("chosen", have === key));
    pane.view.querySelectorAll(".edge").forEach((edge) => {
      edge.classList.toggle("chosen", edge.dataset.ends.split(" ").includes(key));
    });
  }
  details.replaceChildren();
  for (const pane of panes) {
    const found = pane.boxes.get(key);
    if (found) describe(pane, found.box);
  }
}

function describe(pane, box) {
  if (pane.graph.name) element("h2", {}, details, pane.graph.name);
  const list = element("dl", {}, details);
  const row = (title, text) => { if (text) { element("dt", {}, list, title); element("dd", {}, list, text); } };
  if (!box.node) {
    row("module", box.module);
    row("nodes", String(box.count));
    return;
  }
  const node = box.node, nodes = pane.graph.nodes;
  row("node", node.name);
  row("text", node.text);
  row("calls", node.calls);
  row("shape", node.shape);
  row("source", node.source);
  row("generated code", node.code);
  row("module", node.module);
  const links = (title, others) => {
    if (!others.length) return;
    element("dt", {}, list, title);
    const place = element("dd", {}, list);
    others.forEach((other) => {
      element("a", {}, place, other.name).addEventListener("click", () => show(other.name));
      place.append(" ");
    });
  };
  links("inputs", node.inputs.map((input) => nodes[input]));
  const place = nodes.indexOf(node);
  links("users", nodes.filter((other) => other.inputs.includes(place)));
}

/** Shows a node in every pane that has it, with its module expanded. */
function show(name) {
  for (const { graph } of panes) {
    const node = graph.byName.get(name);
    for (let module; node && (module = collapsedModule(node.module)) !== null;) collapsed.delete(module);
  }
  redraw();
  choose(name);
  panes.forEach((pane) => center(pane, name));
}

function find() {
  const text = search.value.trim().toLowerCase();
  const fields = (node) => [node.name, node.target, node.shape, node.module, node.calls].join("\n").toLowerCase();
  const names = new Set();
  for (const { graph } of panes) {
    graph.nodes.forEach((node) => { if (text && fields(node).includes(text)) names.add(node.name); });
  }
  for (const pane of panes) {
    pane.boxes.forEach(({ group }, key) => group.classList.toggle("found", names.has(key)));
  }
  found.textContent = text ? `${names.size} found, Enter goes to the next` : "";
  return [...names];
}

function toggle(module) {
  if (!module) return;
  if (!collapsed.delete(module)) collapsed.add(module);
  redraw();
}

function listModules() {
  const paths = new Map();
  for (const graph of data.graphs) {
    for (const node of graph.nodes) {
      const parts = node.module ? node.module.split(".") : [];
      parts.forEach((_, i) => {
        const path = parts.slice(0, i + 1).join(".");
        paths.set(path, (paths.get(path) || 0) + 1);
      });
    }
  }
  modules.replaceChildren();
  for (const [path, count] of paths) {
    const depth = path.split(".").length - 1, mark = collapsed.has(path) ? "\u25b8" : "\u25be";
    const line = element("div", { style: `padding-left: ${depth * 14}px` }, modules, `${mark} ${path.split(".").at(-1)} (${count})`);
    line.addEventListener("click", () => toggle(path));
  }
  return paths;
}

function redraw() {
  panes.forEach(draw);
  listModules();
  find();
  if (chosen) choose(chosen);
}

const side = element("aside", {}, document.body);
element("h1", {}, side, data.title);
const search = element("input", { type: "search", placeholder: "search name, target, shape, module" }, side);
const found = element("div", { id: "found" }, side);
if (data.graphs.length > 1) element("div", { id: "legend" }, side, "green added, red removed, orange changed");
const modules = element("div", { id: "modules" }, side);
const details = element("div", { id: "details" }, side, "Click a node for details; double-click it to collapse its module.");
const stage = element("main", {}, document.body);
for (const graph of data.graphs) {
  graph.byName = new Map(graph.nodes.map((node) => [node.name, node]));
  addPane(graph, stage);
}
let next = 0;
search.addEventListener("input", () => { next = 0; find(); });
search.addEventListener("keydown", (event) => {
  const names = event.key === "Enter" ? find() : [];
  if (names.length) show(names[next++ % names.length]);
});
if (data.graphs.some((graph) => graph.nodes.length > LARGE)) {
  for (const path of listModules().keys()) if (!path.includes(".")) collapsed.add(path);
}
redraw();
panes.forEach(fit);
document.body.dataset.ready = String(Math.round(performance.now()));
