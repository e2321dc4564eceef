"use strict";
// Elements and pictures. Texts are text nodes: nothing that a model says can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Sets attributes and events, and puts children in. */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** A picture of a size, with what it shows in words. */
const picture = (name, label, width, height, ...children) =>
  draw("svg", { id: `picture-${name}`, viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": label }, ...children);

const pixel = (x) => Math.round(x * 10) / 10;

/** A scale from values to places, with round numbers to mark: so far apart that three digits tell one from the next. */
function scale(low, high, from, to) {
  const middle = (low + high) / 2;
  const half = Math.max((high - low) / 2, Math.abs(middle) / 50) || 1;
  const [a, b] = [middle - half, middle + half];
  const at = (x) => pixel(from + ((x - a) / (b - a)) * (to - from));
  const rough = (b - a) / 4;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * ten).find((step) => step >= rough);
  const ticks = [];
  for (let k = Math.ceil(a / step); k * step <= b + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(6)));
  return { at, ticks };
}

/** Lines and numbers of a vertical scale. */
function grid({ at, ticks }, left, right) {
  return ticks.flatMap((tick) => [
    draw("line", { class: "grid", x1: left, x2: right, y1: at(tick), y2: at(tick) }),
    draw("text", { class: "tick", x: left - 6, y: at(tick) + 4, "text-anchor": "end" }, brief(tick, 3)),
  ]);
}

/** Target and output, entry by entry, and below them their difference in the certified band. */
function answer(names, target, output, bound) {
  const count = names.length;
  const [left, step] = [76, Math.max(10, Math.min(72, 640 / count))];
  const right = left + count * step;
  const width = right + 12;
  const x = (k) => pixel(left + (k + 0.5) * step);
  const finite = (list) => list.filter(Number.isFinite);
  const span = (list, least) => [Math.min(...list, least), Math.max(...list, least)];
  const first = finite([...target, ...output])[0] ?? 0;
  const values = scale(...span(finite([...target, ...output]), first), 150, 14);
  const off = output.map((y, k) => y - target[k]);
  const most = Math.max(bound ?? 0, ...finite(off).map(Math.abs), Number.MIN_VALUE) * 1.2;
  const errors = scale(-most, most, 320, 200);
  const dots = (list, at, kind) => list.map((value, k) => Number.isFinite(value) ? draw("circle", { class: kind(k), cx: x(k), cy: at(value), r: 4 }) : null);
  const every = Math.ceil(36 / step);
  return picture("answer", "target and output, and their difference in the band", width, 352,
    grid(values, left, right), grid(errors, left, right),
    bound === null ? [] : [
      draw("rect", { class: "band", x: left, width: right - left, y: errors.at(bound), height: pixel(errors.at(-bound) - errors.at(bound)) }),
      [bound, -bound].map((y) => draw("line", { class: "bound", x1: left, x2: right, y1: errors.at(y), y2: errors.at(y) })),
    ],
    off.map((e, k) => Number.isFinite(e) ? draw("line", { class: "stem", x1: x(k), x2: x(k), y1: errors.at(0), y2: errors.at(e) }) : null),
    target.map((y, k) => Number.isFinite(y) ? draw("circle", { class: "ring f", cx: x(k), cy: values.at(y), r: 7 }) : null),
    dots(output, values.at, () => "dot g"),
    dots(off, errors.at, (k) => (bound !== null && Math.abs(off[k]) > bound ? "dot out" : "dot g")),
    names.map((name, k) => (k % every ? null : draw("text", { class: "tick", x: x(k), y: 344, "text-anchor": "middle" }, name))),
    draw("text", { class: "tick", x: 4, y: 176 }, "values above, output − target below"));
}

/** A text, cut to what fits. */
const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** Boxes from left to right with ribbons between, as wide as what flows; `choose` is called with a box that is clicked. */
function flow(nodes, headings, total, chosen, choose) {
  const [box, row, thick, columns] = [148, 92, 52, headings.length];
  // As wide as the page has room for, but with some space for the ribbons.
  const column = Math.min(236, Math.max(box + 12, (1112 - box) / Math.max(columns - 1, 1)));
  const inColumn = (c) => nodes.filter((node) => node.column === c);
  const highest = Math.max(...headings.map((_, c) => inColumn(c).length));
  const height = 34 + highest * row;
  const width = (columns - 1) * column + box + 4;
  const readers = nodes.map((_, i) => nodes.filter((node) => node.reads.includes(i)).length);
  // What comes in and what is added goes on, in equal parts to all that read it.
  nodes.forEach((node) => (node.flow = node.share + node.reads.reduce((sum, i) => sum + nodes[i].flow / readers[i], 0)));
  const wide = (flow) => Math.max(1, (flow / total) * thick || 0);
  for (let c = 0; c < columns; c++) {
    const here = inColumn(c);
    // What only adds to the error stands below what computes.
    const wish = (node) => node.kind === "term" ? Infinity : node.reads.reduce((sum, i) => sum + nodes[i].y, 0) / Math.max(node.reads.length, 1);
    here.sort((a, b) => (wish(a) === wish(b) ? 0 : wish(a) - wish(b)));
    here.forEach((node, k) => (node.y = 34 + ((highest - here.length) / 2 + k + 0.5) * row));
  }
  nodes.forEach((node) => Object.assign(node, { x: pixel(2 + node.column * column), out: 0, in: 0 }));
  const all = (node) => node.reads.reduce((sum, i) => sum + wide(nodes[i].flow / readers[i]), 0);
  const ribbons = nodes.flatMap((node) => node.reads.map((i) => {
    const [from, w] = [nodes[i], wide(nodes[i].flow / readers[i])];
    const y0 = pixel(from.y - (readers[i] * w) / 2 + from.out + w / 2);
    const y1 = pixel(node.y - all(node) / 2 + node.in + w / 2);
    from.out += w;
    node.in += w;
    const [x0, x1] = [from.x + box, node.x];
    const middle = pixel((x0 + x1) / 2);
    return draw("path", { class: from.flow > 0 ? "ribbon" : "ribbon none", "stroke-width": pixel(w), d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` });
  }));
  const boxes = nodes.map((node) => {
    const [x, y] = [node.x, pixel(node.y - 34)];
    const label = [node.name, ...node.lines].filter(Boolean).join(", ");
    const act = node.key === undefined ? {} : {
      id: `gate-${node.key}`, role: "button", tabindex: 0, "aria-pressed": String(node.key === chosen), "aria-label": label,
      onclick: () => choose(node.key),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(node.key); } },
    };
    return draw("g", { class: `node ${node.kind}${node.key !== undefined && node.key === chosen ? " chosen" : ""}`, ...act },
      draw("rect", { x, y, width: box, height: 68, rx: 5 }),
      draw("text", { class: "name", x: x + 10, y: y + 19 }, cut(node.name, 16)),
      node.lines.map((line, k) => draw("text", { class: k ? "tick" : "formula", x: x + 10, y: y + 38 + 17 * k }, cut(line, 18))));
  });
  return picture("flow", "the flow of the certified error from gate to gate", width, height,
    headings.map((heading, c) => draw("text", { class: "tick", x: pixel(2 + c * column), y: 16 }, cut(heading, 21))), ribbons, boxes);
}

/** A curve of hinges, its knots, and where the tokens are. */
function curve(name, label, { at, knots }, tokens, sweep) {
  const ends = [...knots, ...tokens];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const pad = (high - low || 1) * 0.06;
  const inside = knots.filter((knot) => knot >= low && knot <= high);
  const points = [low - pad, ...inside, high + pad].map((t) => [t, at(t)]);
  const heights = points.map(([, y]) => y);
  const [x, y] = [scale(low - pad, high + pad, 66, 428), scale(Math.min(...heights), Math.max(...heights), 176, 12)];
  return picture(name, label, 440, 224, grid(y, 66, 428),
    x.ticks.map((tick) => draw("text", { class: "tick", x: x.at(tick), y: 196, "text-anchor": "middle" }, brief(tick, 3))),
    inside.map((knot) => draw("line", { class: "knot", x1: x.at(knot), x2: x.at(knot), y1: 170, y2: 176 })),
    draw("path", { class: "curve g", d: points.map(([t, v], k) => `${k ? "L" : "M"}${x.at(t)} ${y.at(v)}`).join("") }),
    tokens.map((t) => draw("circle", { class: "dot f", cx: x.at(t), cy: y.at(at(t)), r: 4 })),
    draw("text", { class: "tick", x: 66, y: 216 }, cut(sweep, 50)));
}

const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

/** A picture as a file of its own: what style sheets say stands in its elements. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [[picture, ...picture.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    DRAWN.forEach((name) => to[i].setAttribute(name, style.getPropertyValue(name)));
    ["id", "class", "tabindex", "role", "aria-pressed"].forEach((name) => to[i].removeAttribute(name));
  });
  const [, , width, height] = picture.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = draw("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor });
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Hands a text over as a file. */
function save(name, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A picture with a caption, and a button that saves it. */
function figure(picture, ...caption) {
  const name = picture.id.slice("picture-".length);
  return el("figure", {},
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": picture.getAttribute("aria-label") }, picture),
    el("figcaption", {}, ...caption, " ",
      el("button", { type: "button", id: `save-${name}`, class: "quiet", onclick: () => save(`${name}.svg`, standalone(picture)) }, "Save as SVG")));
}
