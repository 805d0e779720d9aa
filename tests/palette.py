#!/usr/bin/env python3
"""Checks that readers with red-green blindness can tell the colours of reports apart, on white and on dark pages.

Lines: the first six colours of the palette get lighter one by one, and every two differ as seen with normal vision,
deuteranopia and protanopia. Tables: orange and blue differ, and each side of the scale gets stronger step by step.
The simulation of colour blindness is that of Machado et al. (2009) at full severity, distances are those of CIELAB (1976).

    tests/palette.py
"""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STYLE = (ROOT / "templates/style.css").read_text()
SOURCE = (ROOT / "src/plot/svg.cc").read_text()

VISION = {
    "normal vision": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
WHITE = (0.95047, 1, 1.08883)

LEAST_DISTANCE = 20   # of two lines; 2.3 is just noticeable, and lines are thin
LEAST_STEP = 4        # of lightness from one line to the next
LEAST_CONTRAST = 3    # of a line against the page [WCAG 2.1, 1.4.11]
LEAST_SIDES = 40      # of the ends of the scale of tables


def linear(color):
    """Linear RGB of "#rrggbb" or of three numbers up to 255."""
    parts = [int(color[i:i + 2], 16) for i in (1, 3, 5)] if isinstance(color, str) else color
    return [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in parts]


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(color, vision="normal vision"):
    seen = [min(1, max(0, c)) for c in product(VISION[vision], linear(color))]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
               for t in (value / white for value, white in zip(product(TO_XYZ, seen), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(a, b):
    high, low = sorted((product(TO_XYZ, linear(color))[1] for color in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def over(color, opacity, page):
    """A colour that is not opaque, on a page."""
    below = [int(page[i:i + 2], 16) for i in (1, 3, 5)]
    return [opacity * a + (1 - opacity) * b for a, b in zip(color, below)]


def theme_of(block):
    return dict(re.findall(r"--([\w-]+): ([^;]+);", block))


def themes():
    light = theme_of(re.search(r":root \{([^}]*)\}", STYLE).group(1))
    dark = [theme_of(block) for block in re.findall(r":root[:\[][^{]*dark[^{]*\{([^}]*)\}", STYLE)]
    dark += [theme_of(block) for block in re.findall(r":root:not[^{]*\{([^}]*)\}", STYLE)]
    assert len(dark) >= 2 and all(one == dark[0] for one in dark), "the dark themes differ"
    return {"light": light, "dark": dark[0]}


def check_lines(name, theme):
    lines = [theme[f"c{i}"] for i in range(6)]
    for a, b in zip(lines, lines[1:]):
        if lab(b)[0] - lab(a)[0] < LEAST_STEP:
            yield f"{name}: {b} is not lighter than {a}"
    colors = lines + [theme["c6"], theme["c7"]]
    for vision in VISION:
        for i, a in enumerate(colors):
            for b in colors[:i]:
                distance = math.dist(lab(a, vision), lab(b, vision))
                if distance < LEAST_DISTANCE:
                    yield f"{name}, {vision}: {a} and {b} are only {distance:.1f} apart"
    for color in colors:
        if contrast(color, theme["paper"]) < LEAST_CONTRAST:
            yield f"{name}: {color} has a contrast of {contrast(color, theme['paper']):.1f} only"


def check_scale(name, theme):
    tones = re.findall(r"\.tone-(\w) \{ background: rgb\(var\(--(good|bad)\)(?: / ([.\d]+))?\); \}", STYLE)
    assert len(tones) == 11, "the scale of tables has eleven steps"
    sides = {"good": [], "bad": []}
    for _, side, opacity in tones:
        color = [int(part) for part in theme[side].split()]
        sides[side].append(over(color, float(opacity or 1), theme["paper"]))
    sides["bad"].reverse()
    page = lab(theme["paper"])
    for vision in VISION:
        for side, colors in sides.items():
            depth = [math.dist(lab(color, vision), page) for color in colors]
            steps = [abs(lab(color, vision)[0] - page[0]) for color in colors]
            if depth != sorted(depth) or steps != sorted(steps):
                yield f"{name}, {vision}: the {side} side of the scale does not get stronger"
        distance = math.dist(lab(sides["good"][-1], vision), lab(sides["bad"][-1], vision))
        if distance < LEAST_SIDES:
            yield f"{name}, {vision}: the ends of the scale are only {distance:.1f} apart"


def main():
    problems = []
    for name, theme in themes().items():
        problems += [*check_lines(name, theme), *check_scale(name, theme)]
    drawn = re.findall(r'"(#[0-9a-f]{6})"', re.search(r"kPalette = \{([^}]*)\}", SOURCE).group(1))
    if drawn != [themes()["light"][f"c{i}"] for i in range(8)]:
        problems.append("src/plot/svg.cc and templates/style.css have other colours")
    print("\n".join(problems) or "the colours of lines and tables differ for all readers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
