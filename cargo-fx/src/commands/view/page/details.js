// The panel that says all that is known of what is chosen: a node, a folded module, a pass, or else of the whole.

const panel = document.getElementById("details");

function showDetails(...children) {
  panel.replaceChildren(...children.filter(Boolean));
  panel.scrollTop = 0;
}

/** A table of words and what they stand for; what is not known is left out. */
function listed(rows) {
  const known = rows.filter(([, value]) => value !== undefined && value !== "");
  return html("dl", {}, ...known.flatMap(([word, value]) => [html("dt", {}, word), html("dd", {}, ...[value].flat())]));
}

/** A button that goes to a node. */
function link(node) {
  return html("button", { class: `link ${node.kind}`, onclick: () => goTo(node) }, node.name);
}

function links(nodes, word) {
  if (!nodes.length) return undefined;
  return [html("h3", {}, `${word} (${nodes.length})`), html("p", { class: "links" }, ...nodes.map(link))];
}

/** The user's lines that a node comes from. */
function sourceOf(node) {
  if (!node.at) return undefined;
  const lines = node.at.split(" + ").flatMap((file) => {
    const cut = file.lastIndexOf(":");
    const name = file.slice(0, cut);
    return file.slice(cut + 1).split(",").map((line) => [name, line, view.source?.[name]?.[line]]);
  });
  const shown = ([file, line, text]) =>
    html("div", { class: "code" }, html("span", { class: "faint" }, `${file}:${line}`), text ? html("code", {}, text) : "");
  return lines.map(shown);
}

function generatedOf(node) {
  if (!node.generated) return undefined;
  const [file, line, text] = node.generated;
  const where = html("span", { class: "faint", title: `${view.generated_in}/${file}` }, `${file}:${line}`);
  return html("div", { class: "code" }, where, html("code", {}, text));
}

function share(node) {
  const whole = view[node.side].ms;
  return node.ms === undefined || !whole ? "" : ` (${((100 * node.ms) / whole).toFixed(1)} %)`;
}

function passLinks(node) {
  const button = (name) => {
    const number = view.passes.findIndex((step) => step.pass === name);
    const act = number < 0 ? undefined : { class: "link", onclick: () => choosePass(number) };
    return html(act ? "button" : "span", act || {}, name);
  };
  return (node.passes || []).map(button);
}

/** Of a node that has no successor the pass that left it out. */
function removal(node) {
  if (node.side === "before" && node.kind === "attribute" && !node.twins.length) {
    return html("p", {}, "Packed into a kernel when the model is frozen.");
  }
  if (!isGone(node)) return undefined;
  const number = view.passes.findLastIndex((step) => step.went.some(([, , from]) => from.includes(node.number)));
  const by = number < 0 ? "the passes" : html("button", { class: "link", onclick: () => choosePass(number) }, view.passes[number].pass);
  return html("p", {}, "Left out by ", by, ".");
}

function showNode(node) {
  const module = tree.get(node.path);
  const rate = node.ms && node.flops ? `${readable((1000 * node.flops) / node.ms, "flops")}/s` : "";
  const path = node.path && html("button", { class: "link", onclick: () => toggle(node.path) }, `fold ${node.path}`);
  const other = node.side === "before" ? "Became" : "Came from";
  showDetails(
    html("h2", {}, node.name),
    html("p", { class: "faint" }, `${node.opcode}, ${node.side} the passes`),
    node.opaque !== undefined && html("p", { class: "warning" }, `Not understood: ${node.opaque || "code as the user wrote it"}`),
    removal(node),
    listed([
      ["calls", node.calls],
      ["arguments", html("code", {}, node.args + (node.kwargs ? ` ${node.kwargs}` : ""))],
      ["value", node.type],
      ["module", module && [module.type ? `${module.path || "(model)"}: ${module.type} ` : `${module.path} `, path || ""]],
      ["source", sourceOf(node)],
      ["generated", generatedOf(node)],
      ["passes", passLinks(node).length ? passLinks(node) : ""],
      ["time", node.ms === undefined ? "" : readable(node.ms, "ms") + share(node)],
      ["FLOPs", [readable(node.flops, "flops"), rate].filter(Boolean).join(", ")],
      ["memory", node.bytes ? `${readable(node.bytes, "bytes")} read and written` : ""],
    ]),
    ...(links(node.twins, other) || []),
    ...(links(node.inputs, "Reads") || []),
    ...(links(node.users, "Read by") || []));
}

function showModule(module, side) {
  const rows = SIDES.map((one) => {
    const nodes = nodesIn(module, one);
    const figures = ["ms", "flops"].map((figure) => readable(sum(nodes, figure), figure)).filter(Boolean);
    return [one, [`${nodes.length} nodes`, ...figures].join(", ")];
  });
  const opaque = nodesIn(module, side).filter((node) => node.kind === "opaque");
  const path = module.path;
  showDetails(
    html("h2", {}, path || view.model),
    html("p", { class: "faint" }, module.type || "module"),
    path && html("p", {}, html("button", { onclick: () => toggle(path) }, folded.has(path) ? "unfold" : "fold")),
    listed(rows),
    ...(links(opaque, "Not understood") || []));
}

/** What a pass changed. */
function showPass(step) {
  const item = ([name, target, from, at]) => {
    const node = at === null ? graph.before[from[0]] : graph.after[at];
    const act = node && { class: "link", onclick: () => goTo(node) };
    return html("li", {}, html(act ? "button" : "span", act || {}, name), html("span", { class: "faint" }, ` ${target}`));
  };
  const list = (word, items) =>
    items.length > 0 &&
    html("details", { open: items.length <= 40 }, html("summary", {}, `${word} (${items.length})`), html("ul", {}, ...items.map(item)));
  const rules = step.rules.map(([name, count]) => `${name} ×${count}`).join(", ");
  const isIdle = step.went.length + step.came.length + step.changed.length === 0;
  showDetails(
    html("h2", {}, step.pass),
    html("p", {}, step.doc),
    html("p", { class: "faint" }, `${step.nodes[0]} → ${step.nodes[1]} nodes, weights and their folding among them`),
    rules && html("p", {}, `rules: ${rules}`),
    isIdle && html("p", {}, "It changed nothing."),
    list("went", step.went),
    list("came", step.came),
    list("changed", step.changed));
}

/** The whole, where nothing is chosen. */
function showWhole() {
  const [before, after] = SIDES.map((side) => view[side].ms);
  const faster = before && after ? `${(before / after).toFixed(2)} times as fast, node by node` : "";
  const line = (side) => {
    const figures = [readable(view[side].ms, "ms"), readable(sum(graph[side], "flops"), "flops")].filter(Boolean);
    return [`${graph[side].length} nodes`, ...figures].join(", ");
  };
  const opaque = graph.before.filter((node) => node.kind === "opaque");
  const kinds = [["layer", "layer"], ["op", "operator"], ["fused", "fused: several nodes in one"], ["port", "input, output"],
    ["attribute", "weight"], ["control", "control flow"], ["gone", "left out by a pass"], ["module", "folded module"], ["opaque", "not understood"]];
  const swatch = ([kind, word]) => html("li", {}, html("span", { class: `swatch ${kind}` }, kind === "gone" ? "abc" : ""), word);
  const keys = [["/", "search"], ["arrows", "along edges"], ["+ −", "larger, smaller"], ["0", "fit"], ["f", "fold, unfold"],
    ["Enter", "choose"], ["Esc", "back"]];
  showDetails(
    html("h2", {}, view.model),
    listed([["before", line("before")], ["after", line("after")], ["", faster], ["inputs", view.inputs.join(", ")]]),
    ...(links(opaque, "Not understood") || []),
    html("h3", {}, "Colours"),
    html("ul", { class: "legend" }, ...kinds.map(swatch)),
    html("h3", {}, "Keys"),
    html("dl", { class: "keys" }, ...keys.flatMap(([key, word]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, word)])),
    html("p", { class: "faint" }, "Drag or scroll to move, Ctrl and scroll to zoom, double-click a module to unfold it."));
}
