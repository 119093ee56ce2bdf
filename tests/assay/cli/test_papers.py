"""The commands that print tables of papers, on small files, and on the real runs and qrels of 2020."""

from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from tests.helpers.real_files import KNOWN, KNOWN_OVER_ALL_JUDGED
from tests.helpers.score_files import ask


def tracks_file(folder: Path, *lines: str, more: str = "") -> str:
    path = folder / "tracks.toml"
    own = ['name = "Ours & theirs"', 'protocol = "arqmath-2020-task1"', *lines]
    path.write_text("\n".join(["[[track]]", *own, more]))
    return str(path)


FILES = ('runs = "runs.csv"', 'qrels = "qrels.txt"', 'labels = "labels.csv"', 'teams = "teams.csv"')


@pytest.fixture
def tracks(folder: Path) -> str:
    (folder / "labels.csv").write_text("topic,category\nA.1,proof\nA.10,concept\nA.2,proof\nA.99,proof\n")
    (folder / "teams.csv").write_text("team,organization\nOurs,Universität\n")
    return tracks_file(folder, *FILES)


def test_tables_of_an_overview_come_from_files(tracks: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ask(capsys, "tables", "--measure", "RR", tracks)

    assert list(tables) == ["runs", "participants", "topics", "results"]
    assert tables["participants"][0] == {"Team": "Ours", "Organization": "Universität", "Ours & theirs": "2"}
    assert [row["Category"] for row in tables["topics"]] == ["All topics", "Concept", "Proof"]
    assert [(row["team"], row["Run"], row["RR"]) for row in tables["results"]] == [
        ("Ours", "good", "0.8333"), ("Ours", "short", "0.6667"), ("Theirs", "poor", "0.6111")
    ]  # fmt: skip


def test_tables_are_stored_as_latex_and_csv(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tables", "--output", str(folder / "out"), "--digits", "3", tracks]) == 0

    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "participants.csv", "participants.tex", "results.csv", "results.tex", "runs.csv", "runs.tex", "topics.csv",
        "topics.tex",
    ]  # fmt: skip
    assert r"Ours \& theirs, 3 topics" in (folder / "out" / "results.tex").read_text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['color = "red"'], "track 1: unknown key 'color'; use"),
        (['name = ""'], "not TOML: Cannot overwrite a value"),
        (["documents = -1"], "track 1: documents: expected a whole number from 0, got -1"),
        (["runs = 3"], "track 1: runs: expected text, got 3"),
        (["formulas = [1]"], "track 1: formulas: expected a path, or a list of paths, got [1]"),
        (['[track.groups]\ngraduate = ["a"]'], "track 1: groups: expected a table of group = path"),
        (['[other]\na = "b"'], "expected one [[track]] for each track; got other"),
        (['[[track]]\nname = "a"'], "track 2: protocol is missing"),
        (['[[track]]\nname = "Ours & theirs"\nprotocol = "trec-adhoc"'], "two tracks have the name 'Ours & theirs'"),
        (['teams = "qrels.txt"'], "qrels.txt: line 1: expected the columns team and organization"),
        (['runs = "none.csv"'], "none.csv: No such file or directory"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], lines: list[str], message: str
) -> None:
    assert main(["tables", tracks_file(folder, *lines)]) == 2

    assert message in capsys.readouterr().err


def test_real_runs_have_their_known_values(
    data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = data / "arqmath"
    rows = [f"{real / 'runs' / name},team {n},run-{n},primary" for n, name in enumerate(KNOWN)]
    (folder / "runs.csv").write_text("\n".join(["file,team,tag,kind", *rows]) + "\n")
    lines = (
        'runs = "runs.csv"',
        f"qrels = '{real / 'qrels' / 'qrels.arqmath-2020-task1.txt'}'",
        f"topics = '{real / 'topics' / 'topics.arqmath-2020-task1-origin.xml'}'",
        f"labels = '{real / 'task1_2020_topic_info.json'}'",
    )

    tables = ask(capsys, "tables", tracks_file(folder, *lines))

    for n, name in enumerate(KNOWN):
        if name != "prim_Approach0.tsv":  # it has 76 of the 77 topics
            (row,) = [row for row in tables["results"] if row["Run"] == f"run-{n}"]
            values = KNOWN_OVER_ALL_JUDGED.get(name, KNOWN[name])
            assert tuple(row[measure] for measure in ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'")) == values
    counted = {(row["label"], row["Category"]): row["Assessed"] for row in tables["topics"]}
    assert (counted["", "All topics"], counted["TopicType", "Proof"], counted["Dependence", "Text"]) == (
        "77",
        "41",
        "13",
    )


def test_collections_are_compared_from_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formulas = samples.path("tracks.toml")

    tables = ask(capsys, "collections", "--measure", "AP(rel=2)'", str(formulas))

    assert [row["Run"] for row in tables["instances"]] == [
        "Lemma: trees", "Abacus: strings", "Kendall's tau with instances"
    ]  # fmt: skip
    assert tables["instances"][0]["AP(rel=2)': instances"] == "0.9167"
    assert [(row["collection"], row["Units"]) for row in tables["units"]][1:] == [
        ("Formulas", "visually distinct formulas"), ("Formulas", "instances")
    ]  # fmt: skip
    assert tables["complexity"][0]["Topics"] == "computation – concept"

    assert main(["collections", "--label", "difficulty", "--output", str(folder / "out"), str(formulas)]) == 0
    assert "Relevant units of a topic by difficulty" in (folder / "out" / "figure-relevant.svg").read_text()


def test_real_collections_have_their_known_units_and_values(
    data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run = (
        data / "ntcir" / "qrels.ntcir12-math-browsing-concrete.txt",
        "TangentCFT_ntcir12_wikiformula.txt.gz",
    )
    (folder / "runs.csv").write_text(f"file,team,tag,kind\n{data / 'ntcir' / run},RIT,TangentCFT,primary\n")
    lines = [line.split() for line in qrels.read_text().splitlines()]
    (folder / "strict.txt").write_text(
        "".join(f"{topic} 0 {docno} {2 if float(grade) > 3 else 0}\n" for topic, _, docno, grade in lines)
    )
    arqmath = data / "arqmath" / "qrels"
    (folder / "tracks.toml").write_text(f"""
[[track]]
name = "NTCIR-12"
protocol = "ntcir-12-wikipedia"
runs = "runs.csv"
qrels = '{qrels}'
groups = {{ strict = "strict.txt" }}
[[track]]
name = "ARQMath-1"
protocol = "arqmath-2020-task1"
qrels = '{arqmath / "qrels.arqmath-2020-task1.txt"}'
[[track]]
name = "ARQMath-2"
protocol = "arqmath-2021-task1"
qrels = '{arqmath / "qrels.arqmath-2021-task1-official.txt"}'
""")

    tables = ask(
        capsys,
        "collections",
        "--measure",
        "bpref(rel=3)",
        "--measure",
        "bpref(rel=1)",
        str(folder / "tracks.toml"),
    )

    (row, _) = tables["groups"]
    assert (row["bpref(rel=3): all judgments"], row["bpref: all judgments"]) == ("0.5963", "0.7134")
    units = {row["Units"] if row["Units"] == "strict" else row["collection"]: row for row in tables["units"]}
    assert (units["ARQMath-1"]["Topics"], units["ARQMath-1"]["Judged: Total"]) == ("77", "39124")
    assert (units["ARQMath-2"]["Topics"], units["ARQMath-2"]["Judged: Mean"]) == ("71", "447.7")
    n_strict = sum(float(grade) > 3 for *_, grade in lines)
    assert units["strict"]["Relevant: Total"] == str(n_strict), (
        "a grade of 2 by one group counts as 4 of both"
    )


def test_a_run_without_judged_documents_is_named(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "poor.tsv").write_text("A.1\tx\t1\t1\tpoor\n")

    assert main(["tables", "--table", "results", tracks]) == 0

    assert "warning: Ours & theirs: poor: none of its documents is judged" in capsys.readouterr().err
