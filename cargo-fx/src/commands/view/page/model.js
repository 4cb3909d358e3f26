// The data as `cargo fx` wrote it, and what follows from it: who reads whom, what became of what, and the tree of modules.

const view = JSON.parse(document.getElementById("data").textContent);
const SIDES = ["before", "after"];

/** The kind of a node, which decides its colour. */
function kindOf(node) {
  if (node.opaque !== undefined) return "opaque";
  // A number that a kernel takes has the origin of all that the kernel is.
  if (node.from && node.from.length > 1 && !node.type?.startsWith("rust<")) return "fused";
  if (node.opcode === "placeholder" || node.opcode === "output") return "port";
  if (node.opcode === "get_attr") return "attribute";
  if (["if", "match", "for", "while"].includes(node.opcode)) return "control";
  return node.opcode === "call_module" ? "layer" : "op";
}

/** The nodes of a side with references instead of numbers. */
function nodesOf(side) {
  const nodes = view[side].nodes;
  nodes.forEach((node, number) => {
    node.side = side;
    node.number = number;
    node.path = node.module === undefined ? undefined : view.modules[node.module][0];
    node.kind = kindOf(node);
    node.inputs = node.in.map((at) => nodes[at]);
    node.users = [];
    node.twins = [];
    node.holder = node.owner === undefined ? undefined : nodes[node.owner];
    // For little room: of a layer's path the end, down from the last name that is no number.
    node.short = (node.layer && node.target.match(/[^.]*[^.\d][^.]*(\.\d+)*$/)?.[0]) || node.name;
    node.calls = node.layer ? `${node.layer} ${node.target}` : node.target;
  });
  nodes.forEach((node) => node.inputs.forEach((input) => input.users.push(node)));
  // What has no module of its own, as a weight that freezing reads, stands where it is read.
  [...nodes].reverse().forEach((node) => {
    if (node.path !== undefined) return;
    const paths = new Set(node.users.map((user) => user.path));
    node.path = node.opcode === "get_attr" && paths.size === 1 ? [...paths][0] : "";
  });
  return nodes;
}

const graph = { before: nodesOf("before"), after: nodesOf("after") };
graph.after.forEach((node) => {
  for (const at of node.from || []) {
    node.twins.push(graph.before[at]);
    graph.before[at].twins.push(node);
  }
});

/** Whether a pass left a node out. A weight without a successor was packed instead. */
function isGone(node) {
  return node.side === "before" && node.twins.length === 0 && node.kind !== "attribute";
}

/** The tree of modules by their paths; the model is at the root, and each holds the nodes that stand in it on either side. */
const tree = new Map();

function moduleAt(path) {
  const known = tree.get(path);
  if (known) return known;
  const cut = path.lastIndexOf(".");
  const outer = path === "" ? undefined : moduleAt(cut < 0 ? "" : path.slice(0, cut));
  const module = { path, name: path.slice(cut + 1), type: "", outer, inner: [], before: [], after: [] };
  tree.set(path, module);
  if (outer) outer.inner.push(module);
  return module;
}

moduleAt("").name = view.model;
view.modules.forEach(([path, type]) => (moduleAt(path).type = type));
SIDES.forEach((side) => graph[side].forEach((node) => moduleAt(node.path)[side].push(node)));

/** The paths of a module and of those around it, outermost first, without the model itself. */
function pathsTo(path) {
  const paths = [];
  for (let module = tree.get(path); module && module.path !== ""; module = module.outer) paths.unshift(module.path);
  return paths;
}

/** All nodes of a side in a module and below it. */
function nodesIn(module, side) {
  return [...module[side], ...module.inner.flatMap((inner) => nodesIn(inner, side))];
}

/** The sum of a figure over nodes; undefined if none of them has it. */
function sum(nodes, figure) {
  const known = nodes.filter((node) => node[figure] !== undefined);
  return known.length ? known.reduce((total, node) => total + node[figure], 0) : undefined;
}

/** A figure as people read it. */
function readable(value, figure) {
  if (value === undefined || value === null) return "";
  if (figure === "ms") return value >= 1 ? `${value.toPrecision(3)} ms` : `${(1000 * value).toPrecision(3)} µs`;
  const unit = figure === "bytes" ? "B" : figure === "flops" ? "FLOP" : "";
  const steps = ["", "k", "M", "G", "T", "P"];
  let step = 0;
  while (value >= 1000 && step < steps.length - 1) [value, step] = [value / 1000, step + 1];
  const digits = step === 0 ? String(value) : value.toPrecision(3);
  return unit ? `${digits} ${steps[step]}${unit}` : digits + steps[step];
}

/** An element of HTML with attributes, and texts or elements within. */
function html(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same of SVG. */
function svg(name, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== ""));
  return element;
}
