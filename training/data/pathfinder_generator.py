"""PathFinder made here: are two dots on the same dashed curve? (Linsley et al. 2018, with the parameters of the LRA)

Two target curves start a fixed distance apart and grow segment by segment: the next segment starts where the last one
points, its direction is drawn with weight cos^2 of the turn (times ``continuity``) among free pixels, and no segment
may touch what is drawn.  Shorter distractors follow.  One dot marks the start of a target, the other the end of the
same target (label 1) or of the other one (label 0).  Strokes and dots are drawn at twice the resolution and shrunk by
Lanczos.

The law is that of ``drewlinsley/pathfinder`` (commit ab9c130), its quirks included: distractors are drawn at the
snake contrast alone; the last segment of the first target is not kept free; and a curve can only start up and to the
left. (The original looks for free pixels by a dilation that is off by one.  Unless the first segment runs back over
that offset, some pixel at the border sees nothing but the outside, where OpenCV has minus infinity, and the try is
given up: the line commented "mystery" there.  This decides how many distractors there are: about one at length 14,
not five.) Written anew; the tests hold it against images that the original generator made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

from training.config import configuration, setting
from training.data.pathfinder_strokes import (
    Drawing,
    Point,
    dilate,
    disk_pixels,
    moved,
    opposite,
    ring,
    segment_stamp,
    shrink,
    start_kernel,
)
from training.data.places import DataError

CONTOUR_LENGTHS = (6, 9, 14)
_ANY = "drewlinsley/pathfinder: defaults of snakes2_wrapper.py"
_SEGMENT_TRIES, _DISTRACTOR_TRIES = 2, 4
_LEAST_FREE_SHARE = 0.01


#: LRA, lra_benchmarks/data/pathfinder.py (docstrings of Pathfinder32 and Pathfinder128).
DRAWINGS = {
    32: Drawing(2, 0.5, (1,), 7, 1.5, 1.0, (2.0, 0.75), 20),
    128: Drawing(5, 1.5, (2, 3), 20, 3.0, 1.8, (0.9, 1.0), 35),
}


@configuration
@dataclass(frozen=True)
class PathFinderLaw:
    """The law of a generated set."""

    images: int = setting(200_000, "LRA: images of one level")
    """Images, before the split 80/10/10."""
    size: int = setting(32, "LRA")
    """Pixels a side: 32 or 128."""
    contour_length: int = setting(14, "LRA: the level that the benchmark uses")
    """Segments of a target curve: 6, 9 or 14; distractors have a third of it."""
    seed: int = 0
    """Seed; image number i depends on seed and i alone."""

    def __post_init__(self) -> None:
        """Refuse laws without a drawing."""
        if self.size not in DRAWINGS:
            raise DataError(f"images are 32 or 128 pixels wide: size={self.size}; use 32")
        if self.contour_length not in CONTOUR_LENGTHS:
            raise DataError(f"a contour has 6, 9 or 14 segments: contour_length={self.contour_length}; use 14")
        if self.images < 1:
            raise DataError(f"a set needs images: images={self.images}; use at least 10")


def images(law: PathFinderLaw) -> Iterator[tuple[UInt8[ndarray, "size size"], int]]:
    """Image and label (1: both dots on one curve), one after the other."""
    for number in range(law.images):
        yield image(law, number)


def image(law: PathFinderLaw, number: int) -> tuple[UInt8[ndarray, "size size"], int]:
    """Image number ``number`` and its label."""
    random = np.random.default_rng([law.seed, law.size, law.contour_length, number])
    drawing = DRAWINGS[law.size]
    label = int(random.integers(2))
    margin = drawing.margins[random.integers(len(drawing.margins))]
    scene = _Scene(law.size, drawing, margin, random)
    targets = scene.targets(law.contour_length)
    while targets is None:
        scene = _Scene(law.size, drawing, margin, random)
        targets = scene.targets(law.contour_length)
    length = law.contour_length // 3
    for _ in range(drawing.distractor_segments // length):
        scene.distractor(length)
    first = int(random.integers(2))
    second = first if label else 1 - first
    scene.dot(targets[first].start)
    scene.dot(targets[second].end)
    return scene.grey_levels(), label


@dataclass
class _Curve:
    """A curve that grows: where its last segment turns, points to and lies."""

    pivot: Point
    orientation: float
    start: Point
    end: Point
    contrast: float
    stroke: tuple[Point, float]
    """Start and orientation of the last segment, which is not yet in the mask."""
    strokes: list[tuple[Point, float, float]] = field(default_factory=list)
    """Start, orientation and contrast of every segment."""


class _Scene:
    """One image while it is drawn: its ink, and the mask of pixels that are taken."""

    def __init__(self, size: int, drawing: Drawing, margin: int, random: np.random.Generator) -> None:
        self.size, self.drawing, self.margin, self.random = size, drawing, margin, random
        self.ink = np.zeros((size, size))
        # The mask with a border as wide as the margin: neighbours of a pixel at the edge are looked up without a copy.
        self.wide_mask = np.pad(np.ones((size, size)), margin)
        self.mask = self.wide_mask[margin:-margin, margin:-margin]
        self.mask[drawing.padding : -drawing.padding, drawing.padding : -drawing.padding] = 0

    def targets(self, segments: int) -> tuple[_Curve, _Curve] | None:
        """Two curves from neighbouring starts, grown in turn; None where either gets stuck."""
        drawing = self.drawing
        contrast = drawing.contrasts[0] * drawing.contrasts[1]
        first = self._seed(2 * drawing.seed_distance, contrast)
        second = None if first is None else self._seed_beside(first.start, contrast)
        if first is None or second is None:
            return None
        for _ in range(segments - 1):
            if not self._extend(first) or not self._extend(second):
                return None
        self._take(second)
        self._draw(first)
        self._draw(second)
        return first, second

    def distractor(self, segments: int) -> None:
        """One distractor, if there is room."""
        for _ in range(_DISTRACTOR_TRIES + 1):
            before = self.mask.copy()
            curve = self._seed(1, self.drawing.contrasts[0])
            if curve is not None and all(self._extend(curve) for _ in range(segments - 1)):
                self._take(curve)
                self._draw(curve)
                return
            self.mask[:] = before

    def dot(self, centre: Point) -> None:
        """A filled circle."""
        scale, radius = self.drawing.antialias, self.drawing.marker_radius
        rows, columns = np.ogrid[: self.size * scale, : self.size * scale]
        inside = (rows - centre[0] * scale) ** 2 + (columns - centre[1] * scale) ** 2 <= (radius * scale) ** 2
        np.maximum(self.ink, shrink(inside * np.uint8(255), self.size) / 255, out=self.ink)

    def grey_levels(self) -> UInt8[ndarray, "size size"]:
        """The ink stretched to 0..255."""
        low, high = self.ink.min(), self.ink.max()
        return ((self.ink - low) * (255 / (high - low)) + 0.5).astype(np.uint8)

    def _seed(self, border: int, contrast: float) -> _Curve | None:
        """A first segment that keeps ``border`` pixels from the edge, in free space."""
        if border == 1 and np.mean(self.mask <= 0.3) < _LEAST_FREE_SHARE:
            return None
        for _ in range(_SEGMENT_TRIES + 1):
            orientation = self._any_direction()
            kernel = start_kernel(orientation, self.drawing, self.margin)
            if kernel is None:
                return None
            lined = np.ones_like(self.mask)
            lined[border:-border, border:-border] = self.mask[border:-border, border:-border]
            rows, columns = np.nonzero(dilate(lined, kernel) <= 0.3)
            if not len(rows):
                return None
            place = self.random.integers(len(rows))
            curve = self._start((int(rows[place]), int(columns[place])), orientation, contrast)
            if curve is not None:
                return curve
        return None

    def _seed_beside(self, start: Point, contrast: float) -> _Curve | None:
        """A first segment at the seed distance from another."""
        for _ in range(_SEGMENT_TRIES + 1):
            orientation, angle = self._any_direction(), math.radians(self.random.integers(360))
            distance = self.drawing.seed_distance
            beside = round(start[0] + distance * math.sin(angle)), round(start[1] + distance * math.cos(angle))
            curve = self._start(beside, orientation, contrast)
            if curve is not None:
                return curve
        return None

    def _start(self, tail: Point, orientation: float, contrast: float) -> _Curve | None:
        segment = self.drawing.segment
        head = moved(tail, orientation, segment)
        pivot = moved(head, opposite(orientation), segment + self.margin)
        if not all(0 <= part < self.size for part in (*head, *pivot)):
            return None
        return _Curve(pivot, orientation, tail, head, contrast, (tail, orientation), [(tail, orientation, contrast)])

    def _extend(self, curve: _Curve) -> bool:
        """Add one segment; the one before it becomes part of the mask."""
        segment, margin = self.drawing.segment, self.margin
        pivot = moved(curve.pivot, curve.orientation, segment + 2 * margin)
        around, orientations = ring(segment + margin)
        rows, columns = around[:, 0] + pivot[0], around[:, 1] + pivot[1]
        inside = (rows >= 0) & (rows < self.size) & (columns >= 0) & (columns < self.size)
        rows, columns, orientations = rows[inside], columns[inside], orientations[inside]
        turn = np.abs(orientations - curve.orientation)
        turn = np.minimum(np.minimum(turn, 2 * np.pi - turn) * self.drawing.continuity, np.pi / 2)
        weights = (1 - self._near(rows, columns)) * np.cos(turn) ** 2
        total = weights.sum()
        if total < 1e-4:
            return False
        cumulative = np.cumsum(weights / total)
        for _ in range(_SEGMENT_TRIES + 1):
            chosen = int(np.argmax(cumulative > self.random.random()))
            head, orientation = (int(rows[chosen]), int(columns[chosen])), float(orientations[chosen])
            back = opposite(orientation)
            here, stamp = self._placed(head, self._stamp(back)[1])
            if not len(stamp) or np.max(self.mask[here] + stamp, initial=0.0) < 1.8:
                self._take(curve)
                curve.pivot, curve.orientation, curve.end, curve.stroke = pivot, orientation, head, (head, back)
                curve.strokes.append((head, back, curve.contrast))
                return True
        return False

    def _near(self, rows: ndarray, columns: ndarray) -> Float[ndarray, " places"]:
        """The mask, dilated by the margin, at some places."""
        down, right = disk_pixels(self.margin)
        worst: Float[ndarray, " places"] = self.wide_mask[rows[:, None] + down, columns[:, None] + right].max(1)
        return worst

    def _take(self, curve: _Curve) -> None:
        here, stamp = self._placed(curve.stroke[0], self._stamp(curve.stroke[1])[1])
        np.maximum(self.mask[here], stamp, out=self.mask[here])

    def _draw(self, curve: _Curve) -> None:
        for start, orientation, contrast in curve.strokes:
            here, stamp = self._placed(start, self._stamp(orientation)[0])
            np.maximum(self.ink[here], contrast * stamp, out=self.ink[here])

    def _placed(self, centre: Point, stamp: Float[ndarray, "side side"]) -> tuple[tuple[slice, slice], ndarray]:
        """The part of a stamp that lies in the image, and where."""
        reach = len(stamp) // 2
        first = [max(0, part - reach) for part in centre]
        last = [min(self.size, part + reach + 1) for part in centre]
        own = tuple(slice(a - part + reach, b - part + reach) for a, b, part in zip(first, last, centre, strict=True))
        return (slice(first[0], last[0]), slice(first[1], last[1])), stamp[own]

    def _stamp(self, orientation: float) -> tuple[Float[ndarray, "side side"], Float[ndarray, "side side"]]:
        return segment_stamp(orientation, self.drawing, self.margin)

    def _any_direction(self) -> float:
        return math.radians(self.random.integers(-180, 180))
