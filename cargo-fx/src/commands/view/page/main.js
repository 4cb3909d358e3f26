// What happens: choosing, pointing, folding, searching, pages, keys, and light or dark.

const panes = [new Pane("before", "before the passes"), new Pane("after", "after the passes")];
const byId = (id) => document.getElementById(id);
const state = { chosen: undefined, pass: undefined };

/** The nodes of a box and what they came from or became. */
function kin(nodes) {
  const [side, other] = nodes[0]?.side === "after" ? ["after", "before"] : ["before", "after"];
  return { [side]: nodes, [other]: [...new Set(nodes.flatMap((node) => node.twins))] };
}

/** Lights up nodes of both sides; `side` is the one that is pointed at. */
function light(nodes, side) {
  return panes.map((pane) => {
    const own = nodes[pane.side] || [];
    const boxes = pane.light(own, pane.side === side ? "picked" : undefined);
    pane.dim(boxes.length > 0 && (state.pass !== undefined || pane.side !== side));
    return boxes;
  });
}

/** Lights up what is pointed at, or else what is chosen. */
function hover(box) {
  if (box) light(kin(box.nodes), box.side);
  else if (state.chosen) light(kin(state.chosen.nodes), state.chosen.side);
  else if (state.pass !== undefined) light(nodesOfPass(view.passes[state.pass]));
  else light({});
}

/** Chooses a box: its details are shown, and the other side moves to what it came from or became. */
function select(box) {
  [state.chosen, state.pass] = [box, undefined];
  markPass();
  const lit = (hover(box), box ? panes.map((pane) => pane.light(kin(box.nodes)[pane.side] || [], pane.side === box.side ? "picked" : "")) : []);
  if (!box) return showWhole();
  panes.forEach((pane, at) => pane.show(lit[at]));
  if (box.module) showModule(box.module, box.side);
  else showNode(box.nodes[0]);
}

function selectModule(module) {
  const side = nodesIn(module, "before").length ? "before" : "after";
  state.chosen = { nodes: nodesIn(module, side), side, module };
  state.pass = undefined;
  const lit = light(kin(state.chosen.nodes), side);
  panes.forEach((pane, at) => pane.show(lit[at]));
  showModule(module, side);
}

/** Chooses a node, unfolding what hides it. */
function goTo(node) {
  if (reveal(node)) redraw();
  const pane = panes[SIDES.indexOf(node.side)];
  const box = pane.byNode.get(node);
  select(box);
  pane.focus(box);
}

function choosePass(number) {
  const isSame = state.pass === number;
  [state.chosen, state.pass] = [undefined, isSame ? undefined : number];
  markPass(state.pass);
  if (isSame) return hover(), showWhole();
  const lit = light(nodesOfPass(view.passes[number]));
  panes.forEach((pane, at) => pane.show(lit[at]));
  showPass(view.passes[number]);
}

/** Folds or unfolds a module; what was chosen stays so if there still is a box of it. */
function toggle(path) {
  if (!folded.delete(path)) folded.add(path);
  // What lies around it would hide what was unfolded.
  if (!folded.has(path)) pathsTo(path).forEach((outer) => folded.delete(outer));
  redraw();
  const module = tree.get(path);
  const side = nodesIn(module, "before").length ? 0 : 1;
  const box = panes[side].byNode.get(nodesIn(module, SIDES[side])[0]);
  if (folded.has(path)) select(box);
  else selectModule(module);
  panes.forEach((pane) => pane.show(pane.lit.length ? pane.boxes.filter((one) => pane.lit.includes(one.element)) : []));
}

function redraw() {
  panes.forEach((pane) => (pane.draw(), pane.move()));
  drawModules();
}

// Searching.

const [query, hits] = [byId("query"), byId("hits")];
const MOST = 60;
let at = 0;

/** The text of a node that is searched. */
function words(node) {
  return [node.name, node.target, node.layer, node.type, node.at, node.path, node.opcode].join(" ").toLowerCase();
}

function search() {
  const parts = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = SIDES.flatMap((side) => graph[side]);
  const found = parts.length ? all.filter((node) => parts.every((part) => words(node).includes(part))) : [];
  // Names that begin with what is typed come first.
  const rank = (node) => (node.name.toLowerCase().startsWith(parts[0]) ? 0 : 1);
  found.sort((a, b) => rank(a) - rank(b));
  at = 0;
  const item = (node, number) =>
    html("li", { role: "option", id: `hit-${number}`, onpointerdown: (event) => (event.preventDefault(), take(node)) },
      html("b", {}, node.name), html("span", { class: "faint" }, ` ${node.calls}, ${node.side}${node.at ? `, ${node.at}` : ""}`));
  const more = found.length > MOST ? [html("li", { class: "faint" }, `and ${found.length - MOST} more`)] : [];
  const none = parts.length && !found.length ? [html("li", { class: "faint" }, "no node is called so")] : [];
  hits.replaceChildren(...found.slice(0, MOST).map(item), ...more, ...none);
  hits.nodes = found.slice(0, MOST);
  hits.hidden = !parts.length;
  query.setAttribute("aria-expanded", String(!hits.hidden));
  mark();
}

function mark() {
  [...hits.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
  hits.children[at]?.scrollIntoView({ block: "nearest" });
  query.setAttribute("aria-activedescendant", `hit-${at}`);
}

function take(node) {
  hits.hidden = true;
  openTab("graphs");
  if (node) goTo(node);
}

query.addEventListener("input", search);
query.addEventListener("focus", () => query.value && search());
query.addEventListener("blur", () => (hits.hidden = true));
query.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    at = Math.min(Math.max(0, at + step), (hits.nodes?.length || 1) - 1);
    mark();
  } else if (event.key === "Enter") take(hits.nodes?.[at]);
  else if (event.key === "Escape") [(query.value = ""), search(), query.blur()];
  else return;
  event.preventDefault();
  event.stopPropagation();
});

// Pages.

const tabs = ["graphs", "flame", "traces"];

function openTab(name) {
  for (const tab of tabs) {
    byId(tab).hidden = tab !== name;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
  }
  if (name === "flame") drawFlame();
}

for (const tab of tabs) {
  byId(`tab-${tab}`).addEventListener("click", () => openTab(tab));
  byId(`tab-${tab}`).addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const open = tabs.filter((one) => !byId(`tab-${one}`).hidden);
    const next = open[(open.indexOf(tab) + step + open.length) % open.length];
    openTab(next);
    byId(`tab-${next}`).focus();
  });
}

byId("tab-traces").hidden = !byId("traces").textContent.trim();
// Of the comparison of traces the rows are hidden whose name is not what is typed.
byId("find")?.addEventListener("input", (event) => {
  const text = event.target.value.toLowerCase();
  for (const row of byId("traces").querySelectorAll("tbody tr")) row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
});

// Keys.

/** Does something to the graph that has the focus, or to both. */
function zoomed(act) {
  const pane = panes.find((one) => one.element.contains(document.activeElement));
  (pane ? [pane] : panes).forEach(act);
}

const keysOfAll = {
  "/": () => (byId("traces").hidden ? query : byId("find")).focus(),
  Escape: (event) => (event.target.matches("input") ? event.target.blur() : select(undefined)),
};

const keysOfGraphs = {
  "+": () => zoomed((pane) => pane.zoom(1.25)),
  "=": () => zoomed((pane) => pane.zoom(1.25)),
  "-": () => zoomed((pane) => pane.zoom(0.8)),
  "0": () => zoomed((pane) => pane.fit()),
  // Where nothing has the focus it goes to the first box.
  ArrowDown: () => document.activeElement === document.body && (panes[0].focus(panes[0].boxes[0]), true),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== "Escape")) return;
  const act = (byId("graphs").hidden ? {} : keysOfGraphs)[event.key] || keysOfAll[event.key];
  if (!act || event.defaultPrevented) return;
  if (act(event) !== false) event.preventDefault();
});

window.addEventListener("resize", () => byId("flame").hidden || drawFlame());

// Light or dark: what the system says, until it is switched.

const theme = byId("theme");
const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function nameTheme() {
  theme.textContent = isDark() ? "☀" : "☾";
  theme.setAttribute("aria-label", isDark() ? "switch to light" : "switch to dark");
}

theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);

// The beginning.

byId("title").textContent = view.model;
byId("panes").append(...panes.map((pane) => pane.element));
byId("fold-all").addEventListener("click", () => (foldAt(1), redraw(), select(undefined)));
byId("unfold-all").addEventListener("click", () => (folded.clear(), redraw(), select(undefined)));
if (matchMedia("(max-width: 900px)").matches) ["passes-part", "modules-part"].forEach((id) => (byId(id).open = false));
foldAtFirst();
nameTheme();
drawPasses();
redraw();
panes.forEach((pane) => pane.begin());
showWhole();
document.documentElement.dataset.ready = "true";
