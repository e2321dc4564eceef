"use strict";
// The page: what is set stands in `state` and in the address, everything else is computed from it anew.

const MODEL = JSON.parse(document.getElementById("model").textContent);
const DIMS = MODEL.network.dims;
const SINGLE = MODEL.network.precision === "f32";
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(\/\d+)?$/;
const PLAIN = network(MODEL);
const $ = (id) => document.getElementById(id);

/** As the page opens. */
const fresh = () => ({
  x: MODEL.example.map((token) => token.slice()), place: PLAIN.layers.length, gate: null, cell: null, head: 0,
  scale: 0, format: MODEL.network.precision, order: "left", nudges: [],
});

let state = fresh();
let searching = null;

/* The address. */

/** What is set, as it stands behind the # of the address. */
function written() {
  const parts = [];
  const plain = fresh();
  const put = (name, value) => parts.push(`${name}=${encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3B", ";").replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%2B", "+")}`);
  const x = state.x.map((token) => token.join(",")).join(";");
  if (x !== plain.x.map((token) => token.join(",")).join(";")) put("x", x);
  for (const name of ["place", "gate", "head", "scale", "format", "order"]) if (state[name] !== plain[name]) put(name, state[name]);
  if (state.cell) put("cell", state.cell.join(","));
  if (state.nudges.length) put("w", state.nudges.map(({ tensor, index, steps }) => `${tensor}:${index}:${steps}`).join(";"));
  return parts.join("&");
}

/** Reads an address; what makes no sense is as if it were not there. */
function readAddress() {
  const read = fresh();
  const given = new Map(location.hash.slice(1).split("&").map((part) => {
    const [name, value = ""] = part.split("=");
    try { return [name, decodeURIComponent(value)]; } catch { return [name, ""]; }
  }));
  const whole = (text, low, high) => (/^-?\d+$/.test(text ?? "") && text >= low && text <= high ? Number(text) : null);
  const x = given.get("x")?.split(";").map((token) => token.split(","));
  const [least, most] = MODEL.lengths;
  if (x && x.length >= least && x.length <= most && x.every((token) => token.length === DIMS && token.every((entry) => !Number.isNaN(parsed(entry))))) read.x = x;
  read.place = whole(given.get("place"), 0, PLAIN.layers.length) ?? read.place;
  if ((MODEL.gates ?? []).some(({ name }) => name === given.get("gate"))) read.gate = given.get("gate");
  const [register, token] = (given.get("cell") ?? "").split(",");
  const cell = [whole(register, 0, PLAIN.width - 1), whole(token, 0, read.x.length - 1)];
  if (!cell.includes(null)) read.cell = cell;
  read.head = whole(given.get("head"), 0, 4095) ?? 0;
  read.scale = whole(given.get("scale"), -40, 40) ?? 0;
  if (Object.hasOwn(FORMATS, given.get("format"))) read.format = given.get("format");
  if (Object.hasOwn(ORDERS, given.get("order"))) read.order = given.get("order");
  for (const text of (given.get("w") ?? "").split(";").slice(0, 64)) {
    const [tensor, index, steps] = text.split(":");
    const size = PLAIN.tensors.get(tensor)?.data.length ?? 0;
    const nudge = { tensor, index: whole(index, 0, size - 1), steps: whole(steps, -(2 ** 31), 2 ** 31) };
    if (nudge.index !== null && nudge.steps) read.nudges.push(nudge);
  }
  state = read;
}

/* What is computed. */

/** The number that a text means; NaN if it means none, or one beyond the model's format. */
function parsed(text) {
  const number = NUMBER.test(text.trim()) ? rational(text.trim()) : NaN;
  return Number.isFinite(MODEL.network.precision === "f32" ? Math.fround(number) : number) ? number : NaN;
}

const input = () => state.x.map((token) => token.map(parsed));

/** How the network is run otherwise than the model says. */
function knobs() {
  const { format, order, nudges } = state;
  return { scale: 2 ** (state.scale / 4), format, order, nudges };
}

/** Whether what is run is still one of the executions that a claim is about. */
const covered = () => state.scale === 0 && state.format === MODEL.network.precision && !state.nudges.length;

let ready = { key: "", net: PLAIN };

/** The network with the knobs as they are. */
function current() {
  const key = JSON.stringify(knobs());
  if (ready.key !== key) ready = { key, net: network(MODEL, knobs()) };
  return ready.net;
}

/** What is to be said of this input: a class, and a sentence. */
function verdict(result, x) {
  const { claim } = MODEL;
  const off = `off by ${brief(result.error, 4)}`;
  if (!claim) return ["none", `Nothing is claimed of this network. Here it is ${off}.`];
  if (claim.bound === null) {
    const plain = run(PLAIN, x).output.flat();
    const same = result.output.flat().every((y, k) => Object.is(y, plain[k]));
    const which = same ? "the same output as the model" : "another output than the model";
    return [same ? "none" : "changed", `One input does not decide the claim, which is: ${claim.about}. Here it is ${off}; ${which}.`];
  }
  const band = `${above(claim.bound, 5)} that is ${claim.badge}`;
  if (!inDomain(MODEL, x)) return ["none", `This input is outside of ${claim.domain}: nothing is claimed here. It is ${off}.`];
  const share = `${brief((100 * result.error) / claim.bound, 3)} % of the ${band}`;
  if (result.error <= claim.bound) {
    if (!covered()) return ["in", `Inside of the band here: ${off}, ${share}. But this is no longer the network of the claim.`];
    const order = state.order === "left" ? "" : " The claim covers every order of summation.";
    return ["in", `Inside of the band: ${off}, ${share}.${order}`];
  }
  const why = covered() ? "This contradicts the claim: please report it." : "What you changed broke it: the claim is about the network as it was compiled.";
  return ["out", `Out of the band: ${off}, and ${band}. ${why}`];
}

/* What is shown. */

/** Changes what is set, and shows it. */
function set(change) {
  if ("x" in change || "scale" in change || "nudges" in change || "format" in change || "order" in change) searching = null;
  Object.assign(state, change);
  if (state.cell && state.cell[1] >= state.x.length) state.cell = null;
  show();
  history.replaceState(null, "", `#${written()}`);
}

const option = (value, text) => el("option", { value }, text);

/** A number of the stream or the output, as it is shown in a table. */
const number = (x) => brief(x, 6);

function showInput(x) {
  const rows = state.x.map((token, i) => el("tr", {}, el("th", { scope: "row" }, `token ${i}`), token.map((text, c) => {
    const wrong = Number.isNaN(x[i][c]);
    return el("td", {}, el("input", {
      id: `x-${i}-${c}`, value: text, inputmode: "decimal", autocomplete: "off", "aria-invalid": wrong ? "true" : null,
      "aria-label": DIMS > 1 ? `token ${i}, coordinate ${c}` : `token ${i}`,
      oninput: (event) => {
        const x = state.x.map((token) => token.slice());
        x[i][c] = event.target.value.trim().slice(0, 40);
        set({ x });
      },
    }));
  })));
  $("tokens").replaceChildren(el("table", {}, el("tbody", {}, rows)));
  const [least, most] = MODEL.lengths;
  $("more").disabled = state.x.length >= most;
  $("fewer").disabled = state.x.length <= least;
  const wrong = x.flat().some(Number.isNaN);
  $("wrong").textContent = wrong ? "A number is missing: write 0.25, 1e-3 or 3/8." : "";
}

function showAnswer(result) {
  const names = result.output.flatMap((token, i) => token.map((_, c) => (token.length > 1 ? `${i}.${c}` : `${i}`)));
  const [target, output, off] = [result.target.flat(), result.output.flat(), result.off.flat()];
  const bound = MODEL.claim?.bound ?? null;
  const band = bound === null ? [] : [el("i", { class: "key band" }), `certified band: ± ${above(bound, 5)}. `];
  $("answer").replaceChildren(
    figure(answer(names, target, output, bound), el("i", { class: "key f" }), "target ", el("i", { class: "key g" }), "output ", band),
    el("details", { id: "answer-numbers", open: $("answer-numbers")?.open },
      el("summary", {}, "The same in numbers"),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "numbers" }, el("table", {},
        el("thead", {}, el("tr", {}, ["token", "target", "output", "output − target"].map((text) => el("th", { class: "number" }, text)))),
        el("tbody", {}, names.map((name, k) => el("tr", {},
          el("th", { scope: "row", class: "number" }, name), el("td", { class: "number" }, String(target[k])),
          el("td", { class: "number output" }, full(output[k], SINGLE && state.format !== "f64")), el("td", { class: "number" }, brief(off[k], 4)))))))));
}

/** The circuit, or the stages, as boxes with what each adds to the error. */
function graph() {
  const { gates, outputs, terms, network } = MODEL;
  const nodes = [];
  const column = new Map();
  if (gates?.length) {
    const slot = (gate) => 2 * gate.block + (gate.heads > 0 ? 0 : 1);
    const slots = [...new Set(gates.map(slot))].sort((a, b) => a - b);
    const read = [...new Set([...gates.flatMap((gate) => gate.reads), ...outputs])].filter((name) => gates.every((gate) => gate.name !== name)).sort();
    const place = (name) => nodes.findIndex((node) => node.id === name);
    read.forEach((name) => nodes.push({ id: name, name, lines: [name.startsWith("x") ? "of the input token" : "of the position"], kind: "input", reads: [], column: 0, share: 0 }));
    gates.forEach((gate) => nodes.push({ id: gate.name, name: gate.name, key: gate.name, kind: gate.heads > 0 ? "head" : "units", column: 1 + slots.indexOf(slot(gate)), share: gate.share,
      lines: [gate.formula, gate.share > 0 ? `adds ${above(gate.share, 3)}` : "adds nothing"], of: gate.reads }));
    nodes.forEach((node) => (node.reads = [...new Set(node.of ?? [])].map(place).filter((i) => i >= 0 && nodes[i].column < node.column)));
    slots.forEach((slot, k) => column.set(k + 1, `block ${slot >> 1}, ${slot % 2 ? "feed-forward" : "attention"}`));
    nodes.push({ name: "y", lines: ["the output token"], kind: "output", reads: outputs.map(place).filter((i) => i >= 0), column: slots.length + 1, share: 0 });
  } else {
    nodes.push({ name: "x", lines: ["the input token"], kind: "input", reads: [], column: 0, share: 0 });
    network.stages.forEach((stage, i) => {
      const last = PLAIN.layers.findLastIndex((layer) => layer.stage === i);
      const count = PLAIN.layers.filter((layer) => layer.stage === i).length;
      nodes.push({ name: stage.name, key: stage.name, kind: last >= 0 && PLAIN.layers[last].kind === "attention" ? "head" : "units", reads: [i], column: i + 1, share: 0,
        lines: [`${count} layer${count === 1 ? "" : "s"}`] });
      column.set(i + 1, stage.statement);
    });
    nodes.push({ name: "y", lines: ["the output token"], kind: "output", reads: [network.stages.length], column: network.stages.length + 1, share: 0 });
  }
  const output = nodes.pop();
  // Terms that no gate has: what rounding and the like add, shown beside the last gates.
  const own = new Set((gates ?? []).map((gate) => `${gate.name} = `));
  for (const { name, bound } of terms) {
    if (![...own].some((start) => name.startsWith(start)) && bound > 0) {
      nodes.push({ name, lines: [`adds ${above(bound, 3)}`], kind: "term", reads: [], column: Math.max(output.column - 1, 0), share: bound });
      output.reads = [...output.reads, nodes.length - 1];
    }
  }
  nodes.push(output);
  const headings = Array.from({ length: output.column + 1 }, (_, c) => (c === 0 ? "embedding" : c === output.column ? "output" : column.get(c)));
  return { nodes, headings };
}

const GRAPH = graph();

function showFlow() {
  const total = MODEL.terms.reduce((sum, { bound }) => sum + bound, 0);
  const nodes = GRAPH.nodes.map((node) => ({ ...node }));
  const choose = (key) => {
    const gate = MODEL.gates?.find(({ name }) => name === key);
    if (gate) set({ gate: state.gate === key ? null : key, place: placeOf(PLAIN, gate) });
    else set({ place: 1 + PLAIN.layers.findLastIndex((layer) => MODEL.network.stages[layer.stage].name === key) });
  };
  const stage = state.place > 0 ? MODEL.network.stages[PLAIN.layers[state.place - 1].stage].name : null;
  const what = total > 0
    ? `Ribbons are as wide as what flows in them of the certified error, ${above(MODEL.claim?.budget ?? total, 5)}; what several read is drawn in equal parts.`
    : "Nothing here is approximated: no ribbon has a width.";
  $("flow").replaceChildren(figure(flow(nodes, GRAPH.headings, total || 1, MODEL.gates?.length ? state.gate : stage, choose), what));
}

/** Arrow keys go from cell to cell of a table. */
function arrows(event) {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const [move, at] = [moves[event.key], event.target.id.match(/^cell-(\d+)-(\d+)$/)];
  if (!move || !at) return;
  const next = $(`cell-${Number(at[1]) + move[0]}-${Number(at[2]) + move[1]}`);
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function showStream(net, states) {
  const { coordinates } = MODEL.network;
  const place = state.place;
  const slider = $("place");
  slider.max = net.layers.length;
  slider.value = place;
  slider.setAttribute("aria-valuetext", `after the ${placeName(net, place)}`);
  const stage = place ? MODEL.network.stages[net.layers[place - 1].stage] : null;
  $("where").textContent = `after the ${placeName(net, place)}${stage ? `, stage ${stage.name}` : ""}: ${place} of ${net.layers.length} layers`;
  const changed = (r, t) => place > 0 && !Object.is(states[place][t][r], states[place - 1][t][r]);
  const [chosenRow, chosenToken] = state.cell ?? [-1, -1];
  const rows = coordinates.map(({ name }, r) => el("tr", {},
    el("th", { scope: "row" }, name),
    el("td", { class: "text" }, meaning(net, place, r)),
    states[place].map((z, t) => el("td", { class: "number" }, el("button", {
      type: "button", id: `cell-${r}-${t}`, class: `cell${changed(r, t) ? " changed" : ""}`,
      "aria-pressed": String(chosenRow === r && chosenToken === t), "aria-label": `${name}, token ${t}: ${number(z[r])}${changed(r, t) ? ", changed here" : ""}`,
      tabindex: (state.cell ? chosenRow === r && chosenToken === t : r + t === 0) ? 0 : -1,
      onclick: () => set({ cell: chosenRow === r && chosenToken === t ? null : [r, t] }),
    }, number(z[r]))))));
  const head = el("tr", {}, el("th", {}, "register"), el("th", {}, "holds"), states[place].map((_, t) => el("th", { class: "number" }, `token ${t}`)));
  $("stream").replaceChildren(el("table", { class: "cells", onkeydown: arrows }, el("thead", {}, head), el("tbody", {}, rows)));
  showCell(net, states);
}

/** What a register holds at a place, in words. */
function meaning(net, place, register) {
  const known = held(net, place, register);
  if (known === "") return el("span", { class: "dim" }, "in the middle of a stage");
  if (known) return el("span", {}, el("code", {}, known.text), known.error > 0 ? el("span", { class: "dim" }, ` ± ${above(known.error, 3)}`) : null);
  return el("span", { class: "dim" }, MODEL.held ? "nothing" : MODEL.network.coordinates[register].meaning);
}

/** A button that goes to a place. */
function goto(net, place, text) {
  if (place === "end") return el("span", {}, "the read-out: the output is made of it");
  const gates = gatesAt(net, place).map(({ name }) => name);
  const label = text ?? `${placeName(net, place)}${gates.length && gates.length < 9 ? ` (${gates.join(", ")})` : ""}`;
  return el("button", { type: "button", id: `goto-${place}`, class: "quiet", onclick: () => set({ place }) }, label);
}

function showCell(net, states) {
  if (!state.cell) return $("cell").replaceChildren(el("p", { class: "note" }, "Choose a number: who wrote it, and who reads it."));
  const [register, token] = state.cell;
  const name = MODEL.network.coordinates[register].name;
  const value = states[state.place][token][register];
  const [wrote, read] = [writers(net, states, state.place, register, token), readers(net, state.place, register)];
  const shown = wrote.length > 12 ? [...wrote.slice(0, 3), null, ...wrote.slice(-8)] : wrote;
  $("cell").replaceChildren(
    el("h3", {}, `${name} of token ${token} is ${full(value, net.math.single)}`),
    el("div", { class: "two" },
      el("div", {}, el("h4", {}, "written by"), el("ul", { id: "wrote" }, shown.map((w) => (w
        ? el("li", {}, goto(net, w.place), ` ${w.added < 0 ? "−" : "+"} ${brief(Math.abs(w.added), 6)}`)
        : el("li", { class: "dim" }, `… and ${wrote.length - 11} more`))))),
      el("div", {}, el("h4", {}, "read by"), el("ul", { id: "read" }, read.length
        ? read.slice(0, 12).map((place) => el("li", {}, goto(net, place))) : el("li", { class: "dim" }, "nobody: it is changed first, or not looked at again")))));
}

/** A line of an equation; its weights are buttons that choose what is nudged. */
function line(pieces) {
  return el("li", {}, pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    const { tensor, index, value, abs } = piece;
    const moved = state.nudges.some((nudge) => nudge.tensor === tensor && nudge.index === index);
    return el("button", { type: "button", class: `weight${moved ? " moved" : ""}`, "data-weight": `${tensor}:${index}`,
      "aria-label": `weight ${full(value, SINGLE)}, ${tensor} number ${index}: put it on the bench`,
      onclick: () => { pick(tensor, index); } }, brief(abs ? Math.abs(value) : value, 6));
  }));
}

/** The lines of an equation that are shown at once. */
const LINES = 10;

function showLayer(net, states) {
  if (state.place === 0) {
    return $("layer").replaceChildren(el("p", {}, "The embedding writes the input into the stream. Move the slider to a layer to see its weights."));
  }
  const layer = net.layers[state.place - 1];
  const gates = gatesAt(net, state.place);
  const gate = gates.find(({ name }) => name === state.gate);
  const lines = equation(net, layer, gate?.places);
  const before = states[state.place - 1];
  const parts = [el("h3", {}, gate ? `${gate.name} = ${gate.formula}` : `${layer.kind === "attention" ? "Attention" : "Feed-forward"} of block ${layer.block}`)];
  if (gates.length) {
    const chip = (name, text) => el("button", { type: "button", id: `only-${name ?? "all"}`, class: "chip", "aria-pressed": String((gate?.name ?? null) === name), onclick: () => set({ gate: name }) }, text);
    parts.push(el("p", {}, chip(null, "the whole layer"), gates.slice(0, 40).map(({ name }) => [" ", chip(name, name)])));
  }
  if (gate) {
    const names = gate.registers.map((r) => MODEL.network.coordinates[r].name);
    const cost = gate.heads ? `${gate.heads} head${gate.heads > 1 ? "s" : ""}` : `${gate.units} hidden unit${gate.units > 1 ? "s" : ""}`;
    const share = gate.share > 0 ? `adds at most ${above(gate.share, 3)} to the error of the output` : "adds nothing to the error but rounding";
    parts.push(el("p", {}, `${gate.kind}, ${cost}; values in [${brief(gate.range[0], 4)}, ${brief(gate.range[1], 4)}]; reads ${gate.reads.join(", ") || "nothing"}; written to ${names.join(", ")}; ${share}.`));
  }
  parts.push(...(layer.kind === "attention" ? matrices(net, layer, before, gate) : hinges(net, layer, before, gate)));
  parts.push(el("h4", {}, "As an equation"), el("p", { class: "note" }, "Every number is a weight; choose one to change it by single steps, below."),
    el("ul", { class: "equation", id: "equation" }, lines.slice(0, LINES).map(line)));
  if (lines.length > LINES) {
    const rest = el("details", { id: "equation-rest", open: $("equation-rest")?.open }, el("summary", {}, `${lines.length - LINES} more lines`));
    const fill = () => { if (rest.open && rest.children.length === 1) rest.append(el("ul", { class: "equation" }, lines.slice(LINES, 1000).map(line)), lines.length > 1000 ? el("p", { class: "dim" }, `${lines.length - 1000} more are left out.`) : ""); };
    rest.addEventListener("toggle", fill);
    fill();
    parts.push(rest);
  }
  $("layer").replaceChildren(...parts);
}

/** The most tokens whose attention is shown as a square. */
const SQUARE = 16;

/** The attention of the heads of a layer. */
function matrices(net, layer, before, gate) {
  const { looks } = attend(net.math, layer, before);
  const heads = gate?.places ?? looks.map((_, head) => head);
  const head = heads.includes(state.head) ? state.head : heads[0];
  const rows = looks[head];
  const keys = [...new Set(rows.flatMap((row) => row.map(({ at }) => at)))].sort((a, b) => a - b);
  const named = layer.formula.look.kind === "softmax" && layer.formula.look.keys === 0 ? "token" : layer.formula.look.kind === "row" ? "row" : "number";
  const few = rows.length <= SQUARE && keys.length <= SQUARE;
  const queries = few ? rows.map((_, i) => i) : [Math.min(state.cell?.[1] ?? 0, rows.length - 1)];
  const columns = few ? keys : rows[queries[0]].map(({ at }) => at);
  const largest = Math.max(...rows.flatMap((row) => row.map(({ weight }) => weight)), Number.MIN_VALUE);
  const cell = (i, at) => {
    const found = rows[i].find((look) => look.at === at);
    const square = el("td", { class: "number look" }, found ? brief(found.weight, 3) : el("span", { class: "dim" }, "hidden"));
    if (found) square.style.setProperty("--weight", `${Math.round((60 * found.weight) / largest)}%`);
    return square;
  };
  const choice = heads.length > 1 ? el("p", {}, heads.map((h) => [el("button", { type: "button", id: `head-${h}`, class: "chip", "aria-pressed": String(h === head), onclick: () => set({ head: h }) }, `head ${h}`), " "])) : null;
  return [el("h4", {}, `Who looks where: head ${head}`), choice,
    few ? null : el("p", { class: "note" }, `Token ${queries[0]} looks; choose a number of another token above to see where that looks.`),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "attention" }, el("table", { class: "attention", id: "attention" },
      el("thead", {}, el("tr", {}, el("th", {}, "looks"), columns.map((at) => el("th", { class: "number" }, `${named} ${at}`)))),
      el("tbody", {}, queries.map((i) => el("tr", {}, el("th", { scope: "row" }, `token ${i}`), columns.map((at) => cell(i, at))))))),
  ].filter(Boolean);
}

/** The curves that hidden units make, a picture a direction and register. */
function hinges(net, layer, before, gate) {
  const { width } = net;
  const names = MODEL.network.coordinates.map(({ name }) => name);
  const all = directions(net, layer, gate?.places);
  const pictures = [];
  for (const [d, group] of all.entries()) {
    const sweep = sumText(group.direction, names);
    const tokens = before.map((z) => z.reduce((sum, x, i) => sum + group.direction[i] * x, 0));
    for (let register = 0; register < width; register++) {
      const line = hinge(net, layer, group, register);
      if (!line.knots.length) continue;
      const label = `what ${line.knots.length} hidden unit${line.knots.length > 1 ? "s" : ""} add to ${names[register]}`;
      pictures.push([`curve-${d}-${names[register].replace(/[^A-Za-z0-9_]/g, "-")}`, label, line, tokens, `t = ${sweep}`]);
    }
  }
  const shown = pictures.slice(0, 4).map((one) => figure(curve(...one), `${one[1]}, along ${one[4]}; dots are the tokens, marks where a unit begins.`));
  const more = pictures.length > 4 ? el("p", { class: "note" }, `${pictures.length - 4} more curves${gate ? "" : "; a gate by itself has fewer"}.`) : null;
  return [el("h4", {}, "Its hinges"), el("div", { class: "curves" }, shown), more].filter(Boolean);
}

/** Σ factor · name, in few characters. */
function sumText(factors, names) {
  const terms = factors.flatMap((f, i) => (f === 0 ? [] : [`${f < 0 ? "− " : "+ "}${Math.abs(f) === 1 ? "" : `${brief(Math.abs(f), 4)}·`}${names[i]}`]));
  return terms.join(" ").replace(/^\+ /, "");
}

/* The bench. */

/** Puts a weight on the bench. */
function pick(tensor, index) {
  $("weight").value = `${tensor}:${index}`;
  showNudge();
  $("bench-weight").scrollIntoView({ block: "nearest" });
  $("up").focus({ preventScroll: true });
}

/** The weight on the bench. */
function picked() {
  const [tensor, index] = $("weight").value.trim().split(":");
  const data = PLAIN.tensors.get(tensor)?.data;
  return data && /^\d+$/.test(index ?? "") && Number(index) < data.length ? { tensor, index: Number(index) } : null;
}

/** Moves a weight by so many steps. */
function nudge(steps) {
  const at = picked();
  if (!at) return;
  const same = (other) => other.tensor === at.tensor && other.index === at.index;
  const before = state.nudges.find(same)?.steps ?? 0;
  const moved = Math.max(-(2 ** 31), Math.min(2 ** 31, before + steps));
  if (!Number.isFinite(nudged(PLAIN.tensors.get(at.tensor).data[at.index], moved, SINGLE))) return;
  const others = state.nudges.filter((other) => !same(other));
  set({ nudges: moved ? [...others, { ...at, steps: moved }] : others });
}

function showNudge() {
  const at = picked();
  const found = at && state.nudges.find(({ tensor, index }) => tensor === at.tensor && index === at.index);
  const [from, to] = at ? [PLAIN, current()].map((net) => full(net.tensors.get(at.tensor).data[at.index], SINGLE)) : [];
  const steps = (n) => `${Math.abs(n)} step${Math.abs(n) === 1 ? "" : "s"} ${n < 0 ? "down" : "up"}`;
  $("value").textContent = !at ? "Choose a weight in an equation, or write TENSOR:NUMBER." : found ? `${from} became ${to}, ${steps(found.steps)}` : from;
  for (const id of ["up", "down", "far-up", "far-down"]) $(id).disabled = !at;
  $("nudges").replaceChildren(...state.nudges.map(({ tensor, index, steps: n }) => el("li", {}, `${tensor} number ${index}: ${steps(n)} `,
    el("button", { type: "button", class: "quiet", "aria-label": `take back ${tensor} number ${index}`, onclick: () => set({ nudges: state.nudges.filter((other) => other.tensor !== tensor || other.index !== index) }) }, "take back"))));
}

function showBench() {
  $("scale").value = state.scale;
  $("mend").disabled = covered() && state.order === "left";
  const factor = 2 ** (state.scale / 4);
  const text = state.scale === 0 ? "as compiled" : `scores × ${brief(factor, 4)}, temperature × ${brief(1 / factor, 4)}`;
  $("scale").setAttribute("aria-valuetext", text);
  $("scale-text").textContent = text;
  $("format").value = state.format;
  $("order").value = state.order;
  showNudge();
}

/* The worst input. */

/** Searches for the worst input, a little at a time, so that the page answers meanwhile. */
function findWorst() {
  const x = input();
  if (x.flat().some(Number.isNaN)) return;
  const own = (searching = search(current(), x));
  const step = (worst) => {
    if (searching !== own) return void ($("searched").textContent = "");
    const until = performance.now() + 24;
    let next;
    do {
      next = own.next();
      worst = next.value ?? worst;
    } while (!next.done && performance.now() < until);
    const off = `off by ${brief(worst.error, 4)}`;
    if (!next.done) {
      $("searched").textContent = `${worst.tried} inputs tried, the worst is ${off}`;
      return void setTimeout(step, 0, worst);
    }
    set({ x: worst.x.map((token) => token.map(String)) });
    $("searched").textContent = `${worst.tried} inputs tried${worst.all ? ", which are all" : ""}: this is the worst of them, ${off}`;
  };
  step(null);
}

/* All of it. */

function show() {
  const focus = document.activeElement?.id;
  const at = document.activeElement?.selectionStart;
  const x = input();
  showInput(x);
  showBench();
  if (!x.flat().some(Number.isNaN)) {
    const net = current();
    const result = compare(net, x);
    const [kind, text] = verdict(result, x);
    $("status").className = kind;
    $("status-text").textContent = text;
    showAnswer(result);
    showFlow();
    showStream(net, result.states);
    showLayer(net, result.states);
  }
  // What had the focus is another element now, by the same name.
  const again = focus && $(focus);
  if (again && again !== document.activeElement) {
    again.focus({ preventScroll: true });
    if (at !== null && at !== undefined && again.setSelectionRange) again.setSelectionRange(at, at);
  }
}

function start() {
  const changeTokens = (count) => {
    const x = state.x.slice(0, count);
    while (x.length < count) x.push((MODEL.example[x.length] ?? x[x.length - 1]).slice());
    set({ x });
  };
  $("more").addEventListener("click", () => changeTokens(state.x.length + 1));
  $("fewer").addEventListener("click", () => changeTokens(state.x.length - 1));
  $("worst").addEventListener("click", findWorst);
  $("example").addEventListener("click", () => { $("searched").textContent = ""; set({ x: fresh().x }); });
  $("place").addEventListener("input", (event) => set({ place: Number(event.target.value) }));
  $("scale").addEventListener("input", (event) => set({ scale: Number(event.target.value) }));
  $("format").addEventListener("change", (event) => set({ format: event.target.value }));
  $("order").addEventListener("change", (event) => set({ order: event.target.value }));
  $("weight").addEventListener("input", showNudge);
  $("up").addEventListener("click", () => nudge(1));
  $("down").addEventListener("click", () => nudge(-1));
  $("far-up").addEventListener("click", () => nudge(2 ** 16));
  $("far-down").addEventListener("click", () => nudge(-(2 ** 16)));
  $("mend").addEventListener("click", () => set({ scale: 0, format: MODEL.network.precision, order: "left", nudges: [] }));
  addEventListener("hashchange", () => { readAddress(); show(); });
  readAddress();
  show();
  document.documentElement.dataset.ready = "yes";
}

start();
