"""`assay collection`: each option has an effect, and unusable input is refused in one line."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.formulas import latexml
from tests.helpers.dumps import dump, plain_rows, question, write

Captured = pytest.CaptureFixture[str]
SAMPLES = samples.path("topics.txt").parent
PERIODS = ["--until", "2018", "--topics-until", "2019"]


def run(tmp_path: Path, *options: str, source: str = "dump") -> int:
    return main(["collection", "build", str(SAMPLES / source), "--output", str(tmp_path / "built"), *options])


def counts(captured: Captured) -> dict[str, tuple[str, str]]:
    """The printed numbers: of the source, and of the collection."""
    rows = csv.reader(io.StringIO(captured.readouterr().out), delimiter="\t")
    return {name: (before, after) for name, before, after in rows}


def test_build_prints_numbers_of_source_and_collection(tmp_path: Path, capsys: Captured) -> None:
    status = run(tmp_path, *PERIODS)

    printed = counts(capsys)
    assert status == 0
    assert (printed["questions"], printed["formulas"], printed["candidates"]) == (
        ("6", "3"),
        ("", "15"),
        ("", "2"),
    )
    assert json.loads((tmp_path / "built/manifest.json").read_text())["after"]["questions"] == 3


@pytest.mark.parametrize(
    ("options", "questions", "candidates"),
    [
        ([], 6, None),
        (["--until", "2018"], 3, 2),
        (["--until", "2018", "--topics-from", "2019-07"], 3, 1),
        (["--until", "2018", "--topics-until", "2019-07"], 3, 1),
        (["--from", "2018"], 5, None),
        (["--until", "2018", "--no-formulas"], 3, 3),
    ],
)
def test_options_of_dates_choose_posts_and_candidates(
    tmp_path: Path, capsys: Captured, options: list[str], questions: int, candidates: int | None
) -> None:
    run(tmp_path, *options)

    path = tmp_path / "built/private/candidates.jsonl"
    assert counts(capsys)["questions"][1] == str(questions)
    assert (len(path.read_text().splitlines()) if path.exists() else None) == candidates


def test_options_leave_out_pages_and_formulas(tmp_path: Path) -> None:
    run(tmp_path, "--no-pages", "--no-formulas", "--quiet")

    names = {path.name for path in (tmp_path / "built").iterdir()}
    assert names == {"collection", "private", "manifest.json"}
    assert "math-container" not in (tmp_path / "built/collection/Posts.xml").read_text()


@pytest.mark.parametrize(("overlap", "n"), [("0.5", 1), ("0.95", 2)])
def test_duplicates_of_documents_are_left_out_by_their_overlap(tmp_path: Path, overlap: str, n: int) -> None:
    text = "a long text about owls and their nests in the old harbor of the town"
    rows = [json.dumps({"docno": f"{n}", "text": text + end}) for n, end in enumerate((" today", " now"))]
    source = write(tmp_path, "documents.jsonl", "\n".join(rows))
    command = [
        "collection",
        "build",
        str(source),
        "--output",
        str(tmp_path / "built"),
        "--duplicates",
        "near",
    ]

    main([*command, "--overlap", overlap, "--quiet"])

    assert len((tmp_path / "built/collection/posts.jsonl").read_text().splitlines()) == n


@pytest.mark.parametrize("n", ["1", "2"])
def test_processes_do_not_change_the_output(tmp_path: Path, n: str) -> None:
    run(tmp_path, *PERIODS, "--processes", n, "--quiet")

    index = (tmp_path / "built/formulas/latex/15.tsv").read_text().splitlines()
    assert index[1].split("\t")[:4] == ["15", "8", "7", "answer"]


def leaks(tmp_path: Path, *options: str) -> int:
    topics = str(SAMPLES / "dump-topics.xml")
    return main(["collection", "leaks", str(tmp_path / "built"), "--topics", topics, *options])


def test_leaks_are_printed_and_kept_until_they_are_removed(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, *PERIODS, "--quiet")

    status = leaks(tmp_path)

    out, err = capsys.readouterr()
    assert status == 1
    assert "A.2\tmention\t8\t7" in out
    assert "mention: 1\n" in err
    assert (tmp_path / "built/private/leaks.tsv").read_text() == out
    decision = write(
        tmp_path, "decision.tsv", "".join(line for line in out.splitlines(True) if "near" not in line)
    )
    assert leaks(tmp_path, "--remove", str(decision), "--quiet") == 0
    out, err = capsys.readouterr()
    assert "A.2\tmention\t8\t7\t\tyes" in out
    assert err == ""
    assert [post["Id"] for post in plain_rows(tmp_path / "built/collection/Posts.xml")] == ["4", "5", "7"]


def test_mathml_of_removed_posts_is_deleted_and_converted_again(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, *PERIODS, "--quiet")
    built, decision = tmp_path / "built", write(tmp_path, "decision.tsv", "7\n")
    convert = ["collection", "convert", str(built), "--converter", "latex2mathml", "--quiet"]
    main(convert)
    before = mathml_of(built)

    leaks(tmp_path, "--remove", str(decision))
    removed = mathml_of(built)
    main(convert)

    assert "7" in before
    assert removed == {}
    assert mathml_of(built) == {post: rows for post, rows in before.items() if post not in {"7", "8"}}
    assert "the MathML is deleted: convert it again with assay collection convert" in capsys.readouterr().err


def mathml_of(built: Path) -> dict[str, list[str]]:
    """The converted formulas of each post of an index."""
    posts: dict[str, list[str]] = {}
    for path in sorted((built / "formulas/slt").glob("*.tsv"), key=lambda path: int(path.stem)):
        for line in path.read_text().splitlines()[1:]:
            posts.setdefault(line.split("\t")[1], []).append(line)
    return posts


def test_overlap_of_leaks_is_an_option(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, *PERIODS, "--quiet")

    leaks(tmp_path, "--overlap", "0.95")

    assert "near-duplicate" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--until", "2016"],
            "Nothing of the source is in the period of the collection (until 2016-12-31): its ",
        ),
        (["--until", "x"], "--until: 'x' is not a date"),
        (["--until", "2019", "--topics-from", "2018"], "overlap"),
    ],
)
def test_impossible_builds_are_refused_in_one_line(
    tmp_path: Path, capsys: Captured, options: list[str], reason: str
) -> None:
    status = run(tmp_path, *options)

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("assay collection build: ")
    assert reason in err
    assert err.count("\n") == 1


def test_broken_dump_is_refused_with_its_line(tmp_path: Path, capsys: Captured) -> None:
    path = write(tmp_path, "Posts.xml", dump("posts", question(1), question(2)).replace('Id="2"', "Id=2"))

    status = main(["collection", "build", str(path), "--output", str(tmp_path / "built")])

    assert status == 2
    assert "Posts.xml, line 4 " in capsys.readouterr().err


def test_leaks_of_a_folder_that_is_not_built_are_refused(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "built").mkdir()

    assert leaks(tmp_path) == 2
    assert "is not the output of a build" in capsys.readouterr().err


def test_convert_writes_mathml_next_to_the_latex(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, *PERIODS)
    capsys.readouterr()

    status = main(["collection", "convert", str(tmp_path / "built"), "--converter", "latex2mathml"])

    out, err = capsys.readouterr()
    assert (status, out) == (0, "")
    assert re.fullmatch(r"15 formulas by latex2mathml [\d.]+: 0 without SLT\n", err)
    latex, slt = (
        {f.name for f in (tmp_path / "built" / "formulas" / form).iterdir()} for form in ("latex", "slt")
    )
    assert latex == slt


def test_convert_makes_the_index_of_topics_and_may_share_a_cache(tmp_path: Path, capsys: Captured) -> None:
    topics, cache = str(SAMPLES / "dump-topics.xml"), tmp_path / "shared.sqlite"
    options = ["--converter", "latex2mathml", "--cache", str(cache), "--quiet"]

    for name in ("first", "second"):
        assert main(["collection", "convert", topics, "--output", str(tmp_path / name), *options]) == 0

    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == [
        "converter.txt",
        "failures",
        "latex",
        "slt",
    ]
    strings = [(tmp_path / name / "slt" / "dump-topics.tsv").read_bytes() for name in ("first", "second")]
    assert strings[0] == strings[1]
    assert b"<msup>" in strings[0] or b"<msqrt>" in strings[0]


def test_convert_refuses_topics_without_a_place_and_a_missing_program(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["collection", "convert", str(SAMPLES / "dump-topics.xml")]) == 2
    assert "--output is missing" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    latexml.version.cache_clear()
    assert main(["collection", "convert", str(tmp_path), "--converter", "latexml"]) == 2
    assert "apt-get install latexml" in capsys.readouterr().err
