"use strict";
// A graph as an outline that folds, with arcs for what flows between the rows that are shown.
lamella.component("outline", (body, data) => {
  const {el, svg, format, color, tooltip} = lamella;
  if (!data.nodes.length) {
    body.append(lamella.empty());
    return;
  }
  const ROW = 28;
  const GUTTER = 150;
  const nodes = new Map(data.nodes.map((node) => [node.id, {...node, children: []}]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    node.level = parent ? parent.level + 1 : 0;
    (parent ? parent.children : roots).push(node);
  }
  const sum = (node) => {
    node.sum = node.children.length ? node.children.reduce((t, c) => t + sum(c), 0)
      : node.value || 0;
    return node.sum;
  };
  const whole = roots.reduce((total, node) => total + sum(node), 0) || 1;
  const open = new Set();
  const all = (level) => {
    open.clear();
    for (const node of nodes.values()) if (node.level < level) open.add(node.id);
    draw();
  };
  const frame = el("div", {class: "outline"});
  body.append(el("div", {class: "controls"},
    el("button", {onclick: () => all(1)}, "Fold"),
    el("button", {onclick: () => all(2)}, "Unfold some"),
    el("button", {onclick: () => all(99)}, "Unfold all"),
    lamella.legend([{label: "goes into the row under the pointer", color: 2},
      {label: "comes out of it", color: 3}])), frame);

  function shown() {
    const out = [];
    const visit = (node) => {
      out.push(node);
      if (open.has(node.id)) node.children.forEach(visit);
    };
    roots.forEach(visit);
    return out;
  }
  function draw() {
    const rows = shown();
    const place = new Map(rows.map((node, i) => [node.id, i]));
    const visible = (id) => {
      let node = nodes.get(id);
      while (node && !place.has(node.id)) node = nodes.get(node.parent);
      return node ? node.id : null;
    };
    const flows = new Map();
    for (const [from, to, weight] of data.edges || []) {
      const [a, b] = [visible(from), visible(to)];
      if (a === null || b === null || a === b) continue;
      const name = a + "\n" + b;
      const flow = flows.get(name) || {a, b, weight: 0};
      flow.weight += weight || 0;
      flows.set(name, flow);
    }
    const arcs = [...flows.values()].map((flow) => {
      const [y1, y2] = [(place.get(flow.a) + 0.5) * ROW, (place.get(flow.b) + 0.5) * ROW];
      const reach = Math.min(GUTTER - 12, 12 + Math.sqrt(Math.abs(y2 - y1)) * 4.4);
      const x = GUTTER - 4;
      return svg("path", {d: `M${x} ${y1}C${x - reach} ${y1} ${x - reach} ${y2} ${x} ${y2}`,
        "data-from": flow.a, "data-to": flow.b,
        "stroke-width": 0.8 + Math.min(2.2, Math.log10(1 + flow.weight) / 4)});
    });
    const mark = (id) => {
      for (const arc of arcs) {
        arc.classList.toggle("in", id !== null && arc.dataset.to === id);
        arc.classList.toggle("out", id !== null && arc.dataset.from === id);
      }
    };
    const moved = (id) => {
      const into = [...flows.values()].filter((f) => f.b === id).reduce((t, f) => t + f.weight, 0);
      const from = [...flows.values()].filter((f) => f.a === id).reduce((t, f) => t + f.weight, 0);
      return `in: ${format(into, data.weight_format)}, out: ${format(from, data.weight_format)}`;
    };
    const lines = rows.map((node) => {
      const inner = node.children.length > 0;
      const row = el("div", {class: "row", "data-id": node.id, tabindex: 0, role: "treeitem",
        "aria-expanded": inner ? String(open.has(node.id)) : null,
        onclick: (event) => {
          if (inner && (event.target.classList.contains("fold") || !lamella.selectable(node.id))) {
            fold(node);
          } else {
            lamella.select(node.id);
          }
        },
        onkeydown: (event) => {
          if (event.key === "Enter") lamella.select(node.id);
          if (event.key === "ArrowRight" && inner && !open.has(node.id)) fold(node);
          if (event.key === "ArrowLeft" && inner && open.has(node.id)) fold(node);
        },
        onmouseenter: () => mark(node.id), onmouseleave: () => mark(null)},
      el("div", {class: "name", style: `padding-left:${GUTTER + node.level * 18}px`},
        el("span", {class: "fold"}, inner ? (open.has(node.id) ? "▼" : "▶") : ""), node.label,
        node.note ? el("small", {}, node.note) : null),
      el("div", {class: "track"}, el("div", {
        style: `width:${100 * node.sum / whole}%;background:${color(node.color)}`})),
      el("div", {class: "amount"}, format(node.sum, data.format)));
      return tooltip(row, () => `${node.label}\n${format(node.sum, data.format)}, `
        + `${format(node.sum / whole, "percent")} of all\n${moved(node.id)}`);
    });
    frame.replaceChildren(svg("svg", {width: GUTTER, height: rows.length * ROW,
      style: `width:${GUTTER}px;height:${rows.length * ROW}px`}, ...arcs), ...lines);
    lamella.highlight();
  }
  function fold(node) {
    if (!open.delete(node.id)) open.add(node.id);
    draw();
  }
  all(data.open === undefined ? 1 : data.open);
});
