"use strict";
// The target in doubles, from its syntax (target/expr.rs) as target/evaluate.rs evaluates it; NaN where it has no value.

/** A number as files have it: an integer, a decimal or a fraction. */
function rational(text) {
  const [above, below] = String(text).split("/");
  return below === undefined ? Number(above) : Number(above) / Number(below);
}

const CALLS = {
  exp: Math.exp, log: Math.log, sqrt: Math.sqrt, tanh: Math.tanh, sin: Math.sin, cos: Math.cos, abs: Math.abs,
  relu: (x) => Math.max(x, 0), min: Math.min, max: Math.max, floor: Math.floor,
  clamp: (x, low, high) => Math.min(Math.max(x, low), high),
};

const COMPARE = {
  less: (a, b) => a < b, "less-equal": (a, b) => a <= b, greater: (a, b) => a > b,
  "greater-equal": (a, b) => a >= b, equal: (a, b) => a === b, "not-equal": (a, b) => a !== b,
};

const BINARY = {
  add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b,
  mod: (a, b) => { const rest = a % b; return rest < 0 ? rest + Math.abs(b) : rest; },
};

/** x^k by squaring. */
function whole(x, k) {
  let result = 1;
  for (; k > 0; k = Math.floor(k / 2), x *= x) if (k % 2) result *= x;
  return result;
}

const total = (values) => values.length ? values.reduce((a, b) => a + b) : 0;
const mean = (values) => total(values) / values.length;
const AGGREGATES = {
  sum: total,
  mean,
  // Of equal values the mean may be rounded away from them.
  var: (values) => {
    if (values.length && values.every((value) => Object.is(value, values[0]) && Number.isFinite(value))) return 0;
    const centre = mean(values);
    return mean(values.map((value) => (value - centre) ** 2));
  },
  max: (values) => values.length ? values.reduce((a, b) => Math.max(a, b)) : NaN,
  min: (values) => values.length ? values.reduce((a, b) => Math.min(a, b)) : NaN,
};

/** The evaluator of an expression on one sequence: token i, running token j, coordinate c are `at`. */
class Evaluator {
  constructor(ast, x, dims) {
    Object.assign(this, { x, dims, bound: new Map(), kept: new Map() });
    for (const { name, value } of ast.lets ?? []) {
      this.bound.set(name, x.map((_, i) => Array.from({ length: dims }, (_, c) => this.number(value, { i, c }))));
    }
  }

  sequence(name) {
    return name === undefined ? this.x : this.bound.get(name);
  }

  gathered(name, index, at) {
    return this.sequence(name)[this.number(index, at)]?.[at.c] ?? NaN;
  }

  number(expr, at) {
    const running = at.j ?? at.i;
    if (typeof expr === "string") {
      return { token: () => this.x[running][at.c] ?? NaN, index: () => at.i, running: () => running, length: () => this.x.length }[expr]();
    }
    const [kind] = Object.keys(expr);
    const part = expr[kind];
    switch (kind) {
      case "number": return rational(part);
      case "bound": return this.sequence(part)[running][at.c] ?? NaN;
      case "gather": return this.gathered(undefined, part, at);
      case "gather-bound": return this.gathered(part[0], part[1], at);
      case "coordinate": return this.number(part[0], { ...at, c: part[1] });
      case "negate": return 0 - this.number(part, at);
      case "power": return whole(this.number(part[0], at), part[1]);
      case "binary": return BINARY[part[0]](this.number(part[1], at), this.number(part[2], at));
      case "if": return this.number(part[this.holds(part[0], at) ? 1 : 2], at);
      case "call": return CALLS[part[0]](...part[1].map((argument) => this.number(argument, at)));
      case "table": return part[1].map(rational)[this.number(part[0], at)] ?? NaN;
      case "sort": return this.sorted(part, at);
      case "aggregate": return this.aggregate(expr, part, at);
      default: return NaN;
    }
  }

  holds(expr, at) {
    const [kind] = Object.keys(expr);
    const part = expr[kind];
    switch (kind) {
      case "compare": return COMPARE[part[0]](this.number(part[1], at), this.number(part[2], at));
      case "and": return this.holds(part[0], at) && this.holds(part[1], at);
      case "or": return this.holds(part[0], at) || this.holds(part[1], at);
      case "not": return !this.holds(part, at);
      default: return false;
    }
  }

  /** Kept for the output token and coordinate: it depends on nothing else. */
  aggregate(expr, [kind, of, filter], at) {
    if (!this.kept.has(expr)) this.kept.set(expr, new Map());
    const [kept, slot] = [this.kept.get(expr), `${at.i} ${at.c}`];
    if (!kept.has(slot)) {
      const places = this.x.map((_, j) => ({ ...at, j })).filter((at) => !filter || this.holds(filter, at));
      const value = kind === "count"
        ? places.filter((at) => this.holds(of, at)).length
        : AGGREGATES[kind](places.map((at) => this.number(of, at)));
      kept.set(slot, value);
    }
    return kept.get(slot);
  }

  sorted(of, at) {
    const [token, c] = of.coordinate ?? [of, at.c];
    const column = this.sequence(token.bound).map((token) => token[c]);
    return column.sort((a, b) => a - b)[at.i] ?? NaN;
  }
}

/** The value of a table at the cell of x; NaN outside of the unit box. */
function entry(table, x) {
  const N = table.resolution;
  const cells = x.flat().map((entry) => Math.floor(entry * N));
  if (cells.some((cell) => !(cell >= 0 && cell < N))) return x.map(() => Array(table.output_dims).fill(NaN));
  return table.values[cells.reduce((rank, cell) => rank * N + cell, 0)].map((token) => token.map(rational));
}

/** The target at x, `[token][coordinate]`. */
function wanted(target, x, dims) {
  if (target.kind === "table") return entry(target, x);
  const evaluator = new Evaluator(target.ast, x, dims);
  const { each, coordinates } = target.ast.body;
  const outputs = each ? Array.from({ length: dims }, (_, c) => [each, c]) : coordinates.map((expr) => [expr, 0]);
  return x.map((_, i) => outputs.map(([expr, c]) => evaluator.number(expr, { i, c })));
}
