// The time line of passes, and the tree of modules with what each costs.

/** The passes in order, with how many nodes went and came. */
function drawPasses() {
  const entry = (step, number) => {
    const parts = [["−", step.went], ["+", step.came], ["~", step.changed]].filter(([, items]) => items.length > 0);
    const counts = parts.map(([sign, items]) => html("span", { class: "count" }, `${sign}${items.length}`));
    const words = `${step.went.length} went, ${step.came.length} came, ${step.changed.length} changed`;
    const attributes = {
      class: parts.length ? "pass" : "pass idle", "data-pass": step.pass, title: `${step.doc} (${words})`, "aria-pressed": "false",
      onclick: () => choosePass(number),
    };
    return html("li", {}, html("button", attributes, html("span", {}, step.pass), ...counts));
  };
  document.getElementById("passes").replaceChildren(...view.passes.map(entry));
}

/** Marks the pass that is chosen; none without a number. */
function markPass(number) {
  document.querySelectorAll("#passes .pass").forEach((button, at) => button.setAttribute("aria-pressed", String(at === number)));
}

/** The nodes that a pass was about, on both sides. */
function nodesOfPass(step) {
  const items = [...step.went, ...step.came, ...step.changed];
  const before = new Set(items.flatMap(([, , from]) => from.map((at) => graph.before[at])));
  const after = new Set([...step.came, ...step.changed].filter(([, , , at]) => at !== null).map(([, , , at]) => graph.after[at]));
  // What came and was taken up by a later pass lights up what it became.
  before.forEach((node) => node.twins.forEach((twin) => twin.passes?.includes(step.pass) && after.add(twin)));
  return { before: [...before], after: [...after] };
}

/** The tree of modules. */
function drawModules() {
  const whole = SIDES.map((side) => sum(graph[side], "ms") ?? sum(graph[side], "flops"));
  const entry = (module) => {
    const isFolded = folded.has(module.path);
    const inner = [...module.inner];
    const fold = html("button", {
      class: "fold", "data-module": module.path, "aria-expanded": String(!isFolded),
      "aria-label": `${isFolded ? "unfold" : "fold"} ${module.path}`, onclick: () => toggle(module.path),
    }, isFolded ? "▸" : "▾");
    const figure = SIDES.map((side, at) => {
      const nodes = nodesIn(module, side);
      const cost = sum(nodes, "ms") ?? sum(nodes, "flops");
      const part = whole[at] ? (100 * (cost || 0)) / whole[at] : 0;
      return html("span", { class: "bar-of", title: `${side}: ${part.toFixed(1)} %` }, svg("svg", { width: 30, height: 6 },
        svg("rect", { class: `part ${side}`, width: (0.3 * part).toFixed(1), height: 6 })));
    });
    const name = html("button", { class: "link", title: module.type, onclick: () => selectModule(module) }, module.name);
    const rows = isFolded || !inner.length ? "" : html("ul", {}, ...inner.map(entry));
    return html("li", {}, html("div", { class: "row" }, fold, name, html("span", { class: "faint type" }, module.type), ...figure), rows);
  };
  document.getElementById("modules").replaceChildren(...moduleAt("").inner.map(entry));
}
