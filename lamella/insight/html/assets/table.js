"use strict";
// A table that can be sorted, searched and grouped.
lamella.component("table", (body, data) => {
  const {el, format, color} = lamella;
  const columns = data.columns;
  const groups = data.groups || [];
  let [key, direction] = data.sort || [null, 1];
  let group = "";
  let wanted = [];
  const unfolded = new Set();
  const largest = {};
  for (const column of columns) {
    if (column.bar) {
      largest[column.key] = Math.max(0, ...data.rows.map((row) => row[column.key] || 0));
    }
  }
  const text = new Map(data.rows.map((row) => [row, columns.map(
    (column) => format(row[column.key], column.format)).join("\n").toLowerCase()]));

  const search = el("input", {type: "search", placeholder: "Search: words, all must occur",
    "aria-label": "Search", oninput: () => {
      wanted = search.value.toLowerCase().split(/\s+/).filter((word) => word);
      fill();
    }});
  const labels = Object.fromEntries(columns.map((column) => [column.key, column.label]));
  const chooser = el("select", {"aria-label": "Group by", onchange: () => {
    group = chooser.value;
    unfolded.clear();
    fill();
  }}, el("option", {value: ""}, "nothing"),
  ...groups.map((name) => el("option", {value: name}, labels[name] || name)));
  const count = el("span", {class: "count"});
  body.append(el("div", {class: "controls"}, search,
    groups.length ? el("label", {}, "Group by ", chooser) : null, count));

  const head = el("tr");
  for (const column of columns) {
    head.append(el("th", {class: column.format ? "number" : "", title: column.title || null,
      "data-key": column.key, tabindex: 0, "aria-sort": "none",
      onclick: () => order(column), onkeydown: (event) => {
        if (event.key === "Enter") order(column);
      }}, column.label, el("span", {class: "arrow"})));
  }
  const rows = el("tbody");
  body.append(el("div", {class: "scroll"}, el("table", {}, el("thead", {}, head), rows)));

  function order(column) {
    if (key === column.key) direction = -direction;
    else [key, direction] = [column.key, column.format ? -1 : 1];
    fill();
  }
  function compare(a, b) {
    const x = a[key];
    const y = b[key];
    const none = (v) => v === null || v === undefined || v === "";
    if (none(x) || none(y)) return none(x) - none(y);
    if (typeof x === "number" && typeof y === "number") return direction * (x - y);
    return direction * String(x).localeCompare(String(y), undefined, {numeric: true});
  }
  function cell(row, column) {
    const shown = format(row[column.key], column.format);
    const kinds = ["number", "code", "wrap", "narrow"];
    const td = el("td", {class: kinds.filter((kind, i) =>
      [column.format, column.code, column.wrap, column.narrow][i]).join(" "), "data-label": column.label,
      title: shown.length > 30 && !column.wrap ? shown : null});
    if (column.color) {
      td.append(el("span", {class: "dot", style: `background:${color(row[column.color])}`}));
    }
    td.append(shown);
    if (column.bar && row[column.key] > 0) {
      const part = 100 * row[column.key] / largest[column.key];
      td.style.background = `linear-gradient(to left, var(--bar) ${part}%, transparent ${part}%)`;
    }
    return td;
  }
  function line(row, inner) {
    const can = lamella.selectable(row.id);
    return el("tr", {"data-id": can ? row.id : null, class: inner ? "inner" : null,
      tabindex: can ? 0 : null,
      onclick: can ? () => lamella.select(row.id) : undefined,
      onkeydown: can ? (event) => { if (event.key === "Enter") lamella.select(row.id); }
        : undefined}, ...columns.map((column) => cell(row, column)));
  }
  function groupHead(name, members) {
    const open = unfolded.has(name) || wanted.length > 0;
    const cells = columns.map((column, place) => {
      if (place === 0) {
        return el("td", {title: name}, el("span", {class: "fold"}, open ? "▼" : "▶"), name || "–",
          el("span", {class: "tag"}, `× ${members.length}`));
      }
      const adds = (data.total || []).includes(column.key);
      return el("td", {class: column.format ? "number" : ""},
        adds ? format(members.reduce((sum, row) => sum + (row[column.key] || 0), 0), column.format)
          : "");
    });
    return el("tr", {class: "group", onclick: () => {
      if (!unfolded.delete(name)) unfolded.add(name);
      fill();
    }}, ...cells);
  }
  function fill() {
    const found = data.rows.filter((row) => wanted.every((word) => text.get(row).includes(word)));
    if (key !== null) found.sort(compare);
    for (const th of head.children) {
      const here = th.dataset.key === key;
      th.querySelector(".arrow").textContent = here ? (direction < 0 ? "▼" : "▲") : "";
      th.setAttribute("aria-sort", here ? (direction < 0 ? "descending" : "ascending") : "none");
    }
    const out = [];
    if (group) {
      const members = new Map();
      for (const row of found) {
        const name = format(row[group]);
        members.set(name, [...(members.get(name) || []), row]);
      }
      const adds = (data.total || []).includes(key) ? key : (data.total || [])[0];
      const sum = (list) => list.reduce((total, row) => total + (row[adds] || 0), 0);
      const ordered = [...members].sort((a, b) => sum(b[1]) - sum(a[1]));
      for (const [name, list] of ordered) {
        out.push(groupHead(name, list));
        if (unfolded.has(name) || wanted.length) out.push(...list.map((row) => line(row, true)));
      }
    } else {
      out.push(...found.map((row) => line(row, false)));
    }
    if (!found.length) {
      out.push(el("tr", {}, el("td", {colspan: columns.length}, lamella.empty(
        data.rows.length ? "No row has these words." : data.empty))));
    }
    rows.replaceChildren(...out);
    count.textContent = found.length === data.rows.length ? `${found.length} rows`
      : `${found.length} of ${data.rows.length} rows`;
    lamella.highlight();
  }
  fill();
});
