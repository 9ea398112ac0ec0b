"""How much of the centred second moment lies off its diagonal: what other positions say about one.

The plain estimate would read noise as structure (independent tokens give L / (N + L), not 0), so that products of
*different* sequences are averaged: with ``A_n`` the off-diagonal part of ``J X_n X_n' J``, the squared norm of its mean
is estimated by the mean of ``<A_n, A_m>`` over n != m.  The interval is the delta method on the projections of these
means.
"""

from __future__ import annotations

import numpy as np
import scipy.stats

from numerics.audit.intervals import LEVEL, Estimate, undefined
from numerics.audit.sequences import Sequences

#: Rows of at most this many sequences' features: their Gram matrix takes 32 MiB.
MOST_ROWS = 2048
LEAST_SEQUENCES = 4


def off_diagonal_energy(sequences: Sequences) -> Estimate:
    """Share of the energy of JCJ off its diagonal, without bias from noise; it may come out slightly negative.

    About 1 for strongly correlated positions, 0 for independent ones.  Uses the first sequences whose rows fit.
    """
    a_row = min(sequences.width, sequences.length) if sequences.symbolic else sequences.width
    used = min(sequences.count, max(LEAST_SEQUENCES, MOST_ROWS // a_row))
    if used < LEAST_SEQUENCES:
        return undefined(f"needs at least {LEAST_SEQUENCES} sequences, got {sequences.count}")
    # Spread over the file, because files are often sorted by class.
    chunk = sequences.chunk(np.linspace(0, sequences.count - 1, used).astype(np.int64))
    starts = chunk.layout.starts
    centred = chunk.rows - chunk.rows.mean(axis=1, keepdims=True)
    gram = np.add.reduceat(np.add.reduceat((centred @ centred.T) ** 2, starts, axis=0), starts, axis=1)
    energies = np.add.reduceat(centred**2, starts, axis=0)
    diagonal = energies @ energies.T

    def projections(products: np.ndarray) -> np.ndarray:
        return np.asarray((products.sum(axis=1) - np.diag(products)) / (used - 1))

    off, whole = projections(gram - diagonal), projections(gram)
    if not whole.mean() > 1e-12 * np.diag(gram).mean():
        return undefined("the positions of a sequence do not vary around their mean")
    share = float(off.mean() / whole.mean())
    influence = 2 * (off - share * whole) / whole.mean()
    width = float(scipy.stats.t.ppf((1 + LEVEL) / 2, used - 1) * influence.std(ddof=1) / used**0.5)
    return Estimate(share, share - width, share + width, f"delta method over pairs of {used} sequences")
