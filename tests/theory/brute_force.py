"""Evaluate expressions of the calculus by plain loops over Python fractions, at concrete L and d.

Independent of the normal form and of ``numerics``: a sum is a loop, an expectation a weighted mean over samples.  The
exponential is any positive function of its exponent: nothing may rest on more than that.
"""

import itertools
import random
from fractions import Fraction
from functools import cache

import sympy as sp

from theory.claim import MaskKind, PoolingKind, cls_position
from theory.composition import READOUT, RESIDUAL_READOUT, bend
from theory.curves import CurveEntry, alpha
from theory.geometry import RING, TORUS, distance, distance_table, position
from theory.masking import kept
from theory.objects import loss_gradient, mask, pooling, tokens
from theory.sums import FEATURES, POSITIONS, Entry, Expectation, Index, length, mask_ratio, total, width
from theory.sums.symbols import is_delta

#: The strength at which a line in α is evaluated, and the masking ratio.
STRENGTH, RATIO = Fraction(2, 3), Fraction(2, 7)


class Model:
    """Concrete sizes, sample weights and entries; an entry is a function of its indices and, if random, the sample.

    Entries are found by tensor or by name.
    """

    def __init__(self, token_count, token_width, weights, entries):
        self.token_count, self.token_width = token_count, token_width
        self.weights, self.entries = weights, entries
        self.cache, self.cls = {}, 0

    def size(self, range_):
        return self.token_width if range_ == FEATURES else self.token_count

    def with_entries(self, changes=None, /, **named):
        made = Model(self.token_count, self.token_width, self.weights, {**self.entries, **(changes or {}), **named})
        made.cls = self.cls
        return made


def value(expression, model, names=None, sample=None):
    """The value at indices ``names`` (0-based); outside an expectation a random entry needs a sample."""
    names = names or {}
    if isinstance(expression, CurveEntry):
        return _opaque(expression, tuple(names[i] for i in expression.indices), sample)
    if isinstance(expression, Entry):
        return _entry(expression, model, names, sample)
    if isinstance(expression, sp.Add):
        return sum((value(a, model, names, sample) for a in expression.args), Fraction(0))
    if isinstance(expression, sp.Mul):
        product = Fraction(1)
        for argument in expression.args:
            product *= value(argument, model, names, sample)
        return product
    if isinstance(expression, sp.Pow):
        return value(expression.base, model, names, sample) ** int(expression.exp)
    if isinstance(expression, sp.Sum):
        *inner, (bound, *_) = expression.limits  # the last limit is the outermost one
        body = sp.Sum(expression.function, *inner) if inner else expression.function
        size = model.size(bound.range)
        return sum((value(body, model, {**names, bound: n}, sample) for n in range(size)), Fraction(0))
    if isinstance(expression, Expectation):
        body = expression.args[0]
        return sum((w * value(body, model, names, s) for s, w in enumerate(model.weights)), Fraction(0))
    if isinstance(expression, sp.exp):
        return _exponential(value(expression.args[0], model, names, sample))
    if expression in (alpha, mask_ratio):
        return STRENGTH if expression == alpha else RATIO
    if expression == length:
        return Fraction(model.token_count)
    if expression == width:
        return Fraction(model.token_width)
    exact = expression if expression.is_Rational else sp.Rational(expression)
    return Fraction(int(exact.p), int(exact.q))


def _entry(expression, model, names, sample):
    tensor = expression.tensor
    place = tuple(names[i] for i in expression.indices)
    if is_delta(tensor):
        return Fraction(int(place[0] == place[1]))
    for key in (tensor, tensor.name):
        if key in model.entries:
            assert sample is not None or not tensor.random, f"{tensor.name} outside an expectation"
            return model.entries[key](place, sample)
    if tensor in TABLES:
        return Fraction(TABLES[tensor](place, model.token_count))
    if tensor.definition is None:
        return _any_number(tensor, place)
    key = (tensor, place, sample if tensor.random else None)
    if key not in model.cache:
        formal = tensor.formal_indices()
        names = dict(zip(formal, place, strict=True))
        model.cache[key] = value(tensor.definition(*formal), model, names, sample if tensor.random else None)
    return model.cache[key]


def _any_number(tensor, place):
    """An entry of a deterministic matrix of a statement (M, P, weights, multipliers, …): fixed, and nothing else."""
    assert not tensor.random, f"no law is given for {tensor.name}"
    place = tuple(sorted(place)) if tensor.symmetric else place
    rng = random.Random(f"{tensor.name} {[r.name for r in tensor.ranges]} {place}")
    return Fraction(rng.choice((-1, 1)) * rng.randint(1, 7), rng.randint(1, 3))


def _exponential(exponent):
    """Some positive number that depends on the exponent alone; not multiplicative, and not 1 at 0."""
    rng = random.Random(f"exp {exponent}")
    return Fraction(rng.randint(1, 9), rng.randint(1, 5))


def _torus_offset(i, j, size):
    rows = max(a for a in range(1, size + 1) if size % a == 0 and a * a <= size)
    columns = size // rows
    down, right = j // columns - i // columns, j % columns - i % columns
    return down % rows * columns + right % columns


#: Arrays that the length alone fixes, at 0-based places.
TABLES = {
    position: lambda place, size: place[0] + 1,
    distance: lambda place, size: abs(place[0] - place[1]),
    distance_table: lambda place, size: int(abs(place[0] - place[1]) == place[2]),
    RING.table: lambda place, size: int((place[1] - place[0]) % size == place[2]),
    TORUS.table: lambda place, size: int(_torus_offset(place[0], place[1], size) == place[2]),
}


def _opaque(expression, place, sample):
    """Any fixed number: whoever compares two lines in which a curve stands must not depend on its value."""
    rng = random.Random(f"{expression.curve.name} {expression.order} {expression.at} {place} {sample}")
    return Fraction(rng.randint(-9, 9), rng.randint(1, 3))


def random_array(shape, rng, least=-4):
    """A function from a place to a small fraction, drawn once."""
    held = {
        place: Fraction(rng.randint(least, 5), rng.randint(1, 3)) for place in itertools.product(*map(range, shape))
    }
    return lambda place, sample=None: held[place]


def random_arrays(shape, samples, rng):
    """The same for a random tensor: one array a sample."""
    arrays = [random_array(shape, rng) for _ in range(samples)]
    return lambda place, sample: arrays[sample](place)


def random_weights(samples, rng):
    raw = [Fraction(rng.randint(1, 5)) for _ in range(samples)]
    return [r / sum(raw) for r in raw]


def free_indices(expression):
    return sorted((s for s in expression.free_symbols if isinstance(s, Index)), key=lambda i: (i.name, i.range.name))


def placements(indices, model):
    """Every assignment of concrete places to indices."""
    for places in itertools.product(*(range(model.size(i.range)) for i in indices)):
        yield dict(zip(indices, places, strict=True))


# --- models of the objects of section 5 ------------------------------------------------------------------------------


@cache
def setting_model(setting, hypotheses, seed, token_count=4, token_width=2):
    """A random instance of a setting whose pattern satisfies the hypotheses (constraints) exactly."""
    rng = random.Random(seed)
    samples = 2
    cls = rng.randrange(token_count)
    hessians = random_arrays((token_width, token_width), samples, rng)
    entries = {
        "X": random_arrays((token_count, token_width), samples, rng),
        "g": random_arrays((token_width,), samples, rng),
        "H": lambda place, sample: hessians(tuple(sorted(place)), sample),
        "w": random_array((token_count,), rng),
        "e": lambda place, sample=None: [Fraction(3, 5), Fraction(4, 5)][place[0]] if token_width == 2 else Fraction(1),
        "m": _mask(setting.mask, token_count, rng),
        "ω": _pooling(setting.pooling, token_count, cls, rng),
    }
    model = Model(token_count, token_width, random_weights(samples, rng), entries)
    model = model.with_entries(**{"Δ": _pattern(hypotheses, model, rng)})
    model.cls = cls
    readouts = {path.token_gradient: _readout_gradient(path, model) for path in (READOUT, RESIDUAL_READOUT)}
    return model.with_entries(readouts)


def _readout_gradient(path, model):
    """Gradient in the tokens z_i that a loss of Σ ω_i (z_i + b z_i²) has at uniform attention, for any loss slope."""
    i, j, c = Index("i", POSITIONS), Index("j", POSITIONS), Index("c", FEATURES)
    keys = total(mask[i, j], j)
    z = total(mask[i, j] * tokens[j, c], j) / keys + (tokens[i, c] if path.residual else 0)
    gradient = pooling[i] * loss_gradient[c] * (1 + 2 * bend[c] * z)
    return lambda place, sample: value(gradient, model, {i: place[0], c: place[1]}, sample)


def with_kept_bits(model):
    """Every choice of kept tokens beside every sample, with its exact probability: 2^L times as many samples."""
    choices = list(itertools.product((0, 1), repeat=model.token_count))
    odds = [(1 - RATIO) ** sum(bits) * RATIO ** (len(bits) - sum(bits)) for bits in choices]
    weights = [w * p for w in model.weights for p in odds]

    def of_sample(entry):
        return lambda place, sample=None: entry(place, None if sample is None else sample // len(choices))

    made = Model(model.token_count, model.token_width, weights, {k: of_sample(e) for k, e in model.entries.items()})
    made.cls = model.cls
    return made.with_entries({kept: lambda place, sample: Fraction(choices[sample % len(choices)][place[0]])})


def witnessed(model, witness):
    """The model with tensors replaced by witness laws, in their order."""
    for tensor, law in witness.items():
        model = model.with_entries({tensor: _law(tensor, law, model)})
    return model


def fixed_names(model):
    return {cls_position: model.cls}


def _law(tensor, law, model):
    formal = tensor.formal_indices()
    return lambda place, sample=None: value(law(*formal), model, dict(zip(formal, place, strict=True)))


def _mask(kind, size, rng):
    ring = kind is MaskKind.RING
    offsets = {rng.randrange(size), *(k for k in range(size) if rng.random() < 0.5)} if ring else set()

    def entry(i, j):
        if kind is MaskKind.FULL:
            return 1
        if ring:
            return int((j - i) % size in offsets)
        if kind is MaskKind.DIAGONAL:
            return int(i != j)
        return int(i == j or rng.random() < 0.5)

    held = {(i, j): Fraction(entry(i, j)) for i in range(size) for j in range(size)}
    if kind is MaskKind.ANY:  # every row keeps a key, but not always its own
        for i in range(size):
            if sum(held[i, j] for j in range(size)) > 1 and rng.random() < 0.5:
                held[i, i] = Fraction(0)
    return lambda place, sample=None: held[place]


def _pooling(kind, size, cls, rng):
    raw = {
        PoolingKind.MEAN: [Fraction(1)] * size,
        PoolingKind.CLS: [Fraction(int(i == cls)) for i in range(size)],
        PoolingKind.ANY: [Fraction(rng.randint(1, 5)) for _ in range(size)],
    }[kind]
    held = [r / sum(raw) for r in raw]
    return lambda place, sample=None: held[place[0]]


def _pattern(hypotheses, model, rng):
    """A random combination of a basis of the patterns that satisfy every constraint."""
    places = list(itertools.product(range(model.token_count), repeat=2))
    columns = []
    for unit in places:
        basis = model.with_entries(**{"Δ": lambda place, sample=None, unit=unit: Fraction(int(place == unit))})
        columns.append(
            [value(h.expression, basis, names) for h in hypotheses for names in placements(list(h.free), basis)]
        )
    held = dict.fromkeys(places, Fraction(0))
    for vector in _null_space([list(row) for row in zip(*columns, strict=True)], len(places)):
        weight = Fraction(rng.randint(1, 9), rng.randint(1, 3)) * rng.choice((-1, 1))
        for place, entry in zip(places, vector, strict=True):
            held[place] += weight * entry
    return lambda place, sample=None: held[place]


def _null_space(rows, width_):
    """A basis of the vectors that every row annihilates, by Gauss–Jordan elimination."""
    pivots: list[int] = []
    for column in range(width_):
        rank = len(pivots)
        found = next((n for n in range(rank, len(rows)) if rows[n][column]), None)
        if found is None:
            continue
        rows[rank], rows[found] = rows[found], rows[rank]
        rows[rank] = [entry / rows[rank][column] for entry in rows[rank]]
        for n, row in enumerate(rows):
            if n != rank and row[column]:
                rows[n] = [a - row[column] * b for a, b in zip(row, rows[rank], strict=True)]
        pivots.append(column)
    basis = []
    for free in (c for c in range(width_) if c not in pivots):
        vector = [Fraction(int(c == free)) for c in range(width_)]
        for row, pivot in zip(rows, pivots, strict=False):
            vector[pivot] = -row[free]
        basis.append(vector)
    return basis
