"use strict";
// Shares of a whole as stacked bars; a timeline that can be zoomed into.
lamella.component("shares", (body, data) => {
  const {el, format, color, tooltip} = lamella;
  const box = el("div", {class: "shares"});
  for (const row of data.rows) {
    const parts = row.parts.filter((part) => part.value > 0);
    const whole = parts.reduce((sum, part) => sum + part.value, 0);
    const stack = el("div", {class: "stack"}, ...parts.map((part) => tooltip(el("div", {
      style: `flex:${100 * part.value / whole} 1 0;background:${color(part.color)}`}),
      `${part.label}: ${format(part.value, data.format)}`)));
    const legend = el("div", {class: "legend"}, ...parts.map((part) => el("span", {},
      el("span", {class: "dot", style: `background:${color(part.color)}`}), part.label, " ",
      el("b", {}, format(part.value / whole, "percent")), " ",
      format(part.value, data.format))));
    box.append(el("div", {class: "label"}, row.label),
      el("div", {}, stack, parts.length ? legend : lamella.empty()));
  }
  body.append(box);
});

lamella.component("timeline", (body, data) => {
  const {el, svg, format, color, tooltip} = lamella;
  if (!data.items.length) {
    body.append(lamella.empty());
    return;
  }
  const WIDTH = 1160;
  const LEFT = 92;
  const LANE = 34;
  const height = data.lanes.length * LANE + 30;
  const end = Math.max(...data.items.map((item) => item.start + item.length));
  let from = 0;
  let to = end;
  const figure = svg("svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", class: "zoomable",
    "aria-label": "Timeline"});
  const reset = el("button", {onclick: () => zoom(0, end)}, "Whole");
  body.append(el("div", {class: "controls"}, data.legend ? lamella.legend(data.legend) : null,
    el("span", {class: "count"}, "Drag to zoom in "), reset), figure);

  const place = (time) => LEFT + (WIDTH - LEFT - 8) * (time - from) / (to - from);
  function zoom(start, stop) {
    [from, to] = [Math.max(0, start), Math.min(end, stop)];
    reset.disabled = from === 0 && to === end;
    draw();
  }
  function ticks() {
    const rough = (to - from) / 8;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const out = [];
    for (let time = Math.ceil(from / step) * step; time <= to * (1 + 1e-12); time += step) {
      out.push(time);
    }
    return out;
  }
  function draw() {
    const parts = [];
    for (const time of ticks()) {
      const x = place(time);
      parts.push(svg("line", {class: "grid", x1: x, x2: x, y1: 0, y2: height - 24}),
        svg("text", {x, y: height - 8, "text-anchor": x > WIDTH - 40 ? "end" : "middle"},
          format(time, data.format)));
    }
    data.lanes.forEach((name, lane) => {
      parts.push(svg("text", {class: "lane", x: 0, y: lane * LANE + LANE / 2 + 4}, name),
        svg("line", {class: "axis", x1: LEFT, x2: WIDTH, y1: (lane + 1) * LANE,
          y2: (lane + 1) * LANE}));
    });
    for (const item of data.items) {
      const left = Math.max(LEFT, place(item.start));
      const right = Math.min(WIDTH - 8, place(item.start + item.length));
      if (right <= LEFT || left >= WIDTH - 8) continue;
      const width = Math.max(right - left, 0.6);
      parts.push(tooltip(svg("rect", {class: "mark", "data-id": item.id, x: left,
        y: item.lane * LANE + 5, width, height: LANE - 10, rx: width > 6 ? 2 : 0,
        "stroke-width": width > 3 ? 1 : 0, style: `fill:${color(item.color)}`,
        onclick: () => lamella.select(item.id)}),
        `${item.label}\n${format(item.length, data.format)}`));
    }
    figure.replaceChildren(...parts);
    lamella.highlight();
  }
  let start = null;
  const at = (event) => {
    const box = figure.getBoundingClientRect();
    const x = Math.max(LEFT, (event.clientX - box.left) * WIDTH / box.width);
    return from + (to - from) * (x - LEFT) / (WIDTH - LEFT - 8);
  };
  figure.addEventListener("mousedown", (event) => {
    start = at(event);
    event.preventDefault();
  });
  figure.addEventListener("mouseup", (event) => {
    const stop = at(event);
    if (start !== null && Math.abs(stop - start) > (to - from) * 0.01) {
      zoom(Math.min(start, stop), Math.max(start, stop));
    }
    start = null;
  });
  zoom(0, end);
});
