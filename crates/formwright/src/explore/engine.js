"use strict";
// The network as eval/float runs it: the same operations in the same order, each rounded to the format.
//
//   z = ∘(x) ↦ embed.weight z + embed.bias (+ pos)
//   block    z ← z + Σ_heads o · Σ_k w_k (v z_k),  w = softmax((k z_k)ᵀ(q z + q_bias))      heads of other formulas: summary()
//            z ← z + (b2 + w2 · max(b1 + w1 z, 0))
//   y = read_out.weight z + read_out.bias
//
// `knobs` say how it is to be run otherwise: {scale, format, order, nudges}. As the model says is {} and nothing else.

const { fround } = Math;

/** To numbers of so many significant bits, the nearest (Veltkamp's splitting; exact in doubles). */
function keeping(bits) {
  const factor = 2 ** (53 - bits) + 1;
  return (x) => {
    const scaled = x * factor;
    const high = scaled - (scaled - x);
    return Number.isFinite(high) ? high : x;
  };
}

const SPLIT = new DataView(new ArrayBuffer(8));

/** 2^k for a normal result. */
function power(k) {
  SPLIT.setUint32(0, (k + 1023) << 20);
  SPLIT.setUint32(4, 0);
  return SPLIT.getFloat64(0);
}

/** e^x within two units in the last place, by operations that every browser rounds alike: x = k ln 2 + r, and Taylor's series of r. */
function exponential(x) {
  if (!(x >= -746)) return x < 0 ? 0 : NaN;
  if (x > 709.79) return Infinity;
  const k = Math.round(x * 1.4426950408889634);
  const r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10;
  let sum = 1;
  for (let i = 14; i > 0; i--) sum = 1 + (sum * r) / i;
  const half = Math.trunc(k / 2);
  return sum * power(half) * power(k - half);
}

/** The neighbour of a number, so many steps up, in single or double precision. */
function nudged(x, steps, single) {
  const bytes = new DataView(new ArrayBuffer(8));
  const [read, write, sign] = single
    ? [() => BigInt(bytes.getInt32(0)), (n) => bytes.setInt32(0, Number(n)), 1n << 31n]
    : [() => bytes.getBigInt64(0), (n) => bytes.setBigInt64(0, n), 1n << 63n];
  single ? bytes.setFloat32(0, x) : bytes.setFloat64(0, x);
  // Counted from 0, negative numbers downwards.
  const place = read() < 0n ? -(read() + sign) : read();
  const moved = place + BigInt(steps);
  write(moved < 0n ? -moved - sign : moved);
  return single ? bytes.getFloat32(0) : bytes.getFloat64(0);
}

/** Pseudo-random numbers of [0, 1), the same in every browser (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The orders in which a sum may be taken. */
const ORDERS = {
  left: (terms, add) => terms.reduce(add),
  right: (terms, add) => terms.reduceRight(add),
  pairs: function pairs(terms, add) {
    if (terms.length === 1) return terms[0];
    const half = terms.length >> 1;
    return add(pairs(terms.slice(0, half), add), pairs(terms.slice(half), add));
  },
  shuffled: (terms, add) => {
    const [next, drawn] = [random(terms.length), terms.slice()];
    for (let i = drawn.length - 1; i > 0; i--) {
      const j = Math.floor(next() * (i + 1));
      [drawn[i], drawn[j]] = [drawn[j], drawn[i]];
    }
    return drawn.reduce(add);
  },
};

/** The formats, by the significant bits of the factors of every product; sums are single unless all is double. */
const FORMATS = { f64: 53, f32: 24, tf32: 11, bf16: 8 };

/** Sums and products of a format, in an order. */
function arithmetic(precision, knobs) {
  const format = knobs.format ?? precision;
  const [round, bits] = [format === "f64" ? (x) => x : fround, FORMATS[format]];
  const short = bits < 24 ? keeping(bits) : (x) => x;
  const add = (a, b) => round(a + b);
  const times = (a, b) => round(short(a) * short(b));
  const order = knobs.order && knobs.order !== "left" ? ORDERS[knobs.order] : null;
  /** first + Σ a_i b_i, where a and b give the factors; without a first term, the sum begins with the product. */
  const dot = (count, first, a, b) => {
    if (order) {
      const terms = first === null || first === 0 ? [] : [first];
      for (let i = 0; i < count; i++) terms.push(times(a(i), b(i)));
      return terms.length ? order(terms, add) : 0;
    }
    let [sum, i] = first === null ? [times(a(0), b(0)), 1] : [first, 0];
    for (; i < count; i++) sum = add(sum, times(a(i), b(i)));
    return sum;
  };
  /** bias + Σ w_i x_i for the weights of a row, which stand together: most of the work, and the same as dot. */
  const row = (bias, weights, from, x) => {
    const count = x.length;
    if (order || bits < 24) return dot(count, bias, (i) => weights[from + i], (i) => x[i]);
    let sum = bias;
    if (format === "f64") for (let i = 0; i < count; i++) sum += weights[from + i] * x[i];
    else for (let i = 0; i < count; i++) sum = fround(sum + fround(weights[from + i] * x[i]));
    return sum;
  };
  const sum = (terms) => (order ? order(terms, add) : terms.reduce(add, 0));
  const deep = format === "f64" ? -746 : -104;
  const exp = (x) => (x < deep ? 0 : round(exponential(x)));
  return { single: format !== "f64", round, add, dot, row, sum, exp, scale: round(knobs.scale ?? 1) };
}

/** The numbers of a model's page, tensor by tensor. */
function numbers(model) {
  const bytes = Uint8Array.from(atob(model.weights), (c) => c.charCodeAt(0));
  const [view, single] = [new DataView(bytes.buffer), model.network.precision === "f32"];
  const tensors = new Map();
  let at = 0;
  for (const [name, shape] of model.tensors) {
    const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < data.length; i++, at += single ? 4 : 8) {
      data[i] = single ? view.getFloat32(at, true) : view.getFloat64(at, true);
    }
    tensors.set(name, { shape, data });
  }
  return tensors;
}

/** The keys that the query of token i sees, in their order. */
function seen(mask, connections, i, tokens) {
  if (connections) return connections[i];
  const [low, high] = [mask.absolute[0] ?? 0, mask.absolute[1] ?? tokens - 1];
  const [from, to] = [i + (mask.relative[0] ?? -tokens), i + (mask.relative[1] ?? tokens)];
  const keys = [];
  for (let j = Math.max(0, low, from); j <= Math.min(tokens - 1, high, to); j++) keys.push(j);
  return mask.first && keys[0] !== 0 ? [0, ...keys] : keys;
}

const ALL = { relative: [null, null], absolute: [null, null], first: false };
const SOFTMAX = { steps: [], look: { kind: "softmax", keys: 0, values: 1 } };

/** The layers of a model, one behind the other, with their tensors. */
function layers(model, tensors) {
  const list = [];
  let block = 0;
  for (const run of model.network.runs) {
    const first = block;
    for (let b = 0; b < run.blocks; b++, block++) {
      const part = (kind, names) => {
        const of = {};
        for (const name of names) {
          const { shape, data } = tensors.get(`${first}.${kind}.${name}`);
          const size = data.length / shape[0];
          of[name] = { name: `${first}.${kind}.${name}`, from: b * size, data: data.subarray(b * size, (b + 1) * size) };
        }
        return of;
      };
      const { attention, feed_forward: hinges } = run;
      if (attention) {
        const named = attention.kind ?? "softmax";
        const name = typeof named === "string" ? named : Object.keys(named)[0];
        const formula = name === "softmax" ? SOFTMAX : model.formulas[name];
        const size = typeof named === "string" ? 0 : named[name].size;
        const names = [...tensors.keys()].filter((key) => key.startsWith(`${first}.attn.`)).map((key) => key.split(".")[2]);
        const { heads, head_size: m = 0, value_size: mv, stage } = attention;
        const masks = attention.masks ?? Array(heads).fill(ALL);
        const connections = attention.connections?.[b % attention.connections.length];
        list.push({ kind: "attention", block, stage, name, formula, size, heads, m, mv, masks, connections, of: part("attn", names) });
      }
      if (hinges) {
        const { hidden, stage } = hinges;
        list.push({ kind: "feed-forward", block, stage, hidden, of: part("ff", ["w1", "b1", "w2", "b2"]) });
      }
    }
  }
  list.forEach((layer, i) => (layer.last = list[i + 1]?.stage !== layer.stage));
  return list;
}

/** A network that is ready to run, with its weights nudged as the knobs say. */
function network(model, knobs = {}) {
  const tensors = numbers(model);
  const single = model.network.precision === "f32";
  for (const { tensor, index, steps } of knobs.nudges ?? []) {
    const data = tensors.get(tensor)?.data;
    if (data && index < data.length) data[index] = nudged(data[index], steps, single);
  }
  const { dims, output_dims: outputs, coordinates } = model.network;
  const width = coordinates.length;
  const affine = (name, inputs) => ({ inputs, weight: tensors.get(`${name}.weight`).data, bias: tensors.get(`${name}.bias`).data });
  const positions = tensors.get("pos")?.data;
  return {
    model, tensors, width, positions, dims, outputs,
    embed: affine("embed", dims),
    readOut: affine("read_out", width),
    layers: layers(model, tensors),
    math: arithmetic(model.network.precision, knobs),
  };
}

/** bias + weight · x. */
function affine(math, { inputs, weight, bias }, x) {
  return Array.from(bias, (b, row) => math.row(b, weight, row * inputs, x));
}

/** Rows of a matrix times a vector, after a bias if there is one. */
function product(math, { data }, bias, rows, z) {
  const sums = Array(rows);
  for (let row = 0; row < rows; row++) sums[row] = math.row(bias ? bias.data[row] : 0, data, row * z.length, z);
  return sums;
}

/** Softmax of scores, as the engine takes it. */
function softmax(math, scores) {
  const largest = scores.reduce((a, b) => (b > a ? b : a), -Infinity);
  const exps = scores.map((score) => math.exp(math.add(score, -largest)));
  const total = math.sum(exps);
  return exps.map((e) => math.round(e / total));
}

/** w x − ‖x‖² · ½, of a direction. */
function exponent(math, w, x) {
  const along = math.dot(x.length, 0, (r) => w[r], (r) => x[r]);
  const square = math.dot(x.length, 0, (r) => x[r], (r) => x[r]);
  return math.add(along, -math.round(square * 0.5));
}

/** What the steps of a formula make of the tokens of a head: rows 0 are keys, 1 values. */
function summary(math, layer, head, keys, values) {
  const rows = [keys, values];
  const tensor = (name, side, a) => {
    const from = (head * layer.size + a) * side;
    return layer.of[name].data.subarray(from, from + side);
  };
  const column = (of, c, weight) => math.dot(of.length, 0, weight, (j) => of[j][c]);
  for (const step of layer.formula.steps) {
    const of = rows[step.of];
    const each = (count, row) => Array.from({ length: count }, (_, a) => row(a));
    if (step.kind === "mean") {
      rows.push([of[0].map((_, c) => math.round(math.sum(of.map((row) => row[c])) / of.length))]);
    } else if (step.kind === "mixed") {
      rows.push(each(layer.size, (a) => {
        const weight = tensor(step.by, of.length, a);
        return of[0].map((_, c) => column(of, c, (j) => weight[j]));
      }));
    } else if (step.kind === "features") {
      rows.push(of.map((key) => each(layer.size, (a) => math.exp(exponent(math, tensor(step.by, layer.m, a), key)))));
    } else {
      const features = rows[step.features];
      rows.push(each(layer.size, (a) => of[0].map((_, c) => column(of, c, (j) => features[j][a]))));
    }
  }
  return { rows, tensor };
}

/** Attention: what it adds to each token, and for each head and query the weights over what it looks at. */
function attend(math, layer, state) {
  const { heads, m, mv, of } = layer;
  const project = (matrix, bias, side) => state.map((z) => product(math, matrix, bias, heads * side, z));
  const queries = m ? project(of.q, of.q_bias, m) : [];
  const keys = m ? project(of.k, null, m) : [];
  const values = project(of.v, null, mv);
  const slice = (rows, side, head) => rows.map((row) => row.slice(head * side, (head + 1) * side));
  const found = state.map(() => []);
  const looks = Array.from({ length: heads }, (_, head) => {
    const own = [slice(keys, m, head), slice(values, mv, head)];
    const { rows, tensor } = summary(math, layer, head, ...own);
    const { look } = layer.formula;
    return state.map((_, i) => {
      const query = m ? queries[i].slice(head * m, (head + 1) * m) : [];
      if (look.kind === "row") {
        const held = rows[look.of];
        const at = layer.size > 1 ? i : 0;
        found[i].push(...held[at]);
        return [{ at, weight: 1 }];
      }
      if (look.kind === "features") {
        const held = rows[look.values];
        const weights = held.map((_, a) => math.exp(exponent(math, tensor(look.by, m, a), query)));
        for (let c = 0; c < mv; c++) {
          found[i].push(math.round(math.dot(held.length, 0, (a) => weights[a], (a) => held[a][c]) / held.length));
        }
        return weights.map((weight, at) => ({ at, weight }));
      }
      const [of, held] = [rows[look.keys], rows[look.values]];
      const places = look.keys === 0 ? seen(layer.masks[head], layer.connections, i, of.length) : of.map((_, j) => j);
      const score = (j) => {
        const plain = math.dot(m, null, (r) => of[j][r], (r) => query[r]);
        return math.scale === 1 ? plain : math.round(plain * math.scale);
      };
      const scores = places.map(score);
      const weights = softmax(math, scores);
      for (let c = 0; c < mv; c++) found[i].push(math.dot(places.length, 0, (p) => weights[p], (p) => held[places[p]][c]));
      return places.map((at, p) => ({ at, weight: weights[p], score: scores[p] }));
    });
  });
  // The output matrices of the heads, side by side.
  const [width, side] = [state[0].length, heads * mv];
  const o = (i, place) => of.o.data[(Math.floor(place / mv) * width + i) * mv + (place % mv)];
  const after = state.map((z, token) =>
    z.map((x, i) => math.add(x, math.dot(side, 0, (place) => o(i, place), (place) => found[token][place]))));
  return { after, looks, found };
}

/** The hidden units of a token. */
function units(math, layer, z) {
  return product(math, layer.of.w1, layer.of.b1, layer.hidden, z).map((t) => (0 > t ? 0 : t));
}

/** A feed-forward layer on a token. */
function hinged(math, layer, z) {
  const heights = units(math, layer, z);
  const { w2, b2 } = layer.of;
  return z.map((x, i) => math.add(x, math.row(b2.data[i], w2.data, i * layer.hidden, heights)));
}

/** The residual stream after the embedding and after every layer, and the output. */
function run(net, x) {
  const { math, width } = net;
  const embed = (token, place) => {
    const z = affine(math, net.embed, token.map(math.round));
    return net.positions ? z.map((entry, i) => math.add(entry, net.positions[place * width + i])) : z;
  };
  const states = [x.map(embed)];
  for (const layer of net.layers) {
    const state = states[states.length - 1];
    states.push(layer.kind === "attention" ? attend(math, layer, state).after : state.map((z) => hinged(math, layer, z)));
  }
  return { states, output: states[states.length - 1].map((z) => affine(math, net.readOut, z)) };
}
