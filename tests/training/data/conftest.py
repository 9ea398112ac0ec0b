"""Where the tests of data sets read and write: never into the real data folder."""

import pytest


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("SPT_DATA", str(folder))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    return folder


@pytest.fixture
def real_data(spt_data, tmp_path, monkeypatch):
    """The real data folder, with prepared arrays elsewhere."""
    monkeypatch.setenv("SPT_DATA", str(spt_data))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    return spt_data
