"""Generated sets against third-party ones by stated two-sample tests, which see laws that are slightly off."""

import numpy as np
import pytest

from training.data.listops import read_source
from training.data.listops_generator import ListOpsLaw, rows
from training.data.pathfinder import LEVELS, DataError, read_image
from training.data.pathfinder_generator import PathFinderLaw, image
from training.data.pathfinder_metadata import read_metadata
from training.data.tables import named_columns
from training.data.two_sample import alike, compare, listops_statistics, pathfinder_statistics


def listops_made(**law):
    made = rows(ListOpsLaw(train=298, validation=1, test=1, **law))
    return listops_statistics([(tokens, value) for _, tokens, value in made])


@pytest.fixture(scope="module")
def listops_third(spt_data):
    files = [spt_data / f"listops/listops-1000/basic_{part}.tsv" for part in ("train", "val", "test")]
    read = [row for file in files for _, row in named_columns(file, ("Source", "Target"))]
    return listops_statistics([(read_source(source), int(target)) for source, target in read])


@pytest.mark.slow
def test_generated_listops_are_like_those_of_the_lra_generator(listops_third):
    found = compare(listops_made(), listops_third)
    assert {"label", "length", "depth", "mean digit"} < {item.statistic for item in found}
    assert alike(found), found


@pytest.mark.slow
@pytest.mark.parametrize("law", [{"most_arguments": 9}, {"operator_share": 0.28}, {"greatest_depth": 9}])
def test_a_listops_law_slightly_off_is_seen(law, listops_third):
    assert not alike(compare(listops_made(**law), listops_third))


def pathfinder_third(spt_data, contour_length):
    level = spt_data / "pathfinder32" / LEVELS[contour_length]
    pixels, labels = [], []
    for path, label in read_metadata(level):
        try:
            pixels.append(read_image(level / path, 32))
            labels.append(label)
        except DataError:
            assert path.endswith("sample_172.png")
    return pathfinder_statistics(np.stack(pixels), np.array(labels))


def pathfinder_made(contour_length, count):
    made = [image(PathFinderLaw(contour_length=contour_length), number) for number in range(count)]
    return pathfinder_statistics(np.stack([pixels for pixels, _ in made]), np.array([label for _, label in made]))


@pytest.mark.slow
@pytest.mark.parametrize(("contour_length", "count"), [(14, 60), (9, 100), (6, 150)])
def test_generated_images_are_like_those_of_the_original_generator(contour_length, count, spt_data):
    found = compare(pathfinder_made(contour_length, count), pathfinder_third(spt_data, contour_length))
    assert {item.statistic for item in found} == {
        "label",
        "ink",
        "path length",
        "bright pixels",
        "border ink",
        "dot distance",
    }
    assert alike(found), found


@pytest.mark.slow
def test_another_contour_length_and_more_distractors_are_seen(spt_data, monkeypatch):
    third = pathfinder_third(spt_data, 9)
    assert not alike(compare(pathfinder_made(6, 60), third))
    monkeypatch.setattr("training.data.pathfinder_generator._DISTRACTOR_TRIES", 30)
    assert not alike(compare(pathfinder_made(9, 60), third))
