"""The picture of the README: a formula, the circuit that it becomes, and its errors in the band that is certified.

    python docs/picture.py        # writes docs/picture.svg; a test compares the two
"""

import html
import re
from pathlib import Path

import numpy

import formwright

PICTURE = Path(__file__).with_name("picture.svg")
SIZE = (960, 312)
STYLE = """
text { font: 14px ui-monospace, monospace; fill: #1b1f24 } .small { font-size: 12px; fill: #57606a } .formula { font-size: 13px }
.box { fill: #ffffff; stroke: #57606a } .wire { stroke: #8c959f; fill: none } .band { fill: #2da44e; opacity: 0.18 }
.edge { stroke: #2da44e } .axis { stroke: #8c959f } .point { fill: #0969da; opacity: 0.6 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .box { fill: #161b22; stroke: #9198a1 } .point { fill: #58a6ff } }
"""


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


WIDE, HIGH, ACROSS, DOWN = 158, 54, 186, 96


def wire(begin, end):
    """A curve between neighbours; what goes farther goes over the boxes."""
    (fx, fy), (x, y) = begin, end
    if fx > x:
        return f"M{x + WIDE / 2:g} {fy + HIGH / 2:g}V{y - HIGH / 2:g}"
    if x - fx < ACROSS:
        return f"M{fx:g} {fy:g}C{fx + 20:g} {fy:g} {x - 20:g} {y:g} {x:g} {y:g}"
    lane = LANE - (10 if fx < 60 else 0)
    down = f"C{x - 18:g} {lane:g} {x - 22:g} {y:g} {x:g} {y:g}"
    return f"M{fx:g} {fy:g}C{fx + 18:g} {fy:g} {fx + 10:g} {lane:g} {fx + 30:g} {lane:g}H{x - 40:g}{down}"


LANE = 84


def gates(circuit, left, top):
    """A box for every gate, those of a block below each other, with wires from what each reads."""
    rows, ends, drawn = {}, {"x": (left - 34, top + HIGH + 21)}, []
    for gate in circuit:
        x, y = left + ACROSS * gate["block"], top + DOWN * rows.setdefault(gate["block"], 0)
        rows[gate["block"]] += 1
        reads = sorted(set(re.findall(r"\bg\d+\b|\bx\b", gate["formula"])))
        drawn[:0] = [f'<path class="wire" d="{wire(ends[name], (x, y + HIGH / 2))}"/>' for name in reads]
        drawn.append(f'<rect class="box" x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="6"/>')
        made_of = "one head" if gate["heads"] else f"{gate['units']} ReLUs"
        drawn.append(text(x + WIDE / 2, y + 23, gate["formula"], "formula", "middle"))
        drawn.append(text(x + WIDE / 2, y + 43, f"{gate['name']}: {made_of}", "small", "middle"))
        ends[gate["name"]] = (x + WIDE, y + HIGH / 2)
    drawn.append(text(left - 44, top + HIGH + 26, "x", anchor="end"))
    return drawn


def band(network, target, left, top):
    """Errors at random sequences, and the bound above and below."""
    draw = numpy.random.default_rng(20200226)
    batch = draw.uniform(0, 1, (120, 16, 1)) ** draw.integers(1, 4, (120, 1, 1))
    wanted = target(batch).ravel()
    off = numpy.concatenate([network(x).astype(float).ravel() for x in batch]) - wanted
    bound = network.error["bound"]
    width, middle, high = 300, top + 105, 85
    across = lambda y: left + width * (y - wanted.min()) / (wanted.max() - wanted.min())
    drawn = [f'<rect class="band" x="{left}" y="{middle - high}" width="{width}" height="{2 * high}"/>']
    for sign, words in ((-1, f"+{bound:.2e}"), (1, f"-{bound:.2e}")):
        y = middle + sign * high
        drawn.append(f'<path class="edge" d="M{left} {y}h{width}"/>')
        drawn.append(text(left + width, y + (16 if sign > 0 else -6), words, "small", "end"))
    drawn.append(f'<path class="axis" d="M{left} {middle}h{width}"/>')
    points = zip(across(wanted)[::3], (middle - high * off / bound)[::3])
    drawn.extend(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="1.3"/>' for x, y in points)
    assert abs(off).max() <= bound
    return drawn


def z_score(batch):
    return (batch - batch.mean(1, keepdims=True)) / numpy.sqrt(batch.var(1, keepdims=True) + 0.01)


def picture():
    """The SVG, from a network that is compiled for it."""
    network = formwright.build("z-score", tokens=16, trade="width")
    summary = network.summary
    size = f"{int(summary['size']['parameters']):,} parameters, {summary['size']['blocks']} blocks, no training"
    parts = [
        text(20, 28, f"z-score:  {summary['target']['expression']}"),
        text(20, 50, f"16 tokens, off by at most 1/100  ↦  {size}", "small"),
        *gates(summary["circuit"], 74, 112),
        *band(network, z_score, 636, 80),
        text(636, 50, "certified at every input; 640 are shown", "small"),
        text(636, 300, "output − target, over the target", "small"),
    ]
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE[0]} {SIZE[1]}" width="{SIZE[0]}" height="{SIZE[1]}">'
    title = "<title>A formula, its circuit, and its errors within the certified band</title>"
    return "\n".join([frame, title, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture())
