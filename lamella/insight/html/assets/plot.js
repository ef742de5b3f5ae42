"use strict";
// Points and lines over two axes, each linear or logarithmic.
lamella.component("plot", (body, data) => {
  const {svg, format, color, tooltip} = lamella;
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [1160, 440, 112, 20, 14, 46];
  const fits = (axis, value) => Number.isFinite(value) && (!axis.log || value > 0);
  const points = data.points.filter((p) => fits(data.x, p.x) && fits(data.y, p.y));
  if (data.legend) body.append(lamella.legend(data.legend));
  if (!points.length) {
    body.append(lamella.empty(data.empty));
    return;
  }
  function scale(axis, name, low, high) {
    const lines = (data.lines || []).flatMap((line) => line.points.map((p) => p[name]));
    const values = [...points.map((p) => p[name === 0 ? "x" : "y"]), ...lines]
      .filter((value) => fits(axis, value));
    let least = Math.min(...values);
    let most = Math.max(...values);
    if (axis.log) {
      const [a, b] = [Math.log10(least) - 0.12, Math.log10(most) + 0.12];
      return {at: (v) => low + (high - low) * (Math.log10(v) - a) / (b - a), ticks: powers(a, b)};
    }
    if (least === most) [least, most] = [least - 1, most + 1];
    const margin = (most - least) * 0.04;
    [least, most] = [least - margin, most + margin];
    return {at: (v) => low + (high - low) * (v - least) / (most - least),
            ticks: rounds(least, most)};
  }
  function powers(a, b) {
    const step = Math.max(1, Math.ceil((b - a) / 9));
    const out = [];
    for (let power = Math.ceil(a); power <= b; power += step) out.push(10 ** power);
    return out;
  }
  function rounds(least, most) {
    const rough = (most - least) / 7;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const out = [];
    for (let n = Math.ceil(least / step); n * step <= most; n += 1) out.push(n * step);
    return out;
  }
  const x = scale(data.x, 0, LEFT, WIDTH - RIGHT);
  const y = scale(data.y, 1, HEIGHT - BOTTOM, TOP);
  const parts = [];
  for (const tick of x.ticks) {
    const at = x.at(tick);
    parts.push(svg("line", {class: "grid", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM}),
      svg("text", {x: at, y: HEIGHT - BOTTOM + 17, "text-anchor": "middle"},
        format(tick, data.x.format)));
  }
  for (const tick of y.ticks) {
    const at = y.at(tick);
    parts.push(svg("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at}),
      svg("text", {x: LEFT - 8, y: at + 4, "text-anchor": "end"}, format(tick, data.y.format)));
  }
  parts.push(svg("text", {x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle"},
    data.x.label), svg("text", {transform: `translate(12 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)`,
    "text-anchor": "middle"}, data.y.label));
  for (const line of data.lines || []) {
    const path = line.points.map(([a, b], i) => `${i ? "L" : "M"}${x.at(a)} ${y.at(b)}`).join("");
    parts.push(svg("path", {d: path, fill: "none", stroke: color(line.color), "stroke-width": 1.6,
      "stroke-dasharray": line.dashed ? "5 4" : null}));
  }
  for (const point of points) {
    parts.push(tooltip(svg("circle", {class: "mark", "data-id": point.id, cx: x.at(point.x),
      cy: y.at(point.y), r: 3.5 + 10 * Math.sqrt(point.size || 0),
      style: `fill:${color(point.color)};fill-opacity:.78`,
      onclick: () => lamella.select(point.id)}), point.label));
  }
  for (const line of data.lines || []) {
    const [a, b] = line.points[line.label_at === "start" ? 0 : line.points.length - 1];
    const first = line.label_at === "start";
    parts.push(svg("text", {class: "line-label", x: x.at(a) + (first ? 6 : -4),
      y: y.at(b) - 8, "text-anchor": first ? "start" : "end",
      transform: line.slanted ? `rotate(${slope(line.points)} ${x.at(a)} ${y.at(b)})` : null},
      line.label));
  }
  function slope([p, q]) {
    return Math.atan2(y.at(q[1]) - y.at(p[1]), x.at(q[0]) - x.at(p[0])) * 180 / Math.PI;
  }
  body.append(svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `${data.y.label} against ${data.x.label}`}, ...parts));
});
