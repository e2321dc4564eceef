"""The rules of hosts, section 10 of CERTIFICATE.md: what a network loses more inside of a stock Transformer.

    v = (z + o, C | -z + o, -C), in units of the pin        |o - mean o| <= S, |mean o| <= m
    a norm leaves f (z + ε), |ε| <= η (Z + M), and f C (1 + ε), |ε| <= ζ, with one f for all of a token, |f - 1| <= r

Half the difference of a pair is a register of section 7; here are the numbers that its rules are charged with.
"""

from fractions import Fraction
from typing import NamedTuple

from checker import EXACT, NOTHING, Declined, Num, Rejected, is_power_of_two, show, sparse, within
from curves import Profile
from forms import Form, up, wrong_line
from meanings import Meant, root_above

ZERO, ONE = Fraction(0), Fraction(1)
QUARTER = Fraction(1, 4)
ONE_FORM = Form(ONE, ())
STEPS = 2_000_000  # weights of pairs of rows of a classifier
LARGEST_ARGUMENT = {"f32": 1 << 41, "f64": 1 << 321}


class Norm(NamedTuple):
    """What a norm does to a token: the names of the page."""

    eta: Fraction
    zeta: Fraction
    middle: Fraction  # M
    delta: Fraction
    r: Fraction  # r₁


class Housed(Meant):
    """A network in a host. Between the layers it knows S, m and r₀ of the stream, and η, ζ, M and r of who reads it."""

    def __init__(self, c, host, meanings, domain, told=None):
        self.told = told
        super().__init__(c, host.tensors, meanings, domain)
        self.host, self.norms = host, iter(host.gains)
        self.arithmetic.limit /= 4  # four times the largest number is one of the format
        self.spread = self.shift = ZERO  # S and m
        self.pin = ZERO  # r₀
        self.eta = self.zeta = self.middle = self.r = ZERO  # of readers
        # Registers of positions alone, and how far norms of the stream have moved them.
        self.stored = {p: [ZERO] * c.most for p in host.placed}
        self.bare = False  # readers read the stream itself, without a norm
        self.gate = ZERO  # κ: how far what multiplies units is from f
        self.empty = set(host.empty) if host.order == "before" else set()

    def prove(self, target):
        try:
            super().prove()
            self.outputs(target)
        except Rejected as error:
            error.place = error.place or self.place
            raise

    def range_of(self, wire):
        """What is told is no more than that."""
        if not self.told:
            return super().range_of(wire)
        values = self.told.values[len(self.ranges)]
        return min(values), max(values)

    def rounded_input(self):
        """Over integers ids are what they are."""
        return Profile([(*self.domain, ZERO)]) if self.c.over == "integers" else super().rounded_input()

    # The numbers of section 10.

    def flush(self, k):
        """φ_k"""
        return (4 * k + 8) * self.arithmetic.tiny

    def largest(self, register):
        """Z_p"""
        return self.computed(register).size

    @property
    def unit_factor(self):
        added = ZERO if self.bare else self.token_factor
        return (1 + added) * (1 + self.r) - 1 if self.host.gated else added

    @property
    def token_factor(self):
        """r_a"""
        return 2 * self.r / (1 - self.r) if self.bare else (1 + self.r) / (1 - self.pin) - 1

    @property
    def read_factor(self):
        return self.r

    @property
    def quiet(self):
        alpha = self.host.distance / (self.c.scale * (1 - self.r))
        return 3 * (alpha * (1 + self.r) * (1 + self.gate) if self.host.gated else alpha)

    def knows(self, kind):
        return kind in ("mean", "attend", "max", "sum", "gather")

    hides = True

    def is_placed(self, register):
        return register in self.stored or super().is_placed(register)

    def row_at(self, row, bias, t):
        """*Scores by position in a host*: with the factor of the token."""
        if not row and not bias:
            return NOTHING, ZERO
        terms = 2 * len(row) + 2 if bias else 2 * len(row) - all(is_power_of_two(abs(w)) for _, w in row)
        value, away, size = bias, ZERO, abs(bias) * (1 + self.middle / self.host.pin)
        for p, w in row:
            form, lost = self.registers[p]
            held, lost = (self.tensors["pos"][t][p], self.stored[p][t]) if p in self.stored else (self.form_at(form, t), lost)
            haze = self.eta * (abs(held) + lost + self.middle)
            value, away = value + w * held, away + abs(w) * (lost + haze)
            size += abs(w) * (abs(held) + lost + haze + self.middle)
        rounding = up(self.arithmetic.gamma(terms) * (1 + self.eta) * size + 2 * self.flush(terms) + self.zeta * abs(bias))
        ends = [(value + sign * (away + rounding)) * (1 + side * self.r) for sign in (-1, 1) for side in (-1, 1)]
        if max(map(abs, ends)) >= self.arithmetic.limit:
            raise Rejected("finite", "", f"a row that reads up to {show(max(map(abs, ends)))} in size may overflow")
        return Num(min(ends), max(ends), -EXACT, False), rounding

    def unproved(self, reason):
        return Rejected("bound", "", reason)

    # Norms.

    def energy(self):
        """At least 2X + D O²."""
        return up(2 * sum(self.largest(p) ** 2 for p in range(self.c.width)) + self.host.size * (self.spread + self.shift) ** 2)

    def norm(self):
        """*Norm*: the next one, of the stream as it is."""
        a, host, gains = self.arithmetic, self.host, next(self.norms)
        pin, size, energy = host.pin, host.size, self.energy()
        within_range = 2 * size * (2 * pin**2 + energy)
        if within_range >= a.limit:
            raise Rejected("finite", "norm", f"squares of up to {show(within_range)} may overflow")
        side = 1 << (size // 2).bit_length() // 2  # √(D/2) = 2^k
        ideal = pin / side
        tau = max(abs(g / ideal - 1) for g in gains)
        powers = all(map(is_power_of_two, gains))
        eta = up(tau + a.gamma(2 if powers else 3) * (1 + tau))
        centred = host.centred
        delta = up(a.gamma(size + 8) * root_above((2 * pin**2 + energy) / size) + self.flush(size)) if centred else ZERO
        middle = up(self.spread + (2 if centred else 1) * self.shift + delta + 32 * max(ideal, 1 / ideal) * a.tiny / a.unit)
        eps = host.eps * (1 + Fraction(1, 1 << 20)) / (1 - self.pin) ** 2
        q = up((energy + size * eps) / (2 * pin**2))
        nu = up(a.gamma(size + (32 if centred else 4)) * (1 + q) + 4 * self.flush(size) / pin**2)
        r = up((1 + q / 2) * (1 + nu / 2 + nu**2) * (1 + a.gamma(8)) - 1)
        if not centred and not self.pin and is_power_of_two(pin) and q * (1 + a.gamma(size + 2)) + 4 * self.flush(size) / pin**2 < a.unit / 2:
            r = min(r, a.gamma(4))  # *Quiet squares*
        zeta = up(eta * (1 + middle / pin))
        for name, value in ("ν", nu), ("ζ", zeta), ("r", r):
            if value > QUARTER:
                raise Rejected("norm", "", f"{name} is {show(value)}, more than 1/4; the pin is {show(pin)}, squares are {show(energy)}, eps is {show(host.eps)}")
        return Norm(eta, zeta, middle, delta, r)

    def norm_before(self, first=False):
        """The stream stays as it is; readers see it behind a norm, or as it is."""
        self.bare = self.host.order == "behind" or self.host.order == "ends" and first
        if self.bare:
            self.eta = self.zeta = ZERO
            self.middle, self.r = self.spread + self.shift, self.pin
        else:
            norm = self.norm()
            self.eta, self.zeta, self.middle, self.r = norm.eta, norm.zeta, norm.middle, norm.r
        if self.host.gated:
            one = self.zeta + self.arithmetic.gamma(2) * (1 + self.eta) * (1 + self.middle / self.host.pin) + 2 * self.flush(2)
            self.gate = up(one + self.arithmetic.unit * (1 + one))
            factors = {"r_g": self.unit_factor, **({} if self.bare else {"r_v": self.token_factor})}
            for name, value in factors.items():
                if value > QUARTER:
                    raise Rejected("norm", "", f"{name} is {show(value)}, more than 1/4")

    def norm_behind(self):
        if self.host.order == "behind":
            self.norm_stream()

    def norm_stream(self):
        """The stream is what was normed, in units of the new pin."""
        norm = self.norm()
        left, most = 1 - norm.zeta, max([self.host.pin, *map(self.largest, range(self.c.width))])
        moved = [(norm.eta * (z + norm.middle) + norm.zeta * z) / left for z in map(self.largest, range(self.c.width))]
        self.registers = [(form, up(lost + more)) for (form, lost), more in zip(self.registers, moved, strict=True)]
        for p, strayed in self.stored.items():  # at every position by what it is there
            there = [abs(row[p]) + off for row, off in zip(self.tensors["pos"], strayed, strict=True)]
            self.stored[p] = [up(off + (norm.eta * (z + norm.middle) + norm.zeta * z) / left) for z, off in zip(there, strayed, strict=True)]
        away = norm.eta * (most + norm.middle)
        self.spread, self.shift = up((self.spread + 2 * away) / left), up((norm.delta + away) / left)
        self.pin = up((1 + norm.r) * (1 + norm.zeta) - 1)
        if self.pin > QUARTER:
            raise Rejected("norm", "", f"r is {show(self.pin)}, more than 1/4")

    # The embedding.

    def embedding(self, layer):
        worst = super().embedding(layer)
        self.spread, self.shift = 2 * worst, worst
        if self.host.order != "before":
            self.norm_stream()

    def embedded(self, register, form, inputs):
        """Over integers: a row of words, and one of positions, each said to be its part of the form."""
        if self.host.words is None:
            return super().embedded(register, form, inputs)
        if any(self.wires[wire].kind not in ("input", "position") for wire, _ in form.terms):
            raise wrong_line(f"register {register}", "holds what is not yet made")
        word = [row[register] for row in self.host.words]
        factors = {self.wires[wire].coordinate: factor for wire, factor in self.moving(form).terms}
        if len(factors) < len(self.moving(form).terms):
            raise Declined(f"register {register}: two wires of one coordinate")
        rest = [w - sum(factor * token[c] for c, factor in factors.items()) for w, token in zip(word, self.host.ids, strict=True)]
        entries = [row[register] for row in self.tensors["pos"]] if self.c.positions else [ZERO]
        places = self.at_places(form)
        beside = [entry - (places[t] if len(places) > 1 else places[0]) for t, entry in enumerate(entries)]
        away = max(abs(x + y) for x in (min(rest), max(rest)) for y in (min(beside), max(beside)))
        size = max(map(abs, word)) + max(map(abs, entries))
        alone = not any(word) or not any(entries)
        return away, ZERO if alone else self.arithmetic.gamma(2) * size + 8 * self.arithmetic.tiny

    # Reading.

    def haze(self, register):
        return self.eta * (self.largest(register) + self.middle) if self.eta else ZERO

    def row_value(self, row, bias=ZERO):
        """*Reading*: in units of the pin, without the factor f."""
        if not row and not bias:
            return NOTHING, ZERO
        sizes = [(w, self.computed(p), self.haze(p)) for p, w in row]
        terms = 2 * len(row) + 2 if bias else 2 * len(row) - all(is_power_of_two(abs(w)) for _, w in row)
        ends = [sorted((w * (z.lo - e), w * (z.hi + e))) for w, z, e in sizes]
        lo, hi = bias + sum(low for low, _ in ends), bias + sum(high for _, high in ends)
        size = sum(abs(w) * z.size for w, z, _ in sizes)
        if len(row) == 1 and is_power_of_two(abs(row[0][1])):
            size = min(size, max(-lo, hi))  # no partial sum is larger than what comes out and the bias make it
        size += sum(abs(w) * self.middle for w, _, _ in sizes) + abs(bias) * (1 + self.middle / self.host.pin)
        rounding = up(self.arithmetic.gamma(terms) * (1 + self.eta) * size + 2 * self.flush(terms) + self.zeta * abs(bias))
        lo, hi = lo - rounding, hi + rounding
        if max(-lo, hi, size) >= self.arithmetic.limit:
            raise Rejected("finite", "", f"a row that reads up to {show(size)} in size may overflow")
        return Num(lo, hi, -EXACT, False), rounding

    def unit_value(self, row, bias):
        """The same of a unit: what it is multiplied by is an error of its own in reading."""
        value, rounding = self.row_value(row, bias)
        more = up(self.gate * value.size)
        return (Num(value.lo - more, value.hi + more, value.q, False), rounding + more) if more else (value, rounding)

    # Writing.

    def before(self, register):
        return (ZERO, 0) if register in self.empty else (self.largest(register) + self.spread + self.shift, 1)

    def flushed(self, terms, weights):
        return 2 * self.flush(weights + 1)

    def wrote(self, worst, registers):
        """Middles have moved by at most the rounding of a coordinate."""
        self.spread, self.shift = up(self.spread + 2 * worst), up(self.shift + worst)
        self.empty -= registers
        self.stored = {p: moved for p, moved in self.stored.items() if p not in registers}

    def middle_moves(self, register, size, weights, quiet=ZERO):
        """ω of a register to which so many weights add so much."""
        before = self.largest(register) + self.spread + self.shift
        return 2 * self.arithmetic.gamma(weights + 1) * (before + size) + quiet + 2 * self.flush(weights)

    def attend(self, run, first, b, layer):
        self.norm_before(b == 0)
        self.worst, self.written = ZERO, set()
        super().attend(run, first, b, layer)
        self.wrote(self.worst, self.written)
        self.norm_behind()

    def added_by_heads(self, terms, register, place):
        size, weights = sum(term.size for term in terms[1:]), sum(1 for term in terms[1:] if term.lo or term.hi)
        self.worst = max(self.worst, self.middle_moves(register, size, weights))
        self.written.add(register)
        before, one = self.before(register)
        if before + size >= self.arithmetic.limit:
            raise Rejected("finite", f"register {register}", f"a sum whose terms may be {show(before + size)} in size may overflow")
        return self.arithmetic.gamma(weights + one) * (before + size) + 2 * self.flush(weights + 1)

    def feed_forward(self, run, first, b, layer):
        self.norm_before()
        sizes = [self.unit_size(unit, row, bias) for unit, (row, bias) in enumerate(self.rows(first, b))]
        worst, written = ZERO, set()
        for register, row in enumerate(self.tensors[f"{first}.ff.w2"][b]):
            entries = [(abs(w), size) for w, size in zip(row, sizes, strict=True) if w]
            within(16 * len(entries), 1 << self.arithmetic.digits, "units that write into a register")
            if entries:
                size, quiet = sum(w * x for w, x in entries), self.quiet * sum(w for w, _ in entries)
                worst = max(worst, self.middle_moves(register, size, len(entries), quiet))
                written.add(register)
        super().feed_forward(run, first, b, layer)
        self.wrote(worst, written)
        self.norm_behind()

    def rows(self, first, b):
        w1, b1 = self.tensors[f"{first}.ff.w1"][b], self.tensors[f"{first}.ff.b1"][b]
        return zip(sparse(w1), b1, strict=True)

    def unit_size(self, unit, row, bias):
        """At most what a unit reads, in units of the pin; the activation gets it times s."""
        size = self.unit_value(row, bias)[0].size
        argument = Fraction(5, 4) * self.c.scale * size
        if self.host.distance and argument > LARGEST_ARGUMENT[self.c.format] or argument >= self.arithmetic.limit:
            raise Rejected("finite", f"unit {unit}", f"an activation of {show(argument)}")
        return size

    # The outputs.

    def means_the_target(self, target):
        if self.told:
            return []
        differences = super().means_the_target(target)
        if differences and self.c.over == "integers":
            raise Declined("what is computed and the target have different normal forms")
        return differences

    def outputs(self, target):
        self.place = "outputs"
        if self.host.order == "ends":
            self.norm_stream()
        self.norm_before()
        if self.c.labels:
            self.means_the_target(target)  # or declines
            self.labelled()
        else:
            super().outputs(target)
        if self.told and self.told.apart:
            self.elsewhere(*self.told.apart)

    def elsewhere(self, size, least, place, value):
        """An output's form is not the target, at some sequence: by no more than size, and no less than least."""
        said = f"the form is {show(value)}, {show(size)} from the target"
        if value in self.c.labels if self.c.labels else least > self.c.bound + self.error:
            raise Rejected("point", place, said)
        if self.c.labels:
            raise Declined(f"{place}: {said}")
        self.error += size
        if self.error > self.c.bound:
            raise self.unproved(f"{place}: {said}; {show(self.error)} is shown of the bound {show(self.c.bound)}")

    def labelled(self):
        """*Labels*: the difference of two rows is (u - v)² and a rest, where the target is u."""
        labels, rows = self.c.labels, self.tensors["read_out.weight"]
        within(len(labels) ** 2 * self.c.width, STEPS, "weights of pairs of labels")
        (form,), biases = self.meanings.outputs, self.tensors["read_out.bias"]
        rounding = [self.row_value(row, bias)[1] - self.zeta * abs(bias) for row, bias in zip(sparse(rows), biases, strict=True)]
        for i, u in enumerate(labels):
            for j, v in enumerate(labels[:i]):
                row = sparse([[x - y for x, y in zip(rows[i], rows[j], strict=True)]])[0]
                bias, (read, lost) = biases[i] - biases[j], self.reading(row)
                wanted = form.times(Fraction(2 * (u - v))).plus(Form(Fraction(v * v - u * u), ()))
                away = self.size(read.plus(ONE_FORM, bias).plus(self.expand(wanted), -ONE))
                off = away + lost + self.off(wanted) + self.zeta * abs(bias) + rounding[i] + rounding[j]
                if off >= (u - v) ** 2:
                    raise Rejected("labels", f"labels {u} and {v}", f"the difference is off by {show(off)}, which must be below {(u - v) ** 2}")
