"""Files of labs that no shipped protocol is for: their topics and qrels are read as they are; through commands."""

import json
from pathlib import Path

import pytest

from assay.cli.main import main

PROTOCOL = ["--protocol", "trec-adhoc"]
RUN = "covid Q0 d1 1 2 r\ncovid Q0 d2 2 1 r\n"
QRELS = {
    "beir": "query-id\tcorpus-id\tscore\ncovid\td1\t0\ncovid\td2\t1\n",
    "unknown document": "topic\t0\ttweet_id\trelevance\ncovid\t0\td1\t0\ncovid\t0\td2\t1\n",
    "csv": "Label,Doc-ID,qid\n0,d1,covid\n1,d2,covid\n",
}
TOPICS = {
    "lines": "covid\tvaccine title\n",
    "table": 'topic_id\ttopic_title\tdescription\ncovid\t"Covid"\tAll of it\n',
    "csv": 'id,query\ncovid,"a, b"\n',
    "beir": '{"_id": "covid", "text": "vaccines"}\n',
    "numbers": '{"qid": 7, "query": "x"}\n{"topic_id": "covid", "query": "y"}\n',
}


def run_of(folder: Path) -> str:
    path = folder / "r.txt"
    path.write_text(RUN)
    return str(path)


@pytest.mark.parametrize("form", QRELS)
def test_qrels_under_usual_names_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    (tmp_path / "qrels").write_text(QRELS[form])
    options = ["--qrels", str(tmp_path / "qrels"), "--measure", "RR", "--format", "json", "--quiet"]

    status = main(["evaluate", *PROTOCOL, *options, run_of(tmp_path)])

    assert (status, json.loads(capsys.readouterr().out)[0]["value"]) == (0, 0.5)


def test_header_that_names_no_fields_is_refused_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text("query 0 document level\ncovid 0 d1 1\n")

    status = main(["evaluate", *PROTOCOL, "--qrels", str(tmp_path / "qrels"), run_of(tmp_path)])

    assert status == 2
    assert "line 1: the line looks like a header, but does not name topic, docno" in capsys.readouterr().err


@pytest.mark.parametrize("form", TOPICS)
def test_topics_under_usual_names_are_those_that_runs_may_contain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    (tmp_path / "topics").write_text(TOPICS[form])

    status = main(["check", *PROTOCOL, "--topics", str(tmp_path / "topics"), run_of(tmp_path)])

    assert status == 0
    n_missing = {"numbers": 1}.get(form, 0)
    assert capsys.readouterr().out.count("no line for 1 of 2 topics: 7") == n_missing
