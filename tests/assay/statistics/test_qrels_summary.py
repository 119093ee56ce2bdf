from pathlib import Path

from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.statistics.qrels_summary import Spread, grades_by_topic, n_from, summarize_qrels
from assay.tables import plain
from tests.helpers.real_files import real_qrels


def test_units_are_counted_by_topic() -> None:
    qrels = parse_qrels(b"B.1 0 a 3\nB.1 0 b 1\nB.1 0 c -1\nB.2 0 a 2\n")

    counts = grades_by_topic(qrels)

    assert counts == {"B.1": {-1: 1, 1: 1, 3: 1}, "B.2": {2: 1}}
    assert [n_from(counts["B.1"], level) for level in (-1, 0, 2)] == [2, 2, 1]
    assert summarize_qrels(qrels, level=2) == (2, Spread(1, 2, 1.5, 3), Spread(1, 1, 1.0, 2))
    assert plain(summarize_qrels(qrels, level=2))["judged"] == {
        "minimum": 1, "maximum": 2, "mean": 1.5, "total": 3
    }  # fmt: skip


def test_empty_qrels_have_no_units() -> None:
    assert summarize_qrels(columns_from([]), level=1) == (0, Spread(0, 0, 0.0, 0), Spread(0, 0, 0.0, 0))


def test_real_qrels_of_2020_have_their_published_size(data: Path) -> None:
    counts = summarize_qrels(parse_qrels(real_qrels(data).read_bytes()), level=2)

    assert (counts.n_topics, counts.judged.total) == (77, 39_124)
    assert round(counts.judged.mean, 1) == 508.1


def test_formulas_of_2021_have_their_published_size(data: Path) -> None:
    official = data / "arqmath" / "qrels" / "qrels.arqmath-2021-task2-official.txt"

    counts = summarize_qrels(parse_qrels(official.read_bytes()), level=2)

    assert (counts.n_topics, counts.judged.total, counts.relevant.minimum) == (58, 8108, 3)
