// Which modules are folded, on both sides alike, and the boxes that this leaves to draw.

/** More boxes than this are too many to begin with. */
const AT_FIRST = 120;

/** The letters of a line of a box. */
const LONGEST = 34;

const folded = new Set();

/** The outermost folded module that a node stands in. */
function foldOf(node) {
  return pathsTo(node.path).find((path) => folded.has(path));
}

/** The boxes of a side: a node each, or all nodes of a folded module. */
function boxesOf(side) {
  const boxes = [];
  const byFold = new Map();
  const byNode = new Map();
  for (const node of graph[side]) {
    const path = foldOf(node);
    let box = path === undefined ? undefined : byFold.get(path);
    if (!box) {
      box = { side, module: path === undefined ? undefined : tree.get(path), nodes: [], inputs: new Set(), users: new Set() };
      boxes.push(box);
      if (path !== undefined) byFold.set(path, box);
    }
    box.nodes.push(node);
    byNode.set(node, box);
  }
  for (const box of boxes) {
    for (const input of box.nodes.flatMap((node) => node.inputs)) {
      const source = byNode.get(input);
      if (source !== box) [box.inputs.add(source), source.users.add(box)];
    }
    const holder = box.nodes[0].holder && byNode.get(box.nodes[0].holder);
    box.holder = holder === box ? undefined : holder;
    describe(box);
  }
  return { boxes, byNode };
}

function clipped(text, atFront) {
  if (text.length <= LONGEST) return text;
  return atFront ? `…${text.slice(1 - LONGEST)}` : `${text.slice(0, LONGEST - 1)}…`;
}

/** The lines of a box, its class, and how large it is. */
function describe(box) {
  const first = box.nodes[0];
  if (box.module) {
    box.kind = "module";
    box.lines = [box.module.path, box.module.type || "module", `${box.nodes.length} nodes`];
    box.isOpaque = box.nodes.some((node) => node.kind === "opaque");
  } else {
    const name = first.branch ? `${first.branch}: ${first.name}` : first.name;
    box.kind = first.kind;
    const calls = first.layer ? `${first.layer} ${first.short}` : first.target;
    const parts = first.kind === "fused" ? first.twins.map((twin) => twin.short).join(" + ") : calls;
    box.lines = [name, parts === first.name ? first.opcode : parts, first.type || ""];
    box.isGone = isGone(first);
    if (first.kind === "opaque") box.lines[2] = "not understood";
  }
  const figure = readable(sum(box.nodes, "ms"), "ms") || readable(sum(box.nodes, "flops"), "flops");
  if (figure) box.lines[2] += box.lines[2] ? ` · ${figure}` : figure;
  // Names and paths differ at their ends, other texts at their beginnings.
  const [head, calls, value] = box.lines;
  box.lines = [clipped(head, true), clipped(calls, false), clipped(value, false)];
  box.width = Math.max(...box.lines.map((line) => line.length), 6) * CHARACTER + 2 * PADDING;
}

/** Folds all modules that lie so many steps below the model, and no others. */
function foldAt(depth) {
  folded.clear();
  for (const module of tree.values()) {
    if (pathsTo(module.path).length === depth && module.before.length + module.after.length + module.inner.length > 0) {
      folded.add(module.path);
    }
  }
}

/** Folds as little as leaves a picture that can be taken in at a glance. */
function foldAtFirst() {
  const deepest = Math.max(0, ...[...tree.keys()].map((path) => pathsTo(path).length));
  for (let depth = deepest + 1; depth >= 1; depth--) {
    foldAt(depth);
    if (SIDES.every((side) => boxesOf(side).boxes.length <= AT_FIRST)) return;
  }
}

/** Unfolds whatever hides a node. */
function reveal(node) {
  const hiding = pathsTo(node.path).filter((path) => folded.has(path));
  hiding.forEach((path) => folded.delete(path));
  return hiding.length > 0;
}
