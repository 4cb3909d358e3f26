// What is printed: both graphs in slices of whole layers side by side, so that no box is cut by the end of a page.

/** The height of a slice for a page as high as this many times its width. */
const PAGE = 1.25;

function slices(pane) {
  // A narrow graph is not blown up; a wide one gets the width of its column.
  const width = Math.max(pane.width, 420) + 8;
  const layers = Math.max(1, Math.floor((2 * PAGE * width) / LAYER));
  const parts = [];
  for (let first = 0; first < pane.layers; first += layers) {
    const height = Math.min(layers, pane.layers - first) * LAYER;
    const left = (pane.width - width) / 2;
    const scene = pane.scene.cloneNode(true);
    scene.removeAttribute("transform");
    parts.push(svg("svg", { viewBox: `${left} ${first * LAYER - 6} ${width} ${height}`, class: "slice" }, scene));
  }
  return parts;
}

function prepareToPrint() {
  const columns = panes.map((pane) => html("div", { class: "column" }, html("h2", {}, `${pane.side} the passes`), ...slices(pane)));
  const passes = view.passes.filter((step) => step.went.length + step.came.length + step.changed.length > 0);
  const row = (step) => html("tr", {}, ...[step.pass, step.doc, step.went.length, step.came.length, step.changed.length]
    .map((cell) => html("td", {}, String(cell))));
  const head = ["pass", "what it does", "went", "came", "changed"].map((cell) => html("th", {}, cell));
  const table = html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...passes.map(row)));
  document.getElementById("print").replaceChildren(html("div", { class: "columns" }, ...columns), html("h2", {}, "Passes"), table);
}

window.addEventListener("beforeprint", prepareToPrint);
window.addEventListener("afterprint", () => document.getElementById("print").replaceChildren());
