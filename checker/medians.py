"""Claims in the supremum norm by the median of copies on shifted grids, from CERTIFICATE.md, sections 1 and 6: *Median*,
*Comparators*, *Table with a constant*.

A copy is run as `checker.py` runs any network, on the good parts of the cells of its own grid, without all that its
registers do not depend on.
"""

import copy
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from checker import (
    ONE, PIECES, SEQUENCES, STEPS, ZERO, Declined, Network, Rejected, Table, Unclear, Undefined, count, distance, hull,
    nearest_distance, rational, show, tokens_of, within,
)

GRIDS = 9  # of four inputs of a sequence


@dataclass
class Copy:
    shift: Fraction
    registers: list


@dataclass
class Median:
    blocks: int
    copies: list


def read_median(lines, c):
    """The lines of section 1, if the claim has them."""
    if lines.next_word() != "median" or c.over != "box":
        return None
    _, blocks, grids = lines.take("median <count> <count>")
    copies = []
    for _ in range(grids):
        lines.number += 1
        word, *words = "".join(lines.lines[lines.number - 1 : lines.number]).split(" ")
        shift, registers = rational(words[0]) if words else None, [count(register) for register in words[1:]]
        whole = word == "grid" and shift is not None and len(registers) == c.output_dims and None not in registers
        if not whole or list(map(str, registers)) != words[1:]:
            raise lines.wrong("`grid <shift>` and a register for each output")
        if max(registers) >= c.width:
            raise lines.wrong("registers that there are")
        copies.append(Copy(shift, registers))
    if lines.next_word() == "meanings":
        raise lines.wrong("no meanings beside the copies of a median")
    return Median(blocks, copies)


def wrong(reason):
    return Rejected("median", "", reason)


def check_walls(shifts, margin):
    """*Walls*: nothing of the box is nearer than the margin to the walls of two grids."""
    shifts = sorted(shifts)
    for a, b in zip(shifts, shifts[1:]):
        if a + 2 * margin > b:
            raise wrong(f"the walls of the grids with the shifts {show(a)} and {show(b)} are nearer than two margins of {show(margin)}")
    if shifts[0] < margin or shifts[-1] + margin > 1:
        raise wrong("a grid that does not reach a margin beyond the box")


def alone(network, blocks, registers):
    """The network of the registers behind so many blocks, without what they do not depend on."""
    live, kept = set(registers), []
    for heads, ff in reversed(network.blocks[:blocks]):
        if ff:
            w1, b1, w2, b2 = ff
            used = {j for i in live for j, _ in w2[i]}
            w2 = [row if i in live else [] for i, row in enumerate(w2)]
            b2 = [bias if i in live else ZERO for i, bias in enumerate(b2)]
            # A unit that nothing of this reads is one of 0.
            w1 = [row if j in used else [] for j, row in enumerate(w1)]
            b1 = [bias if j in used else ZERO for j, bias in enumerate(b1)]
            ff = w1, b1, w2, b2
            live |= {i for row in w1 for i, _ in row}
        heads = [head._replace(o=[row if i in live else [] for i, row in enumerate(head.o)]) for head in heads]
        heads = [head for head in heads if any(head.o)]
        live |= {i for head in heads for rows in (head.q, head.k, head.v) for row in rows for i, _ in row}
        kept.append((heads, ff))
    own = copy.copy(network)
    own.tokens, own.index, own.memory, own.blocks = [], {}, {}, kept[::-1]
    own.embed = [row if i in live else [] for i, row in enumerate(network.embed)]
    own.read_out = [[(i, ONE)] for i in registers]
    only = [[number if i in live else ZERO for i, number in enumerate(row)] for row in network.tensors.get("pos", [])]
    bias = [number if i in live else ZERO for i, number in enumerate(network.tensors["embed.bias"])]
    own.tensors = {"embed.bias": bias, "pos": only, "read_out.bias": [ZERO] * len(registers)}
    return own


class Wire:
    """A register on the way to the median."""

    def __init__(self, output, truth, size, good):
        self.output, self.truth, self.size, self.good, self.off = output, truth, size, good, ZERO


def prove_comparators(network, blocks, wires, copies):
    """*Comparators*: what each output may be off from the median of the copies."""
    a = network.arithmetic
    for b, (heads, ff) in enumerate(network.blocks[blocks:], blocks):
        if heads:
            raise wrong(f"block {b}, behind the copies, has attention")
        w1, b1, w2, b2 = ff
        idle = [not row and not bias for row, bias in zip(w1, b1)]
        changed = {}
        for r, wire in wires.items():
            adds = [(j, w) for j, w in w2[r] if not idle[j]]
            if b2[r]:
                raise wrong(f"block {b} adds a number to register {r}")
            if adds:
                changed[r] = behind(a, wires, r, [(w1[j], b1[j], w) for j, w in adds], f"block {b}, register {r}")
        wires = wires | changed
    return wires


def behind(a, wires, r, adds, place):
    """The register behind a block in which units, given by what they read, their bias and their weight, add to it."""
    wire, half = wires[r], a.limit / 4
    if len(adds) == 1 and len(adds[0][0]) == 2:
        (row, bias, weight), = adds
        slopes = dict(row)
        (other,) = [i for i in slopes if i != r][:1] or [r]
        known = wires.get(other)
        if bias or r not in slopes or slopes[r] != -weight or slopes[other] != weight or abs(weight) != 1:
            raise wrong(f"{place}: a comparison that is none")
        if known is None or known.output != wire.output:
            raise wrong(f"{place}: a comparison with a register that is none of the same output")
        most = max(wire.size, known.size)
        read = a.unit * (wire.size + known.size) + a.tiny
        loss = read * (1 + a.unit) + a.unit * most + a.tiny
        # R(r - t) is taken away, or R(t - r) is added.
        truth = wire.truth & known.truth if weight == -1 else wire.truth | known.truth
        new = Wire(wire.output, truth, most + loss, None)
        new.off = max(wire.off, known.off) + loss
    else:
        ends = {}
        for row, bias, weight in adds:
            if [i for i, _ in row] != [r] or row[0][1] != -weight or abs(weight) != 1 or weight in ends:
                raise wrong(f"{place}: a clamp that is none")
            ends[weight] = bias if weight == 1 else -bias
        if len(ends) != 2 or wire.good is None:
            raise wrong(f"{place}: a clamp without one of its ends, or behind a comparison")
        low, high = ends[1], ends[-1]
        if low > wire.good[0] or wire.good[1] > high:
            raise wrong(f"{place}: a clamp to {show(low)} and {show(high)} changes {show(wire.good[0])} to {show(wire.good[1])}, of good parts")
        end = max(abs(low), abs(high))
        read = a.unit * (wire.size + end) + a.tiny
        new = Wire(wire.output, wire.truth, (end + read) * (1 + a.unit) + a.tiny, wire.good)
        new.off = wire.off + a.tiny
        if wire.size + end >= half:
            raise Rejected("finite", place, "a number that may overflow")
    if new.size >= half:
        raise Rejected("finite", place, "a number that may overflow")
    return new


def prove_median(c, network, target):
    """`finite`, `median` and `point`, over the box."""
    if c.least != c.most or not c.cells or c.margins[0] != c.margins[1]:
        raise Declined("a median for several numbers of tokens, without cells, or with two margins")
    (low, high), n, size, margin, copies = target.domain, c.most, c.dims * c.most, c.margins[0], c.median.copies
    if len(copies) != 2 * size + 1:
        raise wrong(f"{len(copies)} grids, and {size} inputs of a sequence need {2 * size + 1}")
    within(len(copies), GRIDS, "grids of a median")
    check_walls([own.shift for own in copies], margin)
    if c.median.blocks > len(network.blocks):
        raise wrong("fewer blocks than its copies have")
    number = (c.cells + 1) ** size * len(copies)
    within(number, SEQUENCES, f"cells of {len(copies)} grids, {c.cells + 1}^{size} of each")
    within(number * target.work(n), 8 * STEPS, f"steps of the target on {number} cells")
    network.within_limits((c.cells + 1) ** c.dims)
    constant(c, target)
    corners(c, target)
    box = (((low, high),) * c.dims,) * n
    network.run(box, wide=True)
    side, open_pieces, wires = (high - low) / c.cells, [], {}
    for j, own in enumerate(copies):
        ends = [(max(low + side * (k - own.shift + margin), low), min(low + side * (k + 1 - own.shift - margin), high))
                for k in range(c.cells + 1)]
        sliced = alone(network, c.median.blocks, own.registers)
        anywhere = sliced.run(box, wide=True)
        # The i-th of all choices of zeros and ones has the bit i: this copy is 1 in those.
        truth = sum(1 << choice for choice in range(1 << len(copies)) if choice >> j & 1)
        cells = [(cell, sliced.run(tokens_of([ends[k] for k in cell], c.dims))) for cell in product(range(c.cells + 1), repeat=size)]
        network.arithmetic.work = sliced.arithmetic.work
        for k, r in enumerate(own.registers):
            good = min(y[t][k].lo for _, y in cells for t in range(n)), max(y[t][k].hi for _, y in cells for t in range(n))
            if r in wires:
                raise wrong(f"register {r} holds two outputs")
            wires[r] = Wire(k, truth, max(token[k].size for token in anywhere), good)
        open_pieces += [(j, [ends[k] for k in cell], y) for cell, y in cells]
    off = read_outs(c, network, prove_comparators(network, c.median.blocks, wires, copies), len(copies))
    settle(c, target, open_pieces, off)


def corners(c, target):
    """That the target has a value where all inputs are least, and largest."""
    if isinstance(target, Table):
        return
    for corner in target.domain:
        try:
            target.enclose((((corner, corner),) * c.dims,) * c.most)
        except Undefined as error:
            raise Rejected("target", f"where every input is {show(corner)}", f"the target has no value: {error}") from None
        except Unclear:
            pass


def read_outs(c, network, wires, copies):
    most, off = sum(1 << choice for choice in range(1 << copies) if choice.bit_count() > copies // 2), []
    for k, row in enumerate(network.read_out):
        wire = wires.get(row[0][0]) if len(row) == 1 and row[0][1] == 1 else None
        if wire is None or network.tensors["read_out.bias"][k] or wire.output != k or wire.truth != most:
            raise wrong(f"output {k} is not the median of its {copies} copies")
        off.append(wire.off + network.arithmetic.tiny)
    return off


def settle(c, target, pieces, off):
    """`point`: copies are near the target on all pieces of good parts, which are halved where that is open."""
    done, work, n = 0, target.work(c.most), c.most
    while pieces:
        done += len(pieces)
        within(done, PIECES, "pieces of cells, to enclose the target")
        within(done * work, 8 * STEPS, "steps of the target, on pieces of cells")
        left = []
        for j, part, y in pieces:
            place = f"grid {j}, {', '.join(f'{show(lo)} to {show(hi)}' for lo, hi in part)}"
            try:
                f = of_table(c, target, part) if isinstance(target, Table) else target.enclose(tokens_of(part, c.dims))
            except Undefined as error:
                raise Rejected("target", place, f"the target has no value: {error}") from None
            except Unclear:
                left += halves(j, part, y)
                continue
            pairs = [(y[t][k], f[t][k], off[k]) for t in range(n) for k in range(c.output_dims)]
            if all(distance(own, value) + lost <= c.bound for own, value, lost in pairs):
                continue
            for own, value, lost in pairs:
                surely = distance(own, value) if isinstance(target, Table) else nearest_distance(own, value)
                if surely + lost > c.bound:
                    ends = [show(x) for x in (own.lo, own.hi, *value, lost, c.bound)]
                    raise Rejected("point", place, "the copy is {} to {}, the target {} to {}, {} is lost behind it, the bound {}".format(*ends))
            left += halves(j, part, y)
        pieces = left


def halves(j, part, y):
    at = max(range(len(part)), key=lambda k: part[k][1] - part[k][0])
    lo, hi = part[at]
    middle = (lo + hi) / 2
    return [(j, [*part[:at], half, *part[at + 1 :]], y) for half in ((lo, middle), (middle, hi))]


def of_table(c, table, part):
    """The entries that a good part meets, its ends included; with a constant, what a function may be there."""
    ends = [(min(math.floor(end * table.resolution), table.resolution - 1) for end in side) for side in part]
    cubes = list(product(*(range(first, last + 1) for first, last in ends)))
    found = None
    for cube in cubes:
        at = 0
        for k in cube:
            at = at * table.resolution + k
        slack = ZERO
        if c.lipschitz is not None:
            centres = [(k + Fraction(1, 2)) / table.resolution for k in cube]
            slack = c.lipschitz * max(max(centre - lo, hi - centre) for centre, (lo, hi) in zip(centres, part))
        entry = [[(value - slack, value + slack) for value in token] for token in table.values[at]]
        both = hull if c.lipschitz is None else lambda a, b: (max(a[0], b[0]), min(a[1], b[1]))
        found = entry if found is None else [[both(a, b) for a, b in zip(*tokens)] for tokens in zip(found, entry)]
    return found


def constant(c, table):
    """Between cubes that touch, entries change by no more than a function may that has the constant."""
    if c.lipschitz is None:
        return
    n, size = table.resolution, c.dims * c.most
    within(len(table.values) * 3**size, STEPS, "pairs of cubes that touch")
    for at, cube in enumerate(product(range(n), repeat=size)):
        for step in product((-1, 0, 1), repeat=size):
            other = [k + d for k, d in zip(cube, step)]
            if min(other) < 0 or max(other) >= n:
                continue
            there = 0
            for k in other:
                there = there * n + k
            pairs = [pair for tokens in zip(table.values[at], table.values[there]) for pair in zip(*tokens)]
            for a, b in pairs:
                if abs(a - b) * n > c.lipschitz:
                    raise Rejected("claim", "lipschitz", f"the table has {show(a)} and {show(b)} in cubes that touch: no function "
                                   f"with the constant {show(c.lipschitz)} has these values")
