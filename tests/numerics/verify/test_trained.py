"""The grade ``trained`` reads kept verdicts, and only while their records are unchanged."""

import hashlib
import json

import pytest

from numerics.verify.records import Status
from numerics.verify.trained import trained


def _write(folder, *verdicts, content="{}"):
    (folder / "toy.json").write_text(content)
    digest = hashlib.sha256(b"{}").hexdigest()
    rows = [
        {"id": f"p{n}", "claims": ["P1"], "verdict": verdict, "records": [{"path": "toy.json", "sha256": digest}]}
        for n, verdict in enumerate(verdicts)
    ]
    (folder / "verdicts.json").write_text(json.dumps({"schema_version": 1, "verdicts": rows}))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["confirmed"], Status.PASSED),
        (["confirmed", "inconclusive"], Status.INCONCLUSIVE),
        (["confirmed", "inconclusive", "contradicted"], Status.FAILED),
        (["not run"], Status.NOT_RUN),
        ([], Status.NOT_RUN),
    ],
)
def test_the_worst_verdict_about_a_claim_counts(tmp_path, verdicts, status):
    _write(tmp_path, *verdicts)
    assert trained("P1", tmp_path).status is status
    assert trained("G2", tmp_path).status is Status.NOT_RUN


def test_a_changed_record_reads_as_not_run(tmp_path):
    _write(tmp_path, "confirmed", content='{"changed": true}')
    evidence = trained("P1", tmp_path)
    assert evidence.status is Status.NOT_RUN
    assert "changed" in evidence.summary


@pytest.mark.parametrize("content", ["", "[]", '{"verdicts": [{}]}', '{"verdicts": 3}'])
def test_a_broken_file_reads_as_not_run(tmp_path, content):
    (tmp_path / "verdicts.json").write_text(content)
    assert trained("P1", tmp_path).status is Status.NOT_RUN
