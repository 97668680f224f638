"""The colours of the classes: legible in both themes, and told apart by colour-blind readers."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

PALETTE = Path("specviz/ui/stream/palette.css").read_text("utf-8")
THEMES = tomllib.loads(Path(".streamlit/config.toml").read_text("utf-8"))["theme"]
CLASSES = ("accepted", "rejected", "discarded", "resampled", "bonus")
TINT = 0.09
"""How much of its colour a token has as its ground, in tokens.css."""

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}

Colour = NDArray[np.float64]


def colours(theme: str) -> dict[str, Colour]:
    light, dark = PALETTE.split('[data-theme="dark"]')
    block = light if theme == "light" else dark
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    return {name: from_hex(found[name]) for name in CLASSES}


def from_hex(text: str) -> Colour:
    return np.array([int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def linear(colour: Colour) -> Colour:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(first: Colour, second: Colour) -> float:
    light, dark = sorted(
        (float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (first, second)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: Colour) -> Colour:
    matrix = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(np.clip(matrix @ rgb, 0.008856, None) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
def test_text_in_a_class_colour_passes_wcag_aa_on_its_own_tint(theme: str, ground: str) -> None:
    under = from_hex(THEMES[theme][ground])
    for name, colour in colours(theme).items():
        tinted = TINT * colour + (1 - TINT) * under
        assert contrast(colour, tinted) >= 4.5, name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_no_two_classes_look_alike(theme: str, vision: str) -> None:
    seen = {
        name: lab(np.clip(VISION[vision] @ linear(colour), 0, 1))
        for name, colour in colours(theme).items()
    }
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[first] - seen[second]) > 15, (first, second)
