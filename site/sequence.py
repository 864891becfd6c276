"""Pictures of who sends what to whom, from ```sequence blocks: SVG that takes its colours from the page.

A block has a title, a line of actors, then a step in each line:

    The link's loss is repaired on the link
    sender | gateway A ~lossy link~ gateway B | receiver
    sender -> gateway A: data               an arrow
    gateway A -x gateway B: data            an arrow that is lost on its way
    gateway B ..> gateway A: 2 is missing   a message of the system's own
    gateway B: holds 3                      what one of them does
"""

import re
from html import escape

# Drawn for the width of a telephone; the style sheet lets it grow to the width of a column of text.
WIDTH, HEAD, ROW = 360, 46, 30
CHARACTER = 6.2
STEP = re.compile(r"(.+?) (->|-x|\.\.>) (.+?): (.+)")
WORDS = {"->": "to", "-x": "lost on the way to", "..>": "tells"}


def figure(block):
    """The HTML of a block, without empty lines."""
    title, actors, *steps = [line.strip() for line in block.strip().splitlines()]
    names, bands = _actors(actors)
    column = WIDTH / len(names)
    places = {name: (index + 0.5) * column for index, name in enumerate(names)}
    height = HEAD + ROW * len(steps) + 10
    parts = [_band(index, label, column, height) for index, label in bands]
    parts += [_actor(name, place, column, height) for name, place in places.items()]
    spoken = [title]
    for index, step in enumerate(steps):
        y = HEAD + ROW * (index + 1) - 8
        match = STEP.fullmatch(step)
        if match:
            start, kind, end, label = match.groups()
            parts.append(_arrow(places[start], places[end], y, kind))
            parts.append(_text((places[start] + places[end]) / 2, y - 5, label, "label"))
            spoken.append(f"{start} {WORDS[kind]} {end}: {label}")
        else:
            actor, _, label = step.partition(": ")
            half = len(label) * CHARACTER / 2 + 6
            x = _within(places[actor], half)
            parts.append(f'<rect class="does" x="{x - half:.0f}" y="{y - 15}" width="{2 * half:.0f}" height="20" rx="4"/>')
            parts.append(_text(x, y - 1, label, "label"))
            spoken.append(f"{actor}: {label}")
    return (
        f'<figure class="sequence">\n<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(". ".join(spoken))}">\n'
        + "\n".join(parts)
        + f"\n</svg>\n<figcaption>{escape(title)}</figcaption>\n</figure>"
    )


def _actors(line):
    names, bands = [], []
    for part in line.split("|"):
        pieces = [piece.strip() for piece in part.split("~")]
        names.append(pieces[0])
        for label, name in zip(pieces[1::2], pieces[2::2]):
            bands.append((len(names) - 1, label))
            names.append(name)
    return names, bands


def _band(index, label, column, height):
    left = (index + 0.5) * column
    return f'<rect class="band" x="{left:.0f}" y="{HEAD - 4}" width="{column:.0f}" height="{height - HEAD + 4}"/>' + _text(
        left + column / 2, HEAD + 6, label, "name"
    )


def _actor(name, x, column, height):
    words = name.split()
    middle = (len(words) + 1) // 2
    lines = [name] if len(name) * CHARACTER < column - 14 else [" ".join(words[:middle]), " ".join(words[middle:])]
    first = 21 - 6 * (len(lines) - 1)
    texts = "".join(_text(x, first + 13 * index, line, "actor") for index, line in enumerate(lines))
    return (
        f'<line class="life" x1="{x:.0f}" y1="36" x2="{x:.0f}" y2="{height}"/>'
        f'<rect class="box" x="{x - column / 2 + 4:.0f}" y="2" width="{column - 8:.0f}" height="34" rx="5"/>{texts}'
    )


def _arrow(start, end, y, kind):
    way = 1 if end > start else -1
    if kind == "-x":
        stop = start + 0.62 * (end - start)
        cross = f"M{stop - 5:.0f} {y - 5}l10 10m0 -10l-10 10"
        return f'<path class="data" d="M{start:.0f} {y}H{stop:.0f}"/><path class="lost" d="{cross}"/>'
    name = "data" if kind == "->" else "own"
    tip = f"{end:.0f},{y} {end - 8 * way:.0f},{y - 4} {end - 8 * way:.0f},{y + 4}"
    return f'<path class="{name}" d="M{start:.0f} {y}H{end - 6 * way:.0f}"/><polygon class="{name}" points="{tip}"/>'


def _text(x, y, text, name):
    x = _within(x, len(text) * CHARACTER / 2 + 2)
    return f'<text class="{name}" x="{x:.0f}" y="{y}">{escape(text)}</text>'


def _within(x, half):
    return min(max(x, half), WIDTH - half)
