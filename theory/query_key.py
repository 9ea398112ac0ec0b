"""Scores made from tokens by a query-key matrix: ``s_ij = alpha x_i' M x_j``, at M = 0; values are the tokens.

The definition is that of :mod:`theory.objectives` along scores that depend on the tokens; lemmas are derived anew.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from theory.derivation import Derivation, Lemma
from theory.objectives import PATHS, Path
from theory.objects import another, centring, key_count, loss_gradient, mask, pooling, tokens
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    Index,
    Rule,
    Tensor,
    definition_rule,
    index,
    length,
    total,
)

#: Query-key matrix: the direction in which M = 0 is left; queries index its rows.
bilinear = Tensor("M", (FEATURES, FEATURES))
#: Query and key weights with s_ij = (W_Q x_i)·(W_K x_j), inner width padded to the token width, and a direction.
query_weights = Tensor("Q", (FEATURES, FEATURES), tex="W_Q")
key_weights = Tensor("K", (FEATURES, FEATURES), tex="W_K")
direction = Tensor("D", (FEATURES, FEATURES))
#: Position vectors, padded to the token width (rows of P).
places = Tensor("P", (POSITIONS, FEATURES))


def bilinear_form(rows: Tensor, i: Index, j: Index) -> sp.Expr:
    """``rows_i' M rows_j``."""
    c = another(FEATURES)
    e = another(FEATURES, c)
    return total(rows[i, c] * bilinear[c, e] * rows[j, e], c, e)


#: T_ij = x_i' M x_j.
token_scores = Tensor("T", (POSITIONS, POSITIONS), random=True, definition=lambda i, j: bilinear_form(tokens, i, j))


def _centred_scores(i: Index, j: Index) -> sp.Expr:
    k = another(POSITIONS, i, j)
    mean = total(mask[i, k] * token_scores[i, k], k) / key_count[i]
    return mask[i, j] * (token_scores[i, j] - mean)


#: The same, centred along each row within the mask.
centred_scores = Tensor("T̄", (POSITIONS, POSITIONS), tex=r"\bar{T}", random=True, definition=_centred_scores)


def _mean_token(c: Index) -> sp.Expr:
    j = another(POSITIONS)
    return total(tokens[j, c], j) / length


#: Mean token of a sequence.
mean_token = Tensor("x̄", (FEATURES,), tex=r"\bar{x}", random=True, definition=_mean_token)


def _covariance(c: Index, e: Index) -> sp.Expr:
    j, k = another(POSITIONS), another(POSITIONS, another(POSITIONS))
    return total(tokens[j, c] * centring[j, k] * tokens[k, e], j, k) / length


#: Covariance of the tokens within a sequence.
token_covariance = Tensor(
    "Σ̂", (FEATURES, FEATURES), tex=r"\hat{\Sigma}", random=True, symmetric=True, definition=_covariance
)

#: K = P P', the positional kernel.
kernel = Tensor(
    "PPᵀ", (POSITIONS, POSITIONS), tex="(PP^{\\top})", symmetric=True,
    definition=lambda i, j: total(places[i, (c := another(FEATURES))] * places[j, c], c),
)  # fmt: skip

QUERY_KEY_PATH = Path(token_scores, "M")
PATHS["M"] = QUERY_KEY_PATH

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)
_count_keys = Rule("Σ m = n", total(mask[_i, _k], _k), key_count[_i])


@cache
def softmax_value() -> Lemma:
    """Attention at M = 0 is uniform over the mask."""
    attention = QUERY_KEY_PATH.attention
    chain = Derivation(attention(_i, _j).unfold()).at_zero().rewrite(mask[_i, _j] / key_count[_i], _count_keys)
    return Lemma("query-key-value", "Attention at M = 0 is uniform", attention(_i, _j, at=0), chain)


@cache
def softmax_slope() -> Lemma:
    """a'_ij(0): the centred scores over n_i."""
    attention = QUERY_KEY_PATH.attention
    chain = Derivation(attention(_i, _j).unfold()).differentiate().at_zero()
    chain.rewrite(centred_scores[_i, _j] / key_count[_i], _count_keys, definition_rule(centred_scores))
    return Lemma("query-key-slope", "Slope of attention in M", attention(_i, _j, at=0, order=1), chain)


@cache
def output_value() -> Lemma:
    """o_ic(0): the mean token over the keys of query i."""
    output = QUERY_KEY_PATH.output
    chain = Derivation(output(_i, _c).unfold()).at_zero().cite(softmax_value())
    chain.rewrite(total(mask[_i, _k] * tokens[_k, _c], _k) / key_count[_i])
    return Lemma("query-key-output-value", "Outputs at M = 0", output(_i, _c, at=0), chain, ("query-key-value",))


@cache
def output_slope() -> Lemma:
    """o'_ic(0)."""
    output = QUERY_KEY_PATH.output
    chain = Derivation(output(_i, _c).unfold()).differentiate().at_zero().cite(softmax_slope())
    chain.rewrite(total(centred_scores[_i, _j] * tokens[_j, _c], _j) / key_count[_i])
    title = "Slope of the outputs in M"
    return Lemma("query-key-output-slope", title, output(_i, _c, at=0, order=1), chain, ("query-key-slope",))


@cache
def pooled_slope() -> Lemma:
    """h'_c(0)."""
    pooled = QUERY_KEY_PATH.pooled
    chain = Derivation(pooled(_c).unfold()).differentiate().at_zero().cite(output_slope())
    chain.rewrite(total(pooling[_i] * total(centred_scores[_i, _j] * tokens[_j, _c], _j) / key_count[_i], _i))
    title = "Slope of the pooled vector in M"
    return Lemma("query-key-pooled-slope", title, pooled(_c, at=0, order=1), chain, ("query-key-output-slope",))


@cache
def loss_gradient_name() -> Lemma:
    """g names the gradient of the loss at h(0), which is the same vector as on the path of section 5."""
    chain = Derivation(loss_gradient[_c], note="g names the gradient of the loss at h(0)")
    slope = QUERY_KEY_PATH.loss_slope(_c, at=0)
    return Lemma("query-key-loss-gradient", "Name of the loss gradient at M = 0", slope, chain)


def supervised_slope() -> Derivation:
    """Slope of the label loss along M, for any mask and pooling."""
    chain = Derivation(QUERY_KEY_PATH.supervised(), note="L_sup(α), scores α x_i'M x_j").differentiate().at_zero()
    return chain.cite(loss_gradient_name(), pooled_slope()).rewrite(GENERAL_SUPERVISED)


def reconstruction_slope() -> Derivation:
    """Slope of the reconstruction loss along M, for any mask."""
    output = QUERY_KEY_PATH.output
    chain = Derivation(QUERY_KEY_PATH.reconstruction(), note="L_SPT(α), scores α x_i'M x_j").differentiate()
    push = (output(_i, _c) - tokens[_i, _c]) * output(_i, _c, order=1)
    chain.rewrite(total(Expectation(total(push, _c)), _i) / length)
    return chain.at_zero().cite(output_value(), output_slope()).rewrite(GENERAL_RECONSTRUCTION)


_moved = total(centred_scores[_i, _j] * tokens[_j, _c], _j) / key_count[_i]
_mean_key = total(mask[_i, _k] * tokens[_k, _c], _k) / key_count[_i]
GENERAL_SUPERVISED = Expectation(total(loss_gradient[_c] * total(pooling[_i] * _moved, _i), _c))
GENERAL_RECONSTRUCTION = total(Expectation(total((_mean_key - tokens[_i, _c]) * _moved, _c)), _i) / length

#: What x̄, Σ̂ and the scores stand for.
definitions = tuple(
    definition_rule(tensor) for tensor in (centred_scores, token_scores, mean_token, token_covariance, centring)
)

LEMMAS = (softmax_value, softmax_slope, output_value, output_slope, pooled_slope)
