"""The toy task: what the paper fixes, and the property that makes it a test of attention."""

import pytest
import torch

from numerics.errors import InputError
from training.data.trajectory import ANCHORS, TrajectoryTask
from training.randomness import generator

DATA = TrajectoryTask(seed=5, unlabeled=1000).load()


def labels_of(split):
    assert split.labels is not None
    return split.labels


def test_splits_have_the_sizes_of_section_4_and_the_same_seed_gives_the_same_data():
    assert [len(split) for split in (DATA.train, DATA.validation, DATA.test, DATA.unlabeled)] == [100, 200, 400, 1000]
    assert TrajectoryTask().unlabeled == 12_000
    assert DATA.train.tokens.shape == (100, 100, 2)
    again = TrajectoryTask(seed=5, unlabeled=1000).load()
    assert torch.equal(again.unlabeled.tokens, DATA.unlabeled.tokens)
    assert not torch.equal(TrajectoryTask(seed=6, unlabeled=1000).load().test.tokens, DATA.test.tokens)
    assert DATA.unlabeled.labels is None


def test_held_out_labels_are_balanced_and_true_and_fifteen_training_labels_are_flipped():
    assert int(labels_of(DATA.validation).sum()) == 100
    assert torch.equal(labels_of(DATA.test), torch.arange(400) % 2)
    assert int((labels_of(DATA.train) != torch.arange(100) % 2).sum()) == 15


def test_the_label_is_a_second_order_statistic_that_a_mean_hardly_shows():
    tokens, labels = DATA.test.tokens, labels_of(DATA.test)
    product = (tokens[..., 0] * tokens[..., 1]).mean(1)
    assert float(((product < 0) == (labels == 1)).double().mean()) > 0.97
    mean = torch.cat([tokens.mean(1), torch.ones(400, 1)], 1)
    fitted = torch.linalg.lstsq(mean[::2], labels[::2, None] - 0.5).solution
    guess = (mean[1::2] @ fitted)[:, 0] > 0
    assert float((guess == (labels[1::2] == 1)).double().mean()) < 0.85


def test_a_clean_orbit_stays_on_its_ellipse():
    """Without noise and outliers a trajectory is the axis point plus the amplitude along the normal."""
    task = TrajectoryTask(noise=0.0, most_outliers=0, train=2, validation=2, test=2, unlabeled=2)
    labels = torch.tensor([0, 1])
    tokens = task.trajectories(labels, generator(0, "test")).double()
    start, end = torch.tensor(ANCHORS, dtype=torch.float64)[labels].unbind(1)
    centred = tokens - ((start + end) / 2)[:, None]
    axis = (end - start) / 2
    along = (centred * axis[:, None]).sum(2) / axis.square().sum(1)[:, None]
    across = centred - along[..., None] * axis[:, None]
    sine = (1 - along.square()).clamp(min=0).sqrt()
    amplitude = across.norm(dim=2).amax(1)
    assert bool(((amplitude > 0.115) & (amplitude < 0.281)).all())
    torch.testing.assert_close(across.norm(dim=2), amplitude[:, None] * sine, rtol=0, atol=0.01)


def test_outliers_are_at_most_three_and_uniformly_many():
    quiet = TrajectoryTask(noise=0.0, most_outliers=0)
    loud = TrajectoryTask(noise=0.0)
    labels = torch.zeros(4000, dtype=torch.long)
    difference = loud.trajectories(labels, generator(1, "x")) - quiet.trajectories(labels, generator(1, "x"))
    counts = (difference.abs().sum(2) > 0).sum(1).bincount(minlength=4)
    assert len(counts) == 4
    assert bool(((counts - 1000).abs() < 5 * (4000 * 0.25 * 0.75) ** 0.5).all())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"label_flip": 0.5}, "label_flip must lie in"),
        ({"length": 1}, "at least 2"),
        ({"train": 0}, "at least 2"),
        ({"most_outliers": 200}, "must fit into a sequence"),
    ],
)
def test_impossible_tasks_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        TrajectoryTask(**changes)
