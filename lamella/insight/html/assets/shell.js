"use strict";
// The page: its sections, formats, the tooltip, and the record at the side.
const lamella = (() => {
  const components = {};
  const SVG = "http://www.w3.org/2000/svg";
  let records = {};
  let picked = null;

  function build(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    for (const child of children) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }
  const el = (tag, attributes, ...children) =>
    build(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    build(document.createElementNS(SVG, tag), attributes, children);

  function digits(value) {
    const size = Math.abs(value);
    if (size >= 99.95) return value.toFixed(0);
    if (size >= 9.995) return value.toFixed(1);
    return value.toFixed(2);
  }
  function scaled(value, step, units) {
    let place = 0;
    while (Math.abs(value) >= step * 0.9995 && place < units.length - 1) {
      value /= step;
      place += 1;
    }
    const text = place === 0 && Number.isInteger(value) ? String(value) : digits(value);
    return (text + " " + units[place]).trim();
  }
  const formats = {
    time: (v) => v === 0 ? "0" : scaled(v * 1e9, 1000, ["ns", "µs", "ms", "s"]),
    count: (v) => scaled(v, 1000, ["", "k", "M", "G", "T", "P"]),
    bytes: (v) => scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]),
    rate: (v) => scaled(v, 1000, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]),
    bandwidth: (v) => scaled(v, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
    percent: (v) => (v * 100).toFixed(Math.abs(v) < 0.0995 ? 1 : 0) + " %",
    number: (v) => {
      const size = Math.abs(v);
      if (Number.isInteger(v) && size < 1e6) return String(v);
      return size !== 0 && (size < 1e-3 || size >= 1e6) ? v.toExponential(2)
        : String(Number(v.toPrecision(4)));
    },
  };
  function format(value, name) {
    if (value === null || value === undefined || value === "") return "–";
    if (typeof value !== "number") return String(value);
    return (formats[name] || formats.number)(value);
  }
  const color = (number) => `var(--c${((number || 0) % 8 + 8) % 8})`;

  const tip = el("div", {id: "tip", role: "tooltip"});
  function tooltip(node, text) {
    node.addEventListener("mousemove", (event) => {
      tip.textContent = typeof text === "function" ? text() : text;
      tip.style.display = "block";
      const box = tip.getBoundingClientRect();
      const left = event.clientX + 14 + box.width > innerWidth
        ? event.clientX - 10 - box.width : event.clientX + 14;
      const top = event.clientY + 16 + box.height > innerHeight
        ? event.clientY - 10 - box.height : event.clientY + 16;
      tip.style.left = Math.max(4, left) + "px";
      tip.style.top = Math.max(4, top) + "px";
    });
    node.addEventListener("mouseleave", () => { tip.style.display = "none"; });
    return node;
  }

  const drawer = el("aside", {id: "drawer", "aria-label": "Details"});
  function select(id) {
    picked = id !== null && id in records ? id : null;
    const record = picked === null ? null : records[picked];
    drawer.classList.toggle("open", record !== null);
    document.body.classList.toggle("with-drawer", record !== null);
    highlight();
    if (record === null) return;
    drawer.replaceChildren(
      el("button", {class: "close", "aria-label": "Close", onclick: () => select(null)}, "×"),
      el("h2", {}, record.title));
    const list = el("dl");
    for (const [name, value] of record.fields) {
      list.append(el("dt", {}, name), el("dd", {}, format(value)));
    }
    drawer.append(list);
    if (record.code) drawer.append(el("pre", {}, record.code));
    if (record.note) drawer.append(el("p", {class: "note"}, record.note));
  }
  function highlight() {
    for (const node of document.querySelectorAll(".picked")) node.classList.remove("picked");
    if (picked === null) return;
    for (const node of document.querySelectorAll(`[data-id="${CSS.escape(picked)}"]`)) {
      node.classList.add("picked");
    }
  }
  const selected = () => picked;
  const selectable = (id) => id !== undefined && id !== null && id in records;

  function legend(parts) {
    return el("div", {class: "legend"}, ...parts.map((part) => el("span", {},
      el("span", {class: "dot", style: `background:${color(part.color)}`}), part.label)));
  }
  const empty = (text) => el("div", {class: "empty"}, text || "Nothing to show.");

  components.tiles = (body, tiles) => {
    body.append(el("div", {class: "tiles"}, ...tiles.map((tile) => el("div", {class: "tile"},
      el("div", {class: "label"}, tile.label), el("div", {class: "value"}, tile.value),
      tile.note ? el("div", {class: "note"}, tile.note) : null))));
  };
  components.text = (body, paragraphs) => {
    for (const text of paragraphs) body.append(el("p", {}, text));
  };

  function theme(name) { document.documentElement.setAttribute("data-theme", name); }

  function start() {
    const page = JSON.parse(document.getElementById("data").textContent);
    records = page.records;
    theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const other = () => theme(
      document.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark");
    document.body.append(el("header", {},
      el("div", {}, el("h1", {}, page.title), el("p", {class: "subtitle"}, page.subtitle)),
      el("button", {id: "theme", onclick: other, title: "Light or dark"}, "◐ Theme")));
    const main = el("main");
    document.body.append(main, drawer, tip);
    for (const section of page.sections) {
      const body = el("div", {class: "body"});
      main.append(el("section", {class: section.title ? "" : "bare",
                                 "data-component": section.component},
        section.title ? el("h2", {}, section.title) : null,
        section.note ? el("p", {class: "note"}, section.note) : null, body));
      components[section.component](body, section.data);
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") select(null);
    });
  }

  return {component: (name, draw) => { components[name] = draw; }, start, select, selected,
          selectable, highlight, format, color, tooltip, legend, empty, el, svg};
})();
