"""Small files for the commands of analysis, and how their output is read."""

from pathlib import Path

import pytest

from assay.cli.main import main

Tables = dict[str, list[dict[str, str]]]
PROTOCOL = ["--protocol", "arqmath-2020-task1"]


def small_files(tmp_path: Path) -> Path:
    """Qrels of three topics; a good run, a poor one, one of two topics."""
    (tmp_path / "qrels.txt").write_text(
        "A.1 0 10 3\nA.1 0 11 0\nA.1 0 12 2\nA.10 0 10 2\nA.10 0 11 1\nA.2 0 10 0\nA.2 0 12 2\n"
    )
    rankings = {
        "good": ("10 12 11", "A.1 A.10 A.2"),
        "poor": ("11 10 12", "A.1 A.10 A.2"),
        "short": ("12 10", "A.1 A.2"),
    }
    for name, (documents, topics) in rankings.items():
        lines = [
            f"{topic}\t{docno}\t{rank}\t{10 - rank}\t{name}\n"
            for topic in topics.split()
            for rank, docno in enumerate(documents.split(), 1)
        ]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    (tmp_path / "runs.csv").write_text(
        "file,team,tag,kind\ngood.tsv,Ours,good,primary\npoor.tsv,Theirs,poor,primary\nshort.tsv,Ours,short,alternate\n"
    )
    return tmp_path


def qrels(folder: Path) -> list[str]:
    return [*PROTOCOL, "--qrels", str(folder / "qrels.txt")]


def read(output: str) -> Tables:
    """The tables of a text output, each by name."""
    tables: Tables = {}
    for part in output.split("\n\n"):
        title, header, *rows = part.rstrip("\n").split("\n")
        name = title.removeprefix("# ").partition(":")[0]
        tables[name] = [dict(zip(header.split("\t"), row.split("\t"), strict=True)) for row in rows]
    return tables


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> Tables:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return read(captured.out)
