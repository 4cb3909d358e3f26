// A side of the page: its graph drawn, moved and made larger, and the boxes that light up in it.

const LARGEST = 3;
const SMALLEST = 0.03;

class Pane {
  constructor(side, title) {
    this.side = side;
    this.scene = svg("g", { class: "scene" });
    this.picture = svg("svg", { class: "picture", role: "group", "aria-label": title }, this.scene);
    const button = (text, label, act) => html("button", { "aria-label": `${label}, ${title}`, title: label, onclick: act }, text);
    const tools = html("div", { class: "tools" },
      button("+", "larger", () => this.zoom(1.25)),
      button("−", "smaller", () => this.zoom(0.8)),
      button("⤢", "fit", () => this.fit()));
    this.count = html("span", { class: "faint" });
    this.element = html("figure", { class: "pane", id: `pane-${side}` },
      html("figcaption", {}, html("b", {}, title), " ", this.count), this.picture, tools);
    [this.x, this.y, this.scale] = [0, 0, 1];
    this.listen();
  }

  /** Draws the boxes that folding leaves. */
  draw() {
    Object.assign(this, boxesOf(this.side));
    Object.assign(this, layOut(this.boxes));
    const lines = this.edges.map((edge) => {
      edge.line = svg("path", { d: lineOf(edge.path), class: edge.isOwner ? "edge owner" : "edge" });
      return edge.line;
    });
    this.boxes.forEach((box) => (box.element = drawnBox(box)));
    this.scene.replaceChildren(...lines, ...this.boxes.map((box) => box.element));
    this.byElement = new Map(this.boxes.map((box) => [box.element, box]));
    const total = graph[this.side].length;
    const time = readable(view[this.side].ms, "ms");
    this.count.textContent = `${total} nodes${time ? `, ${time} a run` : ""}`;
    this.boxes[0]?.element.setAttribute("tabindex", "0");
  }

  move() {
    this.scene.setAttribute("transform", `translate(${this.x.toFixed(1)} ${this.y.toFixed(1)}) scale(${this.scale.toFixed(4)})`);
  }

  get size() {
    return this.picture.getBoundingClientRect();
  }

  /** The whole graph. */
  fit() {
    const { width, height } = this.size;
    this.scale = Math.max(SMALLEST, Math.min(1, (width - 20) / this.width, (height - 20) / this.height));
    [this.x, this.y] = [(width - this.scale * this.width) / 2, Math.max(10, (height - this.scale * this.height) / 2)];
    this.move();
  }

  /** The graph's head, as large as can be read. */
  begin() {
    const { width } = this.size;
    this.scale = Math.max(0.55, Math.min(1, (width - 20) / this.width));
    const first = this.boxes[0];
    [this.x, this.y] = [width / 2 - this.scale * (first ? first.x : 0), 10];
    if (this.scale * this.width < width) this.x = (width - this.scale * this.width) / 2;
    this.move();
  }

  /** Makes it larger around a place of the picture, by default the middle. */
  zoom(factor, at) {
    const { width, height } = this.size;
    const [x, y] = at || [width / 2, height / 2];
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    [this.x, this.y] = [x - ((x - this.x) * scale) / this.scale, y - ((y - this.y) * scale) / this.scale];
    this.scale = scale;
    this.move();
  }

  /** Brings boxes into view, if they are not; of many the first. */
  show(boxes) {
    if (!boxes.length) return;
    const { width, height } = this.size;
    const isSeen = (box) => {
      const [x, y] = [this.x + this.scale * box.x, this.y + this.scale * (box.y + HEIGHT / 2)];
      return x > 20 && x < width - 20 && y > 20 && y < height - 20;
    };
    if (boxes.some(isSeen)) return;
    this.scale = Math.max(this.scale, 0.5);
    [this.x, this.y] = [width / 2 - this.scale * boxes[0].x, height / 2 - this.scale * (boxes[0].y + HEIGHT / 2)];
    this.move();
  }

  /** Lights up the boxes of these nodes, and the edges of the first; with none, nothing. */
  light(nodes, className) {
    const boxes = new Set(nodes.map((node) => this.byNode.get(node)).filter(Boolean));
    this.lit?.forEach((element) => element.classList.remove("lit", "near", "picked"));
    this.lit = [...boxes].map((box) => box.element);
    this.lit.forEach((element) => element.classList.add("lit"));
    if (className) this.lit.forEach((element) => element.classList.add(className));
    if (boxes.size === 1 && className) {
      const near = this.edges.filter((edge) => boxes.has(edge.from) || boxes.has(edge.to)).map((edge) => edge.line);
      near.forEach((line) => line.classList.add("near"));
      this.lit.push(...near);
    }
    return [...boxes];
  }

  dim(isDim) {
    this.scene.classList.toggle("dim", isDim);
  }

  boxAt(event) {
    const element = event.target.closest?.(".box");
    return element && this.byElement.get(element);
  }

  listen() {
    let grip;
    const picture = this.picture;
    picture.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = this.size;
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(-0.01 * event.deltaY), [event.clientX - left, event.clientY - top]);
      } else {
        const [across, down] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
        const unit = event.deltaMode === 1 ? LINE : 1;
        [this.x, this.y] = [this.x - unit * across, this.y - unit * down];
        this.move();
      }
    }, { passive: false });
    picture.addEventListener("pointerdown", (event) => {
      grip = { x: event.clientX, y: event.clientY, isMoved: false, pointer: event.pointerId };
    });
    picture.addEventListener("pointermove", (event) => {
      if (event.buttons === 0) grip = undefined;
      if (!grip) return;
      const [across, down] = [event.clientX - grip.x, event.clientY - grip.y];
      if (!grip.isMoved && Math.abs(across) + Math.abs(down) < 4) return;
      if (!grip.isMoved) picture.setPointerCapture(grip.pointer);
      [this.x, this.y] = [this.x + across, this.y + down];
      [grip.x, grip.y, grip.isMoved] = [event.clientX, event.clientY, true];
      this.move();
    });
    picture.addEventListener("click", (event) => {
      const isMoved = grip?.isMoved;
      grip = undefined;
      if (!isMoved) select(this.boxAt(event));
    });
    picture.addEventListener("dblclick", (event) => {
      const box = this.boxAt(event);
      if (box) box.module ? toggle(box.module.path) : this.zoom(1.5);
    });
    picture.addEventListener("pointerover", (event) => {
      if (!grip?.isMoved) hover(this.boxAt(event));
    });
    picture.addEventListener("pointerleave", () => hover(undefined));
    picture.addEventListener("focusin", (event) => {
      const box = this.boxAt(event);
      if (!box || !event.target.matches(":focus-visible")) return;
      this.show([box]);
      hover(box);
    });
    picture.addEventListener("keydown", (event) => this.key(event));
  }

  /** Arrows go along edges, and aside within a layer. */
  key(event) {
    const box = this.boxAt(event);
    if (!box) return;
    const row = this.boxes.filter((other) => other.layer === box.layer).sort((a, b) => a.x - b.x);
    const nearest = (boxes) => [...boxes].sort((a, b) => Math.abs(a.layer - box.layer) - Math.abs(b.layer - box.layer))[0];
    const next = {
      ArrowUp: () => nearest(box.inputs) || box.holder,
      ArrowDown: () => nearest(box.users) || this.boxes.find((other) => other.holder === box),
      ArrowLeft: () => row[row.indexOf(box) - 1],
      ArrowRight: () => row[row.indexOf(box) + 1],
    }[event.key];
    if (next) {
      event.preventDefault();
      this.focus(next());
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (box.module) toggle(box.module.path);
      else select(box);
    } else if (event.key === "f") {
      const path = box.module ? box.module.path : pathsTo(box.nodes[0].path).at(-1);
      if (path) toggle(path);
    }
  }

  /** Gives a box the focus; it is the one that Tab comes back to. */
  focus(box) {
    if (!box) return;
    this.scene.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    box.element.setAttribute("tabindex", "0");
    this.show([box]);
    box.element.focus({ preventScroll: true });
    hover(box);
  }
}

function drawnBox(box) {
  const [left, width] = [box.x - box.width / 2, box.width];
  const radius = box.kind === "port" ? HEIGHT / 2 : 4;
  const shape = { x: left.toFixed(1), y: box.y, width: width.toFixed(1), height: HEIGHT, rx: radius };
  const parts = [svg("rect", shape)];
  if (box.kind === "module") parts.unshift(svg("rect", { ...shape, x: (left + 4).toFixed(1), y: box.y + 4, class: "behind" }));
  if (box.kind === "fused") parts.push(svg("path", { class: "bar", d: `M${(left + 4).toFixed(1)} ${box.y + 4}v${HEIGHT - 8}` }));
  box.lines.forEach((line, at) => {
    const y = box.y + HEIGHT / 2 + (at - 1) * LINE + 4;
    parts.push(svg("text", { x: box.x.toFixed(1), y, class: at === 0 ? "name" : undefined }, line));
  });
  const from = box.kind === "fused" ? `, of ${box.nodes[0].from.length} nodes` : "";
  const label = `${box.lines.filter(Boolean).join(", ")}${from}`;
  const marks = [box.kind, box.isOpaque && "holds-opaque", box.isGone && "gone"].filter(Boolean).join(" ");
  return svg("g", { class: `box ${marks}`, tabindex: "-1", role: "button", "aria-label": label }, ...parts);
}
