"use strict";
// A recorded run as an outline that folds by Cell, with an arc for each tensor between the rows
// that are shown; arcs can be clicked. Data: columns (key, label, format), nodes (id, parent,
// label, note, kind, mark, and the columns' keys), edges (from, to, id, state) and open (levels).
lamella.component("flow", (body, data) => {
  const {el, svg, format, color, tooltip} = lamella;
  const ROW = 26;
  const GUTTER = 170;
  const STATES = {flows: 0, zero: 1, cut: 3, none: 6};
  const nodes = new Map(data.nodes.map((node) => [node.id, {...node, children: []}]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    node.level = parent ? parent.level + 1 : 0;
    (parent ? parent.children : roots).push(node);
  }
  const below = (node) => {
    node.marks = node.children.reduce((sum, child) => sum + below(child), node.mark ? 1 : 0);
    node.words = [node.path, node.label, node.note, node.mark, node.kind].join(" ").toLowerCase();
    return node.marks;
  };
  roots.forEach(below);
  const open = new Set();
  let wanted = [];
  const all = (level) => {
    open.clear();
    for (const node of nodes.values()) if (node.level < level) open.add(node.id);
    draw();
  };
  const search = el("input", {type: "search", placeholder: "Search: words, all must occur",
    "aria-label": "Search the graph", oninput: () => {
      wanted = search.value.toLowerCase().split(/\s+/).filter((word) => word);
      draw();
    }});
  const count = el("span", {class: "count"});
  const frame = el("div", {class: "rows"});
  body.append(el("div", {class: "controls"}, search,
    el("button", {class: "all-closed", onclick: () => all(1)}, "Fold"),
    el("button", {class: "all-open", onclick: () => all(99)}, "Unfold all"),
    lamella.legend([{label: "gradient flows", color: STATES.flows},
      {label: "gradient is zero", color: STATES.zero}, {label: "cut", color: STATES.cut},
      {label: "no gradient", color: STATES.none}]), count), el("div", {class: "flow"}, frame));

  function found() {
    const keep = new Set();
    for (const node of nodes.values()) {
      if (!wanted.every((word) => node.words.includes(word))) continue;
      for (let at = node; at && !keep.has(at.id); at = nodes.get(at.parent)) keep.add(at.id);
    }
    return keep;
  }
  function shown() {
    const keep = wanted.length ? found() : null;
    const out = [];
    const visit = (node) => {
      if (keep && !keep.has(node.id)) return;
      out.push(node);
      if (keep || open.has(node.id)) node.children.forEach(visit);
    };
    roots.forEach(visit);
    return out;
  }
  function arcs(place) {
    const visible = (id) => {
      let node = nodes.get(id);
      while (node && !place.has(node.id)) node = nodes.get(node.parent);
      return node ? node.id : null;
    };
    const flows = new Map();
    for (const edge of data.edges) {
      const [a, b] = [visible(edge.from), visible(edge.to)];
      if (a === null || b === null || a === b) continue;
      const flow = flows.get(a + "\n" + b) || {a, b, ids: [], states: new Set()};
      flow.ids.push(edge.id);
      flow.states.add(edge.state);
      flows.set(a + "\n" + b, flow);
    }
    return [...flows.values()].map((flow) => {
      const [y1, y2] = [(place.get(flow.a) + 0.5) * ROW, (place.get(flow.b) + 0.5) * ROW];
      const reach = Math.min(GUTTER - 14, 12 + Math.sqrt(Math.abs(y2 - y1)) * 5);
      const x = GUTTER - 4;
      const line = `M${x} ${y1}C${x - reach} ${y1} ${x - reach} ${y2} ${x} ${y2}`;
      const state = ["cut", "zero", "flows", "none"].find((name) => flow.states.has(name));
      const seen = svg("path", {d: line, class: `seen ${state}`,
        style: `stroke:${color(STATES[state])}`});
      let turn = -1;  // an arc of several tensors shows one after the other
      const next = () => {
        turn = (turn + 1) % flow.ids.length;
        lamella.select(flow.ids[turn]);
      };
      const many = flow.ids.length > 1 ? `${flow.ids.length} tensors; click again for the next` : "";
      return svg("g", {"data-id": flow.ids.length === 1 ? flow.ids[0] : null, class: "edge",
        "data-from": flow.a, "data-to": flow.b, onclick: next},
      seen, tooltip(svg("path", {d: line, class: "wide"}), () =>
        `${nodes.get(flow.a).label} → ${nodes.get(flow.b).label}\n${many}`.trim()));
    });
  }
  function draw() {
    const rows = shown();
    const place = new Map(rows.map((node, i) => [node.id, i]));
    const edges = arcs(place);
    const mark = (id) => {
      for (const edge of edges) {
        edge.classList.toggle("near", id !== null
          && (edge.dataset.to === id || edge.dataset.from === id));
      }
    };
    const lines = rows.map((node) => {
      const inner = node.children.length > 0;
      const unfolded = inner && (open.has(node.id) || wanted.length > 0);
      return el("div", {class: `row ${node.kind || ""}`, "data-id": node.id, tabindex: 0,
        role: "treeitem", "aria-expanded": inner ? String(unfolded) : null,
        onclick: (event) => {
          if (inner && event.target.classList.contains("fold")) fold(node);
          else lamella.select(node.id);
        },
        ondblclick: () => { if (inner) fold(node); },
        onkeydown: (event) => {
          if (event.key === "Enter") lamella.select(node.id);
          if (event.key === "ArrowRight" && inner && !open.has(node.id)) fold(node);
          if (event.key === "ArrowLeft" && inner && open.has(node.id)) fold(node);
        },
        onmouseenter: () => mark(node.id), onmouseleave: () => mark(null)},
      el("div", {class: "name", style: `padding-left:${GUTTER + node.level * 16}px`},
        el("span", {class: "fold"}, inner ? (unfolded ? "▼" : "▶") : ""),
        el("span", {class: "label"}, node.label),
        node.note ? el("small", {}, node.note) : null,
        node.mark ? el("span", {class: "mark"}, node.mark) : null,
        !unfolded && inner && node.marks ? el("span", {class: "mark"}, `${node.marks} inside`)
          : null),
      ...data.columns.map((column) => el("div", {class: "amount"},
        node[column.key] === null || node[column.key] === undefined ? ""
          : format(node[column.key], column.format))));
    });
    const head = el("div", {class: "row head"}, el("div", {class: "name"}, ""),
      ...data.columns.map((column) => el("div", {class: "amount"}, column.label)));
    frame.replaceChildren(head, el("div", {class: "tree", role: "tree"},
      svg("svg", {width: GUTTER, height: rows.length * ROW,
        style: `width:${GUTTER}px;height:${rows.length * ROW}px`}, ...edges),
      ...lines, rows.length ? null : lamella.empty("No row has these words.")));
    count.textContent = `${rows.length} of ${nodes.size} rows`;
    lamella.highlight();
  }
  function fold(node) {
    if (!open.delete(node.id)) open.add(node.id);
    draw();
  }
  all(data.open === undefined ? 1 : data.open);
});
