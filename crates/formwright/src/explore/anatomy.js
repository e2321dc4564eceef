"use strict";
// What is read off the weights: who writes a register and who reads it, what a gate's weights say as an equation, its hinges.

/** A number in so many digits. */
function brief(x, digits = 5) {
  const plain = Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : String(x);
  const short = plain.length > digits + 6 ? Number(x.toPrecision(digits)).toExponential().replace("e+", "e") : plain;
  return short.replaceAll("-", "−");
}

/** A bound in so many digits, rounded up. */
function above(x, digits) {
  const near = Number(x.toPrecision(digits));
  return brief(near >= x ? near : near + 10 ** (Math.floor(Math.log10(x)) + 1 - digits), digits);
}

/** A number in full, as short as it can be read again in its format. */
function full(x, single) {
  if (!single || !Number.isFinite(x)) return String(x);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return String(short);
  }
  return String(Number(x.toPrecision(9)));
}

/** The layer of a gate, as a place of the stream: place 0 is behind the embedding. */
function placeOf(net, gate) {
  return 1 + net.layers.findIndex((layer) => layer.block === gate.block && (layer.kind === "attention") === gate.heads > 0);
}

/** A place, in words. */
function placeName(net, place) {
  if (place === 0) return "embedding";
  const { kind, block } = net.layers[place - 1];
  return `${kind} of block ${block}`;
}

/** The gates of a layer, by what is computed there. */
function gatesAt(net, place) {
  return (net.model.gates ?? []).filter((gate) => placeOf(net, gate) === place);
}

/** Whether a layer adds something to a register, and whether it looks at it. */
function writes(layer, width, register) {
  if (layer.kind === "attention") {
    const { heads, mv, of } = layer;
    return Array.from({ length: heads * mv }, (_, place) => place)
      .some((place) => of.o.data[(Math.floor(place / mv) * width + register) * mv + (place % mv)] !== 0);
  }
  const { hidden, of } = layer;
  return of.b2.data[register] !== 0 || of.w2.data.subarray(register * hidden, (register + 1) * hidden).some((w) => w !== 0);
}

function reads(layer, width, register) {
  const column = ({ data }) => data.some((w, i) => i % width === register && w !== 0);
  return ["q", "k", "v", "w1"].some((name) => layer.of[name] && column(layer.of[name]));
}

/** Who made the number of a register and token, up to a place: what each added. */
function writers(net, states, place, register, token) {
  const list = [{ place: 0, added: states[0][token][register] }];
  for (let p = 1; p <= place; p++) {
    if (!writes(net.layers[p - 1], net.width, register)) continue;
    list.push({ place: p, added: states[p][token][register] - states[p - 1][token][register] });
  }
  return list;
}

/** Who looks at the number that a register holds at a place, until it changes; `end` if the output does. */
function readers(net, place, register) {
  const list = [];
  for (let p = place + 1; p <= net.layers.length; p++) {
    if (reads(net.layers[p - 1], net.width, register)) list.push(p);
    if (writes(net.layers[p - 1], net.width, register)) return list;
  }
  const outputs = net.readOut.weight.some((w, i) => i % net.width === register && w !== 0);
  return outputs ? [...list, "end"] : list;
}

/** What a register holds at a place, as it is proved; none in the middle of a stage, or where nothing is known. */
function held(net, place, register) {
  const { held } = net.model;
  if (!held) return place === net.layers.length || place === 0 || net.layers[place - 1].last ? null : "";
  if (place > 0 && !net.layers[place - 1].last) return "";
  const stage = place === 0 ? 0 : net.layers[place - 1].stage + 1;
  return held[register].filter(({ from }) => from <= stage).at(-1) ?? null;
}

/** A weight, by its tensor and its number there. */
const weight = ({ name, from, data }, index) => ({ tensor: name, index: from + index, value: data[index] });

/** Σ weight · name, as pieces: texts and weights. */
function sum(terms, constant) {
  const pieces = [];
  const piece = (w, name) => {
    const sign = w.value < 0 ? "−" : "+";
    pieces.push(pieces.length ? ` ${sign} ` : w.value < 0 ? "−" : "", { ...w, abs: true }, name ? `·${name}` : "");
  };
  terms.filter(([w]) => w.value !== 0).forEach(([w, name]) => piece(w, name));
  if (constant && (constant.value !== 0 || !pieces.length)) piece(constant);
  return pieces.length ? pieces : ["0"];
}

/** What a layer's heads or hidden units compute, line by line; `places` picks some of them. */
function equation(net, layer, places) {
  const { width, model } = net;
  const names = model.network.coordinates.map(({ name }) => name);
  const row = (tensor, r, of = names) => of.map((name, i) => [weight(tensor, r * of.length + i), name]);
  const chosen = (count) => places ?? Array.from({ length: count }, (_, i) => i);
  const lines = [];
  if (layer.kind === "attention") {
    const { m, mv, of } = layer;
    for (const head of chosen(layer.heads)) {
      const [query, key] = [[], []];
      for (let r = head * m; r < (head + 1) * m; r++) {
        query.push(sum(row(of.q, r), weight(of.q_bias, r)));
        key.push(sum(row(of.k, r)));
      }
      query.forEach((pieces, r) => lines.push([`head ${head}, score${m > 1 ? `, part ${r}` : ""}: (`, ...pieces, ") of the query × (", ...key[r], ") of the key"]));
      for (let c = 0; c < mv; c++) {
        const value = head * mv + c;
        const o = names.map((name, i) => [weight(of.o, (head * width + i) * mv + c), name]).filter(([w]) => w.value !== 0);
        o.forEach(([w, name]) => lines.push([`head ${head}: ${name} += `, w, "·average of (", ...sum(row(of.v, value)), ")"]));
      }
    }
    return lines;
  }
  const { hidden, of } = layer;
  for (const unit of chosen(hidden)) {
    const inside = sum(row(of.w1, unit), weight(of.b1, unit));
    names.forEach((name, i) => {
      const out = weight(of.w2, i * hidden + unit);
      if (out.value !== 0) lines.push([`unit ${unit}: ${name} += `, out, "·max(", ...inside, ", 0)"]);
    });
  }
  if (!places) {
    names.forEach((name, i) => {
      if (of.b2.data[i] !== 0) lines.push([`${name} += `, weight(of.b2, i)]);
    });
  }
  return lines;
}

/** Hidden units that look along one direction: max(s t + b, 0) with t = Σ direction_i z_i, whose first coefficient is 1. */
function directions(net, layer, places) {
  const { width } = net;
  const { w1, b1 } = layer.of;
  const groups = [];
  for (const unit of places ?? Array.from({ length: layer.hidden }, (_, i) => i)) {
    const row = Array.from(w1.data.subarray(unit * width, (unit + 1) * width));
    const slope = row.find((w) => w !== 0);
    if (slope === undefined) continue;
    const direction = row.map((w) => w / slope);
    const alike = (group) => group.direction.every((w, i) => Math.abs(w - direction[i]) <= 1e-5 * Math.abs(w));
    let group = groups.find(alike);
    if (!group) groups.push((group = { direction, units: [] }));
    group.units.push({ unit, slope, bias: b1.data[unit] });
  }
  return groups;
}

/** What a group of units adds to a register along its direction: the knots, and a function of t. */
function hinge(net, layer, group, register) {
  const { w2 } = layer.of;
  const units = group.units.map((unit) => ({ ...unit, out: w2.data[register * layer.hidden + unit.unit] })).filter(({ out }) => out !== 0);
  const at = (t) => units.reduce((sum, { slope, bias, out }) => sum + out * Math.max(slope * t + bias, 0), 0);
  const knots = units.map(({ slope, bias }) => -bias / slope).sort((a, b) => a - b);
  return { at, knots };
}

/** The error of the network at x, and what it and the target give. */
function compare(net, x) {
  const { states, output } = run(net, x);
  const target = wanted(net.model.target, x, net.dims);
  const off = output.map((token, i) => token.map((y, c) => y - target[i][c]));
  // What has no value is no witness; a network that gives none where the target has one is off by any amount.
  const distance = off.flat().map((e, k) => (Number.isNaN(target.flat()[k]) ? 0 : Number.isNaN(e) ? Infinity : Math.abs(e)));
  return { states, output, target, off, error: Math.max(...distance) };
}

/** Whether a claim is about x: the box, on integers integers, and as many tokens as it says. */
function inDomain(model, x) {
  const { low, high, integers } = model.domain;
  const [least, most] = model.claim?.lengths ?? model.lengths;
  const inside = (entry) => entry >= low && entry <= high && (!integers || Number.isInteger(entry));
  return x.length >= least && x.length <= most && x.flat().every(inside);
}

/** How many inputs a search tries. */
const TRIED = 2000;

/** Looks inside of the domain for the input with the largest error: yields what is the worst so far, and how many were tried. All sequences of
 * integers if they are few; otherwise from the worst that is known, from what is there and from random ones, one coordinate at a time. */
function* search(net, start) {
  const { low, high, integers } = net.model.domain;
  const [count, dims] = [start.length * net.dims, net.dims];
  const shaped = (flat) => start.map((_, i) => flat.slice(i * dims, (i + 1) * dims));
  const [least, most] = integers ? [Math.ceil(low), Math.floor(high)] : [low, high];
  const side = most - least + (integers ? 1 : 0);
  const drawing = random(20200226);
  const drawn = () => (integers ? least + Math.floor(drawing() * side) : inside(Math.fround(least + drawing() * side)));
  const inside = (entry) => Math.min(Math.max(integers ? Math.round(entry) : entry, least), most);
  const worst = { x: start, error: -1, tried: 0, all: integers && side ** count <= TRIED };
  /** The error there, which may be the largest. */
  const attempt = (flat) => {
    const x = shaped(flat);
    const { error } = compare(net, x);
    worst.tried++;
    if (error > worst.error) Object.assign(worst, { x, error });
    return error;
  };
  if (worst.all) {
    for (let number = 0; number < side ** count; number++) {
      attempt(Array.from({ length: count }, (_, i) => least + (Math.floor(number / side ** i) % side)));
      yield worst;
    }
    return;
  }
  const known = net.model.worst?.length === start.length ? [net.model.worst.flat()] : [];
  const starts = [...known, start.flat().map(inside)];
  while (worst.tried < TRIED) {
    let at = starts.shift() ?? Array.from({ length: count }, drawn);
    let error = attempt(at);
    for (let step = side / 4; step > (integers ? 0.5 : side / 5000); step /= 4) {
      for (let i = 0; i < 2 * count && worst.tried < TRIED; i++) {
        const moved = at.slice();
        const by = (i % 2 ? -1 : 1) * (integers ? Math.ceil(step) : step);
        moved[i >> 1] = inside(moved[i >> 1] + by);
        if (moved[i >> 1] === at[i >> 1]) continue;
        const there = attempt(moved);
        if (there > error) [at, error] = [moved, there];
        yield worst;
      }
    }
    yield worst;
  }
}
