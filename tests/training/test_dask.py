"""The dask backend makes the same runs as local processes; where the extra ``cluster`` is missing, it says so."""

import importlib.util

import pytest

from numerics.errors import InputError
from tests.training.small import labels
from training.sweep import sweep


@pytest.mark.filterwarnings("ignore")  # dask's own, of closing its cluster
def test_a_local_dask_cluster_writes_the_same_curves_as_one_process(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    runs = [labels(epochs=2, seed=seed) for seed in range(2)]
    here = sweep(runs, tmp_path / "here")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        there = sweep(runs, tmp_path / "there", jobs=2, backend="dask")
    for one, other in zip(here, there, strict=True):
        assert (one.folder / "epochs.csv").read_bytes() == (other.folder / "epochs.csv").read_bytes()
        assert (one.folder / "steps.csv").read_bytes() == (other.folder / "steps.csv").read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("distributed") is not None, reason="the extra cluster is installed")
def test_without_the_extra_the_backend_says_how_to_get_it(tmp_path):
    with pytest.raises(InputError, match=r"pip install 'attention-blindness\[cluster\]'"):
        sweep([labels(epochs=1)], tmp_path, jobs=2, backend="dask")
