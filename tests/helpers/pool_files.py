"""Files for tests of `assay check` and `assay pool`: runs of formulas and documents, an index, manifests, protocols."""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.cli.main import main
from assay.protocols.schema import Protocol
from tests.helpers.runs import BROKEN, GOOD, run_bytes

TASK_2 = ["--protocol", "arqmath-2021-task2"]
TREC = ["--protocol", "trec-adhoc"]

# id, post, thread, type, visual id: 1 and 2 look the same, so do 3, 4 and 6; 5 is in a comment
INDEX = """id\tpost_id\tthread_id\ttype\tvisual_id\tformula
1\t11\t10\tanswer\t100\tx+1
2\t12\t10\tanswer\t100\tx + 1
3\t21\t20\tanswer\t200\ty^2
4\t20\t20\tquestion\t200\ty^{2}
5\t21\t20\tcomment\t300\tz
6\t31\t30\tanswer\t200\ty^2
"""
RUNS = {
    "a.tsv": ["B.1 1 11", "B.1 2 12", "B.1 3 21", "B.2 6 31", "B.2 4 20"],
    "b.tsv": ["B.1 5 21", "B.1 4 20", "B.2 1 11"],
}


def write_run_files(tmp_path: Path) -> Path:
    """Four runs for ARQMath's Task 1, of which one has an error and one comes from Windows, topics and a manifest."""
    (tmp_path / "good.tsv").write_bytes(GOOD)
    (tmp_path / "windows.tsv.gz").write_bytes(gzip.compress(GOOD.replace(b"\n", b"\r\n")))
    (tmp_path / "bad.tsv").write_bytes(BROKEN["score NaN"].make())
    (tmp_path / "other.tsv").write_bytes(run_bytes(first=102, tag="run-2"))
    (tmp_path / "topics.txt").write_text("A.1\nA.2\nA.3\nA.4\n")
    (tmp_path / "m.csv").write_text(
        "file,team,tag,kind\ngood.tsv,one,run-1,primary\nother.tsv,two,run-2,alternate\n"
    )
    return tmp_path


def write_formula_files(tmp_path: Path) -> Path:
    """Two runs of formulas, their index and a manifest."""
    (tmp_path / "index.tsv").write_text(INDEX)
    for name, lines in RUNS.items():
        rows = [line.split() for line in lines]
        text = "".join(
            f"{topic}\t{formula}\t{post}\t{rank}\t{1 / rank}\t{name[0]}\n"
            for rank, (topic, formula, post) in enumerate(rows, 1)
        )
        (tmp_path / name).write_text(text)
    (tmp_path / "m.csv").write_text("file,team,tag,kind\na.tsv,one,a,primary\nb.tsv,two,b,alternate\n")
    return tmp_path


def pool(folder: Path, *options: str, protocol: list[str] = TASK_2) -> int:
    manifest, out = str(folder / "m.csv"), str(folder / "pool.tsv")
    return main(["pool", *protocol, "--runs", manifest, "--seed", "7", "--output", out, *options])


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def trec_run(path: Path, tag: str, ranking: dict[str, list[str]]) -> None:
    path.write_text(
        "".join(
            f"{topic} Q0 {docno} {rank} {100 - rank} {tag}\n"
            for topic, docnos in ranking.items()
            for rank, docno in enumerate(docnos, 1)
        )
    )


def write_trec_files(tmp_path: Path) -> Path:
    """Two runs of documents, and a manifest of the early one."""
    trec_run(tmp_path / "early.txt", "early", {"1": ["a", "b"], "2": ["c"]})
    trec_run(tmp_path / "late.txt", "late", {"1": ["b", "d"], "2": ["c", "e"]})
    (tmp_path / "m.csv").write_text("file,team,tag,kind\nearly.txt,one,early,primary\n")
    return tmp_path


def add_the_late_run(folder: Path) -> None:
    with (folder / "m.csv").open("a") as file:
        file.write("late.txt,two,late,primary\n")


def with_depths(protocol: Protocol, depths: Mapping[str, int]) -> Protocol:
    """The protocol in which only the kinds of `depths` are pooled, and no kind as another one."""
    kinds = tuple(
        replace(kind, depth=depths.get(kind.key), pooled_as="", pooled_as_by_tag={})
        for kind in protocol.runs.kinds
    )
    return replace(protocol, runs=replace(protocol.runs, kinds=kinds))
