// The flame view: modules within modules, and nodes within these, in order of execution, each as wide as what it costs.

const flame = document.getElementById("flame");
const ROW = 22;
const FIGURES = [["ms", "time"], ["flops", "FLOPs"], ["bytes", "memory"], ["count", "number of nodes"]];

const shown = { figure: undefined, path: "" };

function costOf(nodes) {
  return shown.figure === "count" ? nodes.length : sum(nodes, shown.figure) || 0;
}

/** The frames of a side, from the module that is shown on. */
function framesOf(side, width) {
  const frames = [];
  const put = (module, left, size, depth) => {
    const total = costOf(nodesIn(module, side));
    frames.push({ module, left, size, depth, cost: total, name: module.name, kind: "module" });
    const parts = [
      ...module.inner.map((inner) => ({ inner, nodes: nodesIn(inner, side) })),
      ...module[side].map((node) => ({ node, nodes: [node] })),
    ].filter((part) => part.nodes.length).map((part) => ({ ...part, cost: costOf(part.nodes), first: part.nodes[0].number }));
    parts.sort((a, b) => a.first - b.first);
    let at = left;
    for (const part of parts) {
      const own = total > 0 ? (size * part.cost) / total : 0;
      if (own >= 0.5) {
        if (part.inner) put(part.inner, at, own, depth + 1);
        else frames.push({ node: part.node, left: at, size: own, depth: depth + 1, cost: part.cost, name: part.node.short, kind: part.node.kind });
      }
      at += own;
    }
  };
  put(tree.get(shown.path), 0, width, 0);
  return frames;
}

function drawnFrame(frame, whole) {
  const [y, fits] = [frame.depth * ROW, Math.floor((frame.size - 8) / CHARACTER)];
  const name = frame.name.length > fits ? `${frame.name.slice(0, Math.max(0, fits - 1))}…` : frame.name;
  const cost = shown.figure === "count" ? `${frame.cost} nodes` : readable(frame.cost, shown.figure);
  const words = `${frame.node ? frame.node.name : frame.module.path || view.model}: ${cost}, ${((100 * frame.cost) / whole).toFixed(1)} %`;
  const act = () => {
    if (frame.node) return openTab("graphs"), goTo(frame.node);
    shown.path = frame.module.path === shown.path && frame.module.outer ? frame.module.outer.path : frame.module.path;
    drawFlame();
  };
  const press = (event) => {
    if (event.key === "Enter" || event.key === " ") [event.preventDefault(), act()];
  };
  return svg("g", { class: `frame box ${frame.kind}`, tabindex: "0", role: "button", "aria-label": words, onclick: act, onkeydown: press },
    svg("title", {}, words),
    svg("rect", { x: frame.left.toFixed(1), y, width: Math.max(1, frame.size - 1).toFixed(1), height: ROW - 1, rx: 2 }),
    fits > 1 ? svg("text", { x: (frame.left + 5).toFixed(1), y: y + 15 }, name) : "");
}

function drawFlame() {
  const known = FIGURES.filter(([figure]) => figure === "count" || SIDES.some((side) => sum(graph[side], figure)));
  shown.figure = shown.figure || known[0][0];
  const choose = (event) => {
    shown.figure = event.target.value;
    drawFlame();
  };
  const select = html("select", { id: "figure", onchange: choose },
    ...known.map(([figure, word]) => html("option", { value: figure, selected: figure === shown.figure }, word)));
  const width = Math.max(300, flame.clientWidth - 40);
  const all = Object.fromEntries(SIDES.map((side) => [side, costOf(nodesIn(tree.get(shown.path), side))]));
  const widest = Math.max(all.before, all.after, Number.MIN_VALUE);
  const part = (side) => {
    // Both sides have one scale, so that what got cheaper is narrower.
    const frames = framesOf(side, (width * all[side]) / widest);
    const height = (Math.max(0, ...frames.map((frame) => frame.depth)) + 1) * ROW;
    const cost = shown.figure === "count" ? `${all[side]} nodes` : readable(all[side], shown.figure);
    return html("figure", {}, html("figcaption", {}, html("b", {}, `${side} the passes`), ` ${cost}`),
      svg("svg", { class: "flames", width, height }, ...frames.map((frame) => drawnFrame(frame, Math.max(all[side], Number.MIN_VALUE)))));
  };
  const back = shown.path && html("button", { onclick: () => ((shown.path = ""), drawFlame()) }, "whole model");
  flame.replaceChildren(html("p", { class: "row" }, html("label", { for: "figure" }, "by "), select, back || ""), ...SIDES.map(part));
}
