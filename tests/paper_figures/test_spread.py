"""Bars show the 95 % interval from six seeds on; of fewer, the seeds themselves."""

import pytest

from paper_figures.spread import bars_said, spread
from training.predictions.statistics import mean_interval

VALUES = [0.5, 0.52, 0.6, 0.55, 0.51, 0.53]


def test_a_bar_of_six_seeds_is_their_interval_and_of_five_their_range():
    six, five = spread(VALUES), spread(VALUES[:5])
    mean, low, high = mean_interval(VALUES)
    assert six.reach == pytest.approx((mean - low, high - mean))
    assert five.reach == pytest.approx((five.mean - 0.5, 0.6 - five.mean))
    assert five.reach[0] != pytest.approx(five.reach[1]), "a range is not symmetric"
    assert spread([0.5]).reach == (0.0, 0.0)


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ([], ""),
        ([1], "single seeds"),
        ([1, 5], "bars: least and greatest of 5 seeds"),
        ([6], "bars: 95 % interval over 6 seeds"),
        ([6, 2], "bars: 95 % interval over 6 seeds; least and greatest of 2 seeds"),
    ],
)
def test_a_picture_says_what_its_bars_are(seeds, said):
    assert bars_said([None, *(spread(VALUES[:count]) for count in seeds)]) == said
