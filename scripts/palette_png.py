# SPDX-License-Identifier: Apache-2.0
"""PNG files with a palette: screens have few colours, so these are less than half as large as those of browsers."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numpy as np

_MOST_COLOURS: Final = 256
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PALETTE_OF_BYTES: Final = struct.pack(">BBBBB", 8, 3, 0, 0, 0)
"""Eight bits a pixel, which are numbers of colours; no interlacing (PNG, 11.2.1)."""


def palette_png(pixels: bytes, width: int, height: int) -> bytes:
    """Return an image as PNG; ``pixels`` are opaque, of four bytes each, red first.

    256 colours stay as they are, all others become the nearest of these: frequent ones, and those that are far from
    them, as the few red pixels of a page.
    """
    coloured = np.frombuffer(pixels, np.uint8).reshape(-1, 4)[:, :3]
    colours, places, counts = np.unique(coloured, axis=0, return_inverse=True, return_counts=True)
    palette = _palette(colours.astype(int), counts)
    nearest = np.array([_nearest(palette, colour) for colour in colours], np.uint8)
    rows = nearest[places.reshape(height, width)]
    filtered = np.hstack([np.zeros((height, 1), np.uint8), rows])  # each row begins with its filter, which is none
    chunks = (
        (b"IHDR", struct.pack(">II", width, height) + _PALETTE_OF_BYTES),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(filtered.tobytes(), 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks)


def _palette(colours: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return colours one by one, each the one whose pixels are farthest from those before it, in all."""
    chosen = [int(counts.argmax())]
    distances = _distances(colours, colours[chosen[0]])
    while len(chosen) < _MOST_COLOURS and distances.any():
        chosen.append(int((distances * counts).argmax()))
        distances = np.minimum(distances, _distances(colours, colours[chosen[-1]]))
    return colours[chosen].astype(np.uint8)


def _nearest(palette: np.ndarray, colour: np.ndarray) -> int:
    return int(_distances(palette.astype(int), colour.astype(int)).argmin())


def _distances(colours: np.ndarray, colour: np.ndarray) -> np.ndarray:
    return ((colours - colour) ** 2).sum(axis=1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
