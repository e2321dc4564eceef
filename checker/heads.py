"""Attention as section 7 of CERTIFICATE.md proves it: means, scores by position, the largest, and what heads write."""

from fractions import Fraction
from itertools import count, pairwise

from checker import Declined, Num, Rejected, exp_minus, point, show, shows, softmax, sparse, within
from curves import Profile
from forms import Form, up, wrong_line

ZERO, ONE = Fraction(0), Fraction(1)
PAIRS = 1 << 18  # of tokens, of all heads with scores by position
SEEN = 1 << 20  # of tokens, for a mask that hides some


class Head:
    """One head of one block: what it sees, its scores, and what its values are."""

    def __init__(self, meant, run, first, b, number):
        self.meant, self.number, self.mask = meant, number, run.masks[number]
        self.connections = run.connections[b % len(run.connections)] if run.connections else None
        a, tensors = meant.arithmetic, meant.tensors
        q, self.q_bias, k, v, self.o = (tensors[f"{first}.attn.{name}"][b][number] for name in ("q", "q_bias", "k", "v", "o"))
        self.q, self.k, self.v = sparse(q), sparse(k), sparse(v)
        self.queries = [self.read(row, bias)[0] for row, bias in zip(self.q, self.q_bias, strict=True)]
        self.keys = [self.read(row)[0] for row in self.k]
        self.alive = [r for r, (x, y) in enumerate(zip(self.queries, self.keys, strict=True)) if (x.lo or x.hi) and (y.lo or y.hi)]
        self.shares = None
        n = self.most = max(map(len, self.connections)) if self.connections else most_seen(self.mask, meant.most)
        self.excess = a.gamma(n + 1)  # how far the weights' sum is from 1
        self.values = []
        for row in self.v:
            value, rounding = self.read(row)
            # The weights are fl(1/n), or add up to 1 but for their excess; and the sum is rounded.
            away = (a.gamma(2 * n + 2) if self.alive else a.gamma(n + 1)) * value.size + 4 * n * a.tiny
            away += 2 * meant.token_factor * value.size
            if value.size + away >= a.limit:
                raise Rejected("finite", self.name, "a weighted sum may overflow")
            self.values.append((value, rounding, Num(value.lo - away, value.hi + away, -(1 << 12)) if value.lo or value.hi else point(ZERO)))

    @property
    def name(self):
        return f"head {self.number}"

    def read(self, row, bias=ZERO, t=None):
        """The value of a row of weights on the stream, at some token or any; and its loss by rounding."""
        meant = self.meant
        return meant.row_value(row, bias) if t is None else meant.row_at(row, bias, t)

    def needs_no_scores(self, made):
        if self.alive:
            raise Declined(f"{self.meant.place}, {self.name}: scores that are not all 0, for wire {made.wire}")

    def makes(self, made):
        """Proves the wire of a line, and keeps how far off it is."""
        wire = self.meant.new(made, "mean", "hub", "seen", "attend", "gather")
        if len(made.form.terms) != 1 or wire.kind in ("mean", "hub", "seen") and wire.number == 0:
            raise wrong_line(f"wire {made.wire}", "is more than the wire and a number, or 0 times something")
        kind = wire.of if wire.kind == "seen" else wire.kind
        if not self.meant.knows(kind):
            raise Declined(f"{self.meant.place}, {self.name}: scores without a rule here, for wire {made.wire}")
        if self.connections and kind == "mean":
            return self.handed_on(wire, made)
        if bool(self.connections) != (kind == "hub"):
            raise Declined(f"wire {made.wire}: no rule for it with such connections")
        if kind == "mean" and wire.kind == "seen" and meant_hides(self):
            return self.by_position(wire, made)
        rules = {"hub": self.hub, "mean": self.mean, "max": self.largest, "sum": self.by_position, "gather": self.by_position, "attend": self.attended}
        rules[kind](wire, made)

    def reading(self, wanted, made):
        """The distance of a value from a form: the charge, the losses of registers, the rounding, and another token's factor."""
        return self.own_reading(wanted, made) + self.meant.token_factor * self.values[made.value][0].size

    def own_reading(self, wanted, made):
        """The same but for that factor."""
        meant, row = self.meant, self.v[made.value]
        read, lost = meant.reading(row)
        return lost + self.values[made.value][1] + meant.size(read.plus(wanted, -ONE))

    def sees(self, wire, made):
        """That the head sees just what the wire is over."""
        if wire.kind == "mean" and self.mask[:4] != ("*",) * 4 or wire.kind in ("seen", "attend") and self.mask != wire.mask:
            raise wrong_line(f"wire {made.wire}", f"is of other tokens than {self.name} sees")

    # Weights that are all equal.

    def mean(self, wire, made):
        self.sees(wire, made)
        self.needs_no_scores(made)
        self.meant.profiles[made.wire] = self.averaged(wire, made)

    def averaged(self, wire, made):
        meant, a = self.meant, self.meant.arithmetic
        inside = wire.forms[0]
        wanted = Form.of(made.form.offset, {}).plus(meant.expand(inside), wire.number)
        # Behind the errors of single tokens lies a concave function of their values, so the mean's is below it at the mean.
        lo, hi = meant.form_range(inside)
        gamma = (1 + a.gamma(self.most + 1)) * (1 + meant.token_factor) - 1  # of every weight, the factor of its token with it
        more = up((1 + gamma) * self.own_reading(wanted, made) + 4 * self.most * a.tiny)
        # The loss of the weighted sum is a share of the mean size of the values: of a convex function, below its chord.
        ends = [gamma * abs(made.form.offset / wire.number + x) for x in (lo, hi)]
        corners = meant.profile_of(inside, lo, hi).concave()
        scale, pieces = wire.number, []

        def bound(x, y):
            return (1 + gamma) * y + ends[0] + (ends[1] - ends[0]) * ((x - lo) / (hi - lo) if lo < hi else ONE)

        for (x, y), (z, w) in pairwise(corners) if len(corners) > 1 else [(corners[0], corners[0])]:
            cuts = [(x + (z - x) * part / 16, y + (w - y) * part / 16) for part in range(17)]
            for (p, e), (q, f) in pairwise(cuts):
                pieces.append((*sorted((scale * p, scale * q)), up(abs(scale) * max(bound(p, e), bound(q, f)) + more)))
        return Profile(pieces)

    # One token adds up, and all others see it.

    def hub(self, wire, made):
        """At the hub the mean of all, elsewhere what is read: one key has the weight 1."""
        meant, every = self.meant, tuple(range(self.meant.most))
        if any(tuple(keys) != (every if t == wire.coordinate else (t,)) for t, keys in enumerate(self.connections)):
            raise wrong_line(f"wire {made.wire}", f"token {wire.coordinate} is no hub of what {self.name} sees")
        self.needs_no_scores(made)
        there = meant.hubs[made.wire] = self.averaged(wire, made)
        wanted = Form.of(made.form.offset, {}).plus(meant.expand(wire.forms[0]), wire.number)
        here = self.reading(wanted, made) + abs(wire.number) * meant.off(wire.forms[0]) + 4 * meant.arithmetic.tiny
        meant.profiles[made.wire] = Profile([(*meant.ranges[made.wire], up(max(here, there.greatest)))])

    def handed_on(self, wire, made):
        """A mean that a hub has: every token sees that one alone."""
        meant, row = self.meant, self.v[made.value]
        keys = {tuple(keys) for keys in self.connections}
        if wire.kind != "mean" or len(keys) != 1 or len(min(keys)) != 1:
            raise wrong_line(f"wire {made.wire}", f"is of other tokens than {self.name} sees")
        self.needs_no_scores(made)
        ((token,),) = keys
        read, lost = meant.reading(row)
        ((gathered, factor),) = read.terms if len(read.terms) == 1 else ((None, ZERO),)
        hub = meant.wires[gathered] if gathered in meant.hubs else None
        if hub is None:
            raise Declined(f"wire {made.wire}: token {token} does not hand on what it has added up")
        if hub.coordinate != token or hub.forms[0].times(factor * hub.number) != wire.forms[0].times(wire.number):
            raise wrong_line(f"wire {made.wire}", "is another mean than the hub has")
        more = lost + self.values[made.value][1] + abs(read.offset - made.form.offset) + 4 * meant.arithmetic.tiny
        pieces = meant.hubs[gathered].pieces()
        meant.profiles[made.wire] = Profile([(*sorted((factor * x, factor * y)), up(abs(factor) * e + more)) for x, y, e in pieces])

    # Weights that depend on the positions alone.

    def weights(self):
        """For each number of tokens, and each token, the tokens that it sees, and their weights, the same for all inputs."""
        meant, most = self.meant, self.meant.most
        if self.shares is None:
            if meant.c.least != most and not meant.hides:
                raise Declined(f"{meant.place}, {self.name}: scores by position for several numbers of tokens")
            if not all(meant.is_placed(register) for rows in (self.q, self.k) for row in rows for register, _ in row):
                raise Declined(f"{meant.place}, {self.name}: scores that depend on more than positions")
            meant.pairs += sum(n * n for n in range(meant.c.least, most + 1))
            within(meant.pairs, PAIRS, "pairs of tokens with scores by position")
            queries = [[self.read(row, bias, t)[0] for row, bias in zip(self.q, self.q_bias, strict=True)] for t in range(most)]
            keys = [[self.read(row, ZERO, t)[0] for row in self.k] for t in range(most)]
            scores = self.scores = {(t, k): meant.arithmetic.total([meant.arithmetic.times(x, y) for x, y in zip(keys[k], queries[t], strict=True)])[0]
                      for t in range(most) for k in range(most) if shows(self.mask, t, k)}
            self.shares = []
            for n in range(meant.c.least, most + 1):
                seen = [[k for k in range(n) if shows(self.mask, t, k)] for t in range(n)]
                self.shares.append([dict(zip(keys, softmax(meant.arithmetic, [scores[t, k] for k in keys]), strict=True)) for t, keys in enumerate(seen)])
        return self.shares

    def by_position(self, wire, made):
        """A gather, a mean of fewer tokens than are shown, or a sum by a first token that takes the weight which is left."""
        meant, a, most, weights = self.meant, self.meant.arithmetic, self.meant.most, self.weights()
        first = made.form.offset  # what the value is where the form is 0
        kind = wire.of if wire.kind == "seen" else wire.kind
        inside, factor = wire.forms[-1], most * wire.number if kind == "sum" else wire.number if kind == "mean" else ONE
        if kind == "sum" and (meant.c.least != most or meant.normal_at_first(inside)):
            raise Declined(f"wire {made.wire}: a sum of what is not 0 at the first token, or of several numbers of tokens")
        wanted = Form.of(first, {}).plus(meant.expand(inside), factor)
        away = self.reading(wanted, made)
        worst = away + abs(factor) * meant.off(inside)  # of a single value
        lo, hi = sorted(first + factor * x for x in meant.form_range(inside))
        middle, radius, size = (lo + hi) / 2, (hi - lo) / 2, max(-lo, hi)
        value = self.values[made.value][0]
        at_first = Num(max(value.lo, first - worst), min(value.hi, first + worst), value.q)
        rest, share = ZERO, ZERO
        theta = (1 + a.theta) / (1 - a.theta) * (1 + a.gamma(self.most + 2)) - 1 + self.most * 4 * a.tiny
        for all_shares in weights:
            n = len(all_shares)
            for t, (shares, wanted_shares) in enumerate(zip(all_shares, self.meant_weights(kind, wire, made, n), strict=True)):
                apart = {k: max(abs(p.lo - alpha), abs(p.hi - alpha)) for k in range(n)
                         for p, alpha in [(shares.get(k, point(ZERO)), wanted_shares.get(k, ZERO))]}
                distance = sum(apart.values())
                found = distance * radius + abs(middle) * min(self.excess, distance)
                terms = [a.times(p, at_first if k == 0 and kind == "sum" else value) for k, p in shares.items()]
                rounding = a.total(terms)[1]
                if kind == "sum":
                    found = min(found, sum(apart[k] for k in range(1, n)) * size + apart[0] * abs(first))
                if kind != "gather":
                    found += sum(p.hi for p in shares.values()) * worst
                    if kind == "mean":
                        found = min(found, self.beside_hidden(n, t, wanted_shares) * (hi - lo) + theta * (value.size + away) + (1 + theta) * worst)
                else:
                    ((place, _),) = wanted_shares.items()
                    own = shares.get(place, point(ZERO))
                    others = sum(p.hi for k, p in shares.items() if k != place)
                    found += others * worst
                    share = max(share, own.hi)
                    # All other terms are small: an addition is off by no more than its smaller operand.
                    small = others * value.size * (1 + a.gamma(2 * n)) + 4 * n * a.tiny * (1 + value.size)
                    rounding = min(rounding, a.unit * own.hi * value.size + 2 * small)
                rest = max(rest, found + rounding)
        if kind != "gather":
            meant.profiles[made.wire] = Profile([(*meant.ranges[made.wire], up(rest))])
        else:
            pieces = meant.profile_of(inside, *meant.form_range(inside)).pieces()
            meant.profiles[made.wire] = Profile([(p, q, up(share * (e + away) + rest)) for p, q, e in pieces])

    def beside_hidden(self, n, t, shown):
        """How far the mean of the tokens that are shown may be from the one by these scores, relative to what their values span."""
        a, ends = self.meant.arithmetic, {k: self.scores[t, k] for k in range(n) if (t, k) in self.scores}
        if not set(shown) <= set(ends):
            return Fraction(2)
        low, high = min(ends[k].lo for k in shown), max(ends[k].hi for k in shown)
        # The largest score is taken away, which is one rounding.
        off, share = (high - low) / 2 + 4 * a.unit * (high - low) + 4 * a.tiny, ZERO
        for k, score in ends.items():
            if k not in shown:
                apart = low - score.hi - 4 * a.unit * (score.size + max(-low, high))
                share += exp_minus(apart)[1] if apart > 0 else 2
        return up(min(ONE, off / 2) + share / len(shown))

    def meant_weights(self, kind, wire, made, n):
        """The weights that a wire means, of n tokens."""
        if kind == "gather":
            return self.places(wire, made)
        shown = [[k for k in range(n) if shows(wire.mask, t, k)] for t in range(n)]
        if kind == "mean":
            if not all(shown):
                raise Declined(f"wire {made.wire} is of no token")
            return [dict.fromkeys(keys, Fraction(1, len(keys))) for keys in shown]
        found = [dict.fromkeys((k for k in keys if k), Fraction(1, n)) for keys in shown]
        return [{**shares, 0: 1 - sum(shares.values())} for shares in found]

    def places(self, wire, made):
        """For each token the one that it gathers, with the weight 1."""
        meant, found = self.meant, []
        if meant.moving(wire.forms[0]).terms:
            raise Declined(f"wire {made.wire}: a gather by more than positions")
        for t in range(meant.most):
            place = meant.form_at(wire.forms[0], t)
            if place.denominator != 1 or not 0 <= place < meant.most:
                raise Declined(f"wire {made.wire}: a gather of what is no token, at token {t}")
            found.append({int(place): ONE})
        return found

    # Weights that are nearly 1 for the largest values.

    def largest(self, wire, made):
        meant, a, n = self.meant, self.meant.arithmetic, self.most
        self.sees(wire, made)
        if wire.number < 0:
            raise Declined(f"wire {made.wire}: a negative number times the largest")
        row = self.v[made.value]
        sharp = [r for r in self.alive if not self.q[r] and self.q_bias[r] > 0 and self.k[r] == row]
        if len(sharp) != 1 or len(self.alive) != 1:
            raise Declined(f"{meant.place}, {self.name}: scores that are not a positive number times the value, for wire {made.wire}")
        value, rounding, _ = self.values[made.value]
        asked = self.queries[sharp[0]]
        heat = asked.lo * (1 - meant.read_factor)
        if 2 * heat < asked.hi:
            raise Declined(f"wire {made.wire}: scores by a number that is not known well enough")
        score, lost = a.total([a.times(asked, self.keys[sharp[0]])])
        size, lost = score.size * (1 + meant.read_factor) ** 2, lost * (1 + meant.read_factor) ** 2
        if (score.hi - score.lo + 2 * (size - score.size)) * (1 + 2 * a.unit) >= a.limit:
            raise Rejected("finite", self.name, f"scores of up to {show(size)} in size may overflow")
        # Computed scores, less the largest, are heat times what is within `haze` of the exact reading, but for a number.
        haze = rounding + meant.read_factor * value.size + (lost + 2 * a.unit * size + 4 * a.tiny) / heat
        rounding += meant.token_factor * value.size
        below = lambert((n - 1) * exp_minus(ONE)[1]) / heat
        size = value.size + rounding
        theta = (1 + a.theta) / (1 - a.theta) * (1 + a.gamma(n + 2)) - 1
        noise = theta * size + (1 + theta) * (rounding + a.gamma(n) * (size + rounding)) + 4 * n * a.tiny * (1 + size)
        inside = wire.forms[0]
        read, away = meant.reading(row)
        wanted = Form.of(made.form.offset, {}).plus(meant.expand(inside), wire.number)
        apart = read.plus(wanted, -ONE)
        away += meant.size(Form(ZERO, apart.terms)) + wire.number * meant.off(inside)
        error = max(abs(apart.offset + noise), abs(apart.offset - below - 2 * haze - noise)) + away
        meant.profiles[made.wire] = Profile([(*meant.ranges[made.wire], up(error))])


    # Weights of scores that are sums of products.

    def attended(self, wire, made):
        """A mean by the softmax of scores that are off by e moves by at most e/2 times what the values span."""
        meant, a, n, inside = self.meant, self.meant.arithmetic, self.most, wire.forms[0]
        self.sees(wire, made)
        # What a score has of the token that sees alone changes no weight.
        rows = [(query, key) for query, key in zip(wire.forms[1::2], wire.forms[2::2], strict=True) if key.terms]
        if len(rows) > len(self.q) or any(r >= len(rows) for r in self.alive):
            raise wrong_line(f"wire {made.wire}", f"has another number of products in its scores than {self.name}")
        off, factor = ZERO, meant.read_factor
        for r, (query, key) in enumerate(rows):
            (asked, asks), (held, holds) = self.away(self.q[r], self.q_bias[r], query), self.away(self.k[r], ZERO, key, free=True)
            off += asks * held + asked * (holds + held)
        score, lost = a.total([a.times(self.keys[r], self.queries[r]) for r in range(len(rows))])
        size, lost = score.size * (1 + factor) ** 2, lost * (1 + factor) ** 2
        if (score.hi - score.lo + 2 * (size - score.size)) * (1 + 2 * a.unit) >= a.limit:
            raise Rejected("finite", self.name, f"scores of up to {show(size)} in size may overflow")
        off += lost + 2 * a.unit * size + 4 * a.tiny
        lo, hi = meant.form_range(inside)
        value, rounding, _ = self.values[made.value]
        size = (value.size + rounding) * (1 + meant.token_factor)
        theta = (1 + a.theta) / (1 - a.theta) * (1 + a.gamma(n + 2)) - 1
        noise = theta * size + (1 + theta) * a.gamma(n) * size + 4 * n * a.tiny * (1 + size)
        wanted = Form.of(made.form.offset, {}).plus(meant.expand(inside))
        error = min(ONE, off / 2) * (hi - lo) + noise + self.reading(wanted, made) + meant.off(inside)
        meant.profiles[made.wire] = Profile([(*meant.ranges[made.wire], up(error))])

    def away(self, row, bias, wanted, free=False):
        """How far a row is from a form, a free one up to a number; and the size of what is computed."""
        read, lost = self.meant.reading(row)
        apart = read.plus(Form(bias, ())).plus(self.meant.expand(wanted), -ONE)
        if free:
            apart = Form(ZERO, apart.terms)
        (value, rounding), factor = self.read(row, bias), self.meant.read_factor
        return lost + rounding + self.meant.size(apart) + self.meant.off(wanted) + factor * value.size, (1 + factor) * value.size


def meant_hides(head):
    """True in a host, of a head with scores: they may hide tokens, which its class shows."""
    return head.meant.hides and bool(head.alive)


def lambert(x):
    """A little more than the y with y e^y = x, for x >= 0."""
    if not x:
        return ZERO
    low, high = ZERO, next(Fraction(h) for h in count(1) if h << h >= x)  # e is more than 2
    for _ in range(60):
        middle = (low + high) / 2
        if middle / exp_minus(middle)[1] >= x:
            high = middle
        else:
            low = middle
    return high


def hides_nothing(mask, n):
    """True if a mask shows all of up to n tokens to each."""
    low, high, start, end, _ = mask
    return (low == "*" or low <= 1 - n) and (high == "*" or high >= n - 1) and (start == "*" or start <= 0) and (end == "*" or end >= n - 1)


def most_seen(mask, n):
    """How many of up to n tokens a mask shows at most to one."""
    if hides_nothing(mask, n):
        return n
    within(n * n, SEEN, "pairs of tokens under a mask")
    return max(sum(shows(mask, t, k) for k in range(n)) for t in range(n))


def attention(meant, run, first, b, layer):
    """One sub-layer: what its heads make, and what every register holds behind it."""
    a, heads, lines = meant.arithmetic, [Head(meant, run, first, b, number) for number in range(run.heads)], {}
    for made in layer.made:
        if (made.head, made.value) in lines:
            raise wrong_line(f"wire {made.wire}", "is made by a value that makes another one")
        lines[made.head, made.value] = made
        heads[made.head].makes(made)
    registers = []
    for register, form in enumerate(meant.held(layer)):
        old, lost = meant.registers[register]
        form = meant.expand(form)
        terms, found = [meant.computed(register)], old
        for head in heads:
            for j, (row, (_, _, mixed)) in enumerate(zip(head.v, head.values, strict=True)):
                w, made = head.o[register][j], lines.get((head.number, j))
                if made:
                    # The addition is a multiple of the head's; the rounding of the weight is lost.
                    factor = form.plus(old, -ONE).of_wire(made.wire)
                    if (factor == 0) != (w == 0):
                        raise wrong_line(f"register {register}", f"the line and the weights differ on wire {made.wire}")
                    lo, hi = meant.form_hat(meant.expand(made.form))
                    mixed = Num(max(lo, mixed.lo), min(hi, mixed.hi), mixed.q)
                    found, lost = found.plus(meant.expand(made.form), factor), lost + abs(w - factor) * mixed.size
                elif w and (mixed.lo or mixed.hi):
                    raise wrong_line(f"register {register}", f"gets value {j} of {head.name}, which makes no wire")
                terms.append(a.times(point(w), mixed))
        if form != found:
            raise wrong_line(f"register {register}", f"is said to hold {meant.said(form)}, which is not {meant.said(found)}")
        more = ZERO
        if any(term.lo or term.hi for term in terms[1:]):
            lo, hi = meant.form_hat(form)
            more = meant.added_by_heads(terms, register, (lo - lost, hi + lost))
        registers.append((form, up(lost + more)))
    for head in heads:
        if head.alive and not any(number == head.number for number, _ in lines):
            raise Declined(f"{meant.place}, {head.name}: scores that are not all 0, and nothing is said of what it writes")
    return registers
