// Where boxes lie: in layers, each box below what it reads, with few crossings. It is the method of fx-ir's layout.rs, here
// because folding changes the graph while one looks at it.
//
// An edge that skips layers passes through points in them, which take part in the order like boxes do; edges of one box share
// their points. The order within a layer follows the mean of the neighbours' places (Sugiyama et al., 1981).

const CHARACTER = 7.3;
const PADDING = 8;
const LINE = 15;
const HEIGHT = 3 * LINE + 2 * PADDING - 4;
const BETWEEN = 34;
const GAP = 22;
const SWEEPS = 8;

/** The height of a layer with the space below it. */
const LAYER = HEIGHT + BETWEEN;

/** Places boxes; yields the edges, each as places, and the size of the whole. */
function layOut(boxes) {
  setLayers(boxes);
  const items = boxes.map((box) => ({ box, layer: box.layer, width: box.width, at: 0, above: [], below: [] }));
  boxes.forEach((box, at) => (box.item = items[at]));
  const edges = [];
  const points = new Map();
  for (const box of boxes) {
    for (const input of box.inputs) edges.push({ from: input, to: box, path: connect(input.item, box.item, items, points) });
    const reads = [...box.inputs].some((input) => input.holder === box.holder);
    if (box.holder && !reads) {
      edges.push({ from: box.holder, to: box, isOwner: true, path: connect(box.holder.item, box.item, items, points) });
    }
  }
  const rows = [];
  items.forEach((item) => (rows[item.layer] = rows[item.layer] || []).push(item));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? rows : [...rows].reverse();
    order.forEach((row) => settle(row, isDown, sweep + 2 < SWEEPS));
  }
  const left = Math.min(...items.map((item) => item.at - item.width / 2));
  items.forEach((item) => (item.at -= left));
  boxes.forEach((box) => ([box.x, box.y] = [box.item.at, box.layer * LAYER]));
  const width = Math.max(...items.map((item) => item.at + item.width / 2));
  return { edges, width, height: rows.length * LAYER - BETWEEN, layers: rows.length };
}

/** The layer of each box: below all that it reads. Boxes come in order of execution; an edge against it, which folding may
 * make, counts for nothing. What reads nothing lies right above its first reader. */
function setLayers(boxes) {
  const order = new Map(boxes.map((box, at) => [box, at]));
  const last = new Map();
  for (const box of boxes) {
    const earlier = [...box.inputs].filter((input) => order.get(input) < order.get(box));
    const below = earlier.map((input) => Math.max(input.layer, last.get(input) ?? 0) + 1);
    if (box.holder && order.get(box.holder) < order.get(box)) below.push(box.holder.layer + 1);
    box.layer = Math.max(0, ...below);
    // Who reads the value of control flow lies below all that runs in it.
    for (let holder = box.holder; holder; holder = holder.holder) {
      last.set(holder, Math.max(last.get(holder) ?? 0, box.layer));
    }
  }
  for (const box of boxes) {
    const users = [...box.users].filter((user) => order.get(user) > order.get(box)).map((user) => user.layer);
    if (box.inputs.size === 0 && !box.holder && users.length) box.layer = Math.max(0, Math.min(...users) - 1);
  }
}

/** The items from one box to another; it begins at the last that it shares with an edge before it. */
function connect(from, to, items, points) {
  const isUp = to.layer <= from.layer;
  if (isUp) return [from, to];
  let path = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    const known = points.get(from)?.get(layer);
    if (known) {
      path = [known];
      continue;
    }
    const point = { layer, width: 6, at: 0, above: [], below: [] };
    items.push(point);
    if (!points.has(from)) points.set(from, new Map());
    points.get(from).set(layer, point);
    path.push(point);
  }
  path.push(to);
  for (let at = 1; at < path.length; at++) {
    if (path[at - 1].below.includes(path[at])) continue;
    path[at - 1].below.push(path[at]);
    path[at].above.push(path[at - 1]);
  }
  return path;
}

/** Brings the items of a layer near their neighbours above, or below, and into their order if it may change. */
function settle(row, isDown, mayReorder) {
  for (const item of row) {
    const others = isDown ? item.above : item.below;
    // A chain of boxes stands upright, and what leads past it gives way.
    const boxes = item.box ? others.filter((other) => other.box) : [];
    const near = boxes.length ? boxes : others;
    item.wish = near.length ? near.reduce((total, other) => total + other.at, 0) / near.length : item.at;
  }
  if (mayReorder) row.sort((a, b) => a.wish - b.wish);
  // Where each would lie if all stood as close as they may; the difference of two is how far apart they have to be.
  let end = 0;
  row.forEach((item, at) => {
    if (at > 0) end += (row[at - 1].width + item.width) / 2 + GAP;
    item.close = end;
  });
  const boxes = row.filter((item) => item.box);
  arrange(boxes);
  // Points lie where they wish, as far as the boxes leave room.
  let [left, next] = [undefined, 0];
  for (const item of row) {
    if (item.box) next += 1;
    else {
      const right = boxes[next];
      const most = right ? right.at - (right.close - item.close) : Infinity;
      const least = left ? left.at + item.close - left.close : -Infinity;
      item.at = Math.min(most, Math.max(least, item.wish));
    }
    left = item;
  }
}

/** Gives items the places nearest to those that they wish. */
function arrange(items) {
  const apart = (a, b) => b.close - a.close;
  // The mean of two arrangements that keep their distances keeps them too.
  const [right, left] = [items.map((item) => item.wish), items.map((item) => item.wish)];
  for (let at = 1; at < items.length; at++) right[at] = Math.max(right[at], right[at - 1] + apart(items[at - 1], items[at]));
  for (let at = items.length - 1; at > 0; at--) left[at - 1] = Math.min(left[at - 1], left[at] - apart(items[at - 1], items[at]));
  items.forEach((item, at) => (item.at = (right[at] + left[at]) / 2));
}

/** An edge as a line: from the lower side of the first box through the points to the upper side of the last. An edge that begins
 * at a point that it shares goes on from there. */
function lineOf(path) {
  let line = "";
  path.slice(1).forEach((to, at) => {
    const from = path[at];
    const [start, end] = [from.layer * LAYER + HEIGHT, to.layer * LAYER];
    const [x, middle] = [from.at.toFixed(1), (start + end) / 2];
    line += `${at === 0 ? "M" : "L"}${x} ${start}C${x} ${middle} ${to.at.toFixed(1)} ${middle} ${to.at.toFixed(1)} ${end}`;
  });
  return line;
}
