"""Buckets: every sequence once, the usual batch sizes, at most half the padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.data.buckets import bucketed_batches, padded_tokens
from training.data.listops import ListOpsTask
from training.randomness import generator


def unbucketed(lengths, steps):
    return list(torch.randperm(len(lengths), generator=generator(0, "order", 0)).tensor_split(steps))


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=300),
    st.integers(1, 40),
    st.integers(1, 7),
    st.integers(0, 3),
)
def test_every_sequence_is_seen_once_in_batches_of_the_usual_sizes(lengths, steps, window, epoch):
    given_lengths = torch.tensor(lengths)
    steps = min(steps, len(lengths))
    batches = bucketed_batches(given_lengths, steps, seed=3, epoch=epoch, window=window)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    sizes = sorted(len(batch) for batch in batches)
    assert sizes == sorted(len(batch) for batch in unbucketed(given_lengths, steps))
    again = bucketed_batches(given_lengths, steps, seed=3, epoch=epoch, window=window)
    assert all(torch.equal(one, two) for one, two in zip(batches, again, strict=True))


def test_epochs_differ_and_batches_are_not_in_order_of_length():
    lengths = torch.arange(1, 401)
    first, second = (bucketed_batches(lengths, 20, seed=0, epoch=epoch) for epoch in (0, 1))
    assert not all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
    longest = [int(lengths[batch].max()) for batch in first]
    assert longest != sorted(longest)


def test_a_law_of_lengths_like_reviews_needs_less_than_half_the_padding():
    normal = torch.randn(4000, generator=torch.Generator().manual_seed(0))
    lengths = (0.6 * normal + 6.9).exp().clamp(10, 2048).int()
    steps = 4000 // 32
    plain, bucketed = unbucketed(lengths, steps), bucketed_batches(lengths, steps, seed=0, epoch=0)
    assert padded_tokens(lengths, plain) >= 2 * padded_tokens(lengths, bucketed)


def test_pairs_are_sorted_by_their_longer_text():
    lengths = torch.tensor([[1, 9], [2, 2], [8, 1], [3, 1]])
    batches = bucketed_batches(lengths, 2, seed=0, epoch=0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0, 2], [1, 3]]
    assert padded_tokens(lengths, batches) == 4 * 9 + 4 * 3 - 27


@pytest.mark.parametrize("source", ["release", "nangia-bowman"])
def test_real_listops_need_less_than_half_the_padding(source, real_data):
    lengths = ListOpsTask(source=source).load().train.lengths
    steps = len(lengths) // 32
    plain, bucketed = unbucketed(lengths, steps), bucketed_batches(lengths, steps, seed=0, epoch=0)
    assert padded_tokens(lengths, plain) >= 2 * padded_tokens(lengths, bucketed)
