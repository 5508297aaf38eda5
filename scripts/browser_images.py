# SPDX-License-Identifier: Apache-2.0
"""Images as a browser decodes them: their pixels, and the share of these in which two of them differ."""

from __future__ import annotations

import base64
from typing import Final

import numpy as np
from playwright.sync_api import Page

_PIXELS: Final = """async (coded) => {
  const image = new Image();
  image.src = `data:image/png;base64,${coded}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const { data, width, height } = canvas.getImageData(0, 0, image.width, image.height);
  let text = "";
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  return [btoa(text), width, height];
}"""
_VISIBLE: Final = 32
"""Of 255: by less, a colour may be another by the choice of a palette."""


def pixels_of(page: Page, image: bytes) -> tuple[bytes, int, int]:
    """Return the pixels of a PNG, of four bytes each, with width and height; ``page``: an empty one."""
    coded, width, height = page.evaluate(_PIXELS, base64.b64encode(image).decode())
    return base64.b64decode(coded), width, height


def difference(page: Page, one: bytes, other: bytes) -> float:
    """Return the share of pixels in which two PNGs visibly differ; 1.0 for other sizes."""
    (first, *size), (second, *other_size) = pixels_of(page, one), pixels_of(page, other)
    if size != other_size:
        return 1.0
    colours = (np.frombuffer(each, np.uint8).reshape(-1, 4).astype(int) for each in (first, second))
    return float((np.abs(next(colours) - next(colours)).max(axis=1) > _VISIBLE).mean())
