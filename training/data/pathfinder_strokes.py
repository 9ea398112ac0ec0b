"""Strokes of PathFinder images: segments, the pixels they keep, and the places where the next one can end.

Everything is drawn at ``antialias`` times the resolution and shrunk by Lanczos, coordinates are rounded up, directions
are angles from the column axis; all as in the original generator (see ``pathfinder_generator``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy import ndarray
from PIL import Image, ImageDraw

#: Row and column of a pixel.
Point = tuple[int, int]


@dataclass(frozen=True)
class Drawing:
    """How curves of one image size are drawn; lengths in pixels."""

    segment: int
    """Length of a segment."""
    thickness: float
    """Thickness of a segment."""
    margins: tuple[int, ...]
    """Free space around a segment; drawn for each image."""
    seed_distance: int
    """Distance between the starts of the two targets."""
    marker_radius: float
    """Radius of the dots."""
    continuity: float
    """Weight of straightness: turns are multiplied by it and capped at a right angle."""
    contrasts: tuple[float, float]
    """Brightness of a snake, and the factor on it for target segments."""
    distractor_segments: int
    """Segments of all distractors together."""
    antialias: int = 2
    """Resolution at which strokes are drawn, relative to the image."""
    padding: int = 1
    """Border that curves keep free."""


def moved(point: Point, orientation: float, distance: int) -> Point:
    """A pixel at a distance; coordinates are rounded up, as in the original."""
    return (
        math.ceil(point[0] + distance * math.sin(orientation)),
        math.ceil(point[1] + distance * math.cos(orientation)),
    )


def opposite(orientation: float) -> float:
    """The direction turned by half a circle."""
    return orientation + math.pi if orientation < 0 else orientation - math.pi


@lru_cache(maxsize=16)
def ring(radius: int) -> tuple[ndarray, Float[ndarray, " places"]]:
    """Displacements to the pixels on a circle, in order of row and column, and their directions.

    The original truncates coordinates, which for pixels inside the image is rounding down.
    """
    angles = np.arange(0, 2 * np.pi, 1 / radius)
    steps = np.stack([radius * np.sin(angles), radius * np.cos(angles)], 1)
    places = np.unique(np.floor(steps).astype(int), axis=0)
    return places, np.arctan2(places[:, 0], places[:, 1])


@lru_cache(maxsize=2048)
def start_kernel(orientation: float, drawing: Drawing, margin: int) -> Bool[ndarray, "side side"] | None:
    """Pixels that a first segment takes for sure, seen from one beside its start; None where the try is given up."""
    side = 2 * (drawing.segment + margin) + 1
    stamp = segment_stamp(orientation, drawing, margin)[1] >= 1
    offset = len(stamp) // 2 - side // 2 - 1  # the original's window is one pixel off its centre
    kernel = np.zeros((side, side), dtype=bool)
    part = stamp[max(0, offset) :, max(0, offset) :][: side - max(0, -offset), : side - max(0, -offset)]
    kernel[max(0, -offset) :, max(0, -offset) :][: len(part), : len(part)] = part
    sees = dilate(np.zeros((2 * side, 2 * side)), kernel, outside=-np.inf)
    return kernel if sees.min() >= 0 else None


@lru_cache(maxsize=4096)
def segment_stamp(
    orientation: float, drawing: Drawing, margin: int
) -> tuple[Float[ndarray, "side side"], Float[ndarray, "side side"]]:
    """A segment from the centre of a small window: its ink, and the pixels it keeps for itself, both in 0..1."""
    length, thickness, antialias = drawing.segment, drawing.thickness, drawing.antialias
    reach = length + math.ceil(thickness) + margin
    fine, side = 2 * reach * antialias + 1, 2 * reach + 1
    centre = reach * antialias
    row, column = moved((centre, centre), orientation, length * antialias)
    drawn = Image.new("L", (fine, fine))
    ImageDraw.Draw(drawn).line([(centre, centre), (column, row)], fill=255, width=round(thickness * antialias))
    line = np.asarray(drawn)
    kept = dilate(line, disk(margin * antialias))
    return shrink(line, side) / 255, shrink(kept, side) / 255


@lru_cache(maxsize=16)
def disk(radius: int) -> Bool[ndarray, "side side"]:
    """Pixels within a distance of the centre."""
    rows, columns = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    inside: Bool[ndarray, "side side"] = rows**2 + columns**2 <= radius**2
    return inside


@lru_cache(maxsize=16)
def disk_pixels(radius: int) -> tuple[Int[ndarray, " pixels"], Int[ndarray, " pixels"]]:
    """Rows and columns of the pixels of a disk, counted from its upper left corner."""
    rows, columns = np.nonzero(disk(radius))
    return rows, columns


def dilate(values: ndarray, kernel: Bool[ndarray, "side side"], outside: float = 0.0) -> ndarray:
    """Greatest value under the kernel at each pixel."""
    reach = len(kernel) // 2
    padded, result = np.pad(values, reach, constant_values=outside), np.full_like(values, outside)
    for down, right in np.argwhere(kernel):
        np.maximum(result, padded[down : down + len(values), right : right + values.shape[1]], out=result)
    return result


def shrink(values: UInt8[ndarray, "height width"], side: int) -> UInt8[ndarray, "side side"]:
    """An image resized by Lanczos."""
    return np.asarray(Image.fromarray(values).resize((side, side), Image.Resampling.LANCZOS))
