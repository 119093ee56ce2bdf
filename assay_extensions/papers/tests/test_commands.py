"""The commands that print tables of papers, on small files, and on the real runs and qrels of 2020."""

import json
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from tests.helpers.real_files import KNOWN, KNOWN_OVER_ALL_JUDGED
from tests.helpers.score_files import ask, read


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

    assert list(tables) == ["runs", "participants", "topics", "results"], (
        "without a baseline, there are no gains"
    )
    assert tables["participants"][0] == {"Team": "Ours", "Organization": "Universität", "Ours & theirs": "2"}
    assert [row["Category"] for row in tables["topics"]] == ["All topics", "Concept", "Proof"]
    assert [(row["team"], row["Run"], row["RR"]) for row in tables["results"]] == [
        ("Ours", "good", "0.8333"), ("Ours", "short", "0.6667"), ("Theirs", "poor", "0.6111")
    ]  # fmt: skip


def test_table_of_teams_of_a_spreadsheet_is_read_and_a_damaged_one_refused_with_its_line(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teams = "# teams\nsep=;\nTeam;Organization\nOurs;Universität, Abteilung\n"
    (folder / "teams.csv").write_bytes(teams.encode("cp1252"))
    assert main(["tables", "--measure", "RR", "--table", "participants", tracks]) == 0
    output = capsys.readouterr()
    assert "Universität, Abteilung" in output.out
    assert "line 4 is not UTF-8" in output.err
    (folder / "teams.csv").write_text('team,organization\n"Ours"x,Universität\nTheirs,U\n')

    assert main(["tables", "--output", str(folder / "out"), tracks]) == 2

    assert "teams.csv: line 2: not a row of a table: ',' expected after '\"'" in capsys.readouterr().err


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


def test_near_duplicates_inherit_the_grade_and_groups_have_topics_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "poor.tsv").write_text("A.1\t13\t1\t9\tpoor\n")
    (folder / "same.tsv").write_text("topic\tdocno\tjudged\nA.1\t13\t10\n")
    (folder / "students.txt").write_text("A.1 0 13 3\n")
    lines = ('duplicates = "same.tsv"', 'groups = { students = "students.txt" }')
    given = tracks_file(folder, 'runs = "runs.csv"', 'qrels = "qrels.txt"', *lines)

    rows = ask(capsys, "collections", "--measure", "RR", given)["groups"]

    means = {row["Run"]: (row["RR: all judgments"], row["RR: students"]) for row in rows}
    assert means["Theirs: poor"] == ("0.3333", "1.0000")
    assert means["Topics"] == ("3", "1")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['color = "red"'], "tracks.toml: line 4: track[1].color: unknown key; allowed here: documents, duplicates"),
        (['name = ""'], "not TOML: Cannot overwrite a value"),
        (["documents = -1"], "line 4: track[1].documents: -1 is below 0"),
        (["runs = 3"], "line 4: track[1].runs: expected a string, got 3"),
        (["formulas = [1]"], "line 4: track[1].formulas[1]: expected a string, got 1"),
        (['[track.groups]\ngraduate = ["a"]'], "track[1].groups.graduate: expected a string, got ['a']"),
        (['[other]\na = "b"'], "other: unknown key; allowed here: track"),
        (['[[track]]\nname = "a"'], "line 4: track[2].protocol: missing; this key is required"),
        (
            ['[[track]]\nname = "Ours & theirs"\nprotocol = "trec-adhoc"'],
            "line 5: track[2].name: two tracks have the name 'Ours & theirs'",
        ),
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
        "Lemma: trees", "Abacus: strings", "Kendall's tau with instances", "AP correlation with instances"
    ]  # fmt: skip
    assert tables["instances"][0]["AP(rel=2)': instances"] == "0.9167"
    assert [(row["collection"], row["Units"]) for row in tables["units"]][1:] == [
        ("Answers", "marek"), ("Formulas", "visually distinct formulas"), ("Formulas", "instances")
    ]  # fmt: skip
    assert tables["complexity"][2]["Topics"] == "computation – concept"

    assert main(["collections", "--label", "color", str(formulas)]) == 2
    assert "--label color: no topic has it; the labels are category, difficulty" in capsys.readouterr().err
    assert main(["collections", "--label", "difficulty", "--output", str(folder / "out"), str(formulas)]) == 0
    assert "Relevant units of a topic by difficulty" in (folder / "out" / "figure-relevant.svg").read_text()


def test_pool_of_the_file_has_its_depths_and_its_units_that_are_judged_in_part(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [{"kind": "primary", "depth": depth} for depth in (9, 8)] + [{"kind": "alternate", "depth": 3}]
    (folder / "pool.tsv.json").write_text(
        json.dumps({"n": 5843, "members": {"n": 9000, "partly": 93}, "runs": runs})
    )
    given = tracks_file(folder, 'pool = "pool.tsv.json"')

    ours, sample = (
        ask(capsys, "collections", file)["judging"] for file in (given, str(samples.path("tracks.toml")))
    )

    rows = {row["Rule"]: row for row in ours}
    assert rows["Judged in part"]["Ours & theirs"] == "93 of 5,843 units (1.6 %)"
    assert rows["Pool depth"]["Ours & theirs"] == "primary 9, alternate 3"
    rows = {row["Rule"]: row for row in sample}
    assert (rows["Judged in part"]["Answers"], rows["Judged in part"]["Formulas"]) == (
        "–",
        "0 of 13 units (0.0 %)",
    )
    assert (rows["Pool depth"]["Answers"], rows["Pool depth"]["Formulas"]) == (
        "primary 50, alternate 20", "primary 20, alternate 10",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B.1 7 1\n", "not the record of a pool, which `assay pool` writes next to its output as FILE.json"),
        ("[1]", "not the record of a pool"),
        ('{"runs": 3}', "not the record of a pool"),
        ('{"runs": [{"kind": "primary", "depth": "deep"}]}', "not the record of a pool"),
        ('{"runs": [{"kind": "primary", "depth": 1e999}]}', "not the record of a pool"),
        ('{"runs": [{"kind": {}, "depth": 1}]}', "not the record of a pool"),
        ('{"n": "x", "runs": [], "members": {"partly": 3}}', "not the record of a pool"),
        ("[" * 9999, "not the record of a pool"),
        ('{"runs": [{"kind": "phase2", "depth": 3}]}', "pool of phase2 runs, of which arqmath-2020-task1 has no depth"),
    ],
)  # fmt: skip
def test_wrong_records_of_pools_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (folder / "pool.tsv.json").write_text(text)

    assert main(["collections", tracks_file(folder, 'pool = "pool.tsv.json"')]) == 2

    captured = capsys.readouterr()
    assert (captured.out, f"pool.tsv.json: {message}" in captured.err) == ("", True), captured.err


def test_real_collections_have_their_known_units_and_values(
    data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Correlations and gaps are those of the values of pytrec_eval, relevant answers those that the labs counted."""
    real, ntcir = data / "arqmath", data / "ntcir"
    qrels = ntcir / "qrels.ntcir12-math-browsing-concrete.txt"
    graded = [line.split() for line in qrels.read_text().splitlines()]
    (folder / "strict.txt").write_text(
        "".join(f"{topic} 0 {docno} {2 if float(grade) > 3 else 0}\n" for topic, _, docno, grade in graded)
    )
    runs = [f"{real / 'runs' / name},team {n},run-{n},primary" for n, name in enumerate(KNOWN)]
    (folder / "answers.csv").write_text("\n".join(["file,team,tag,kind", *runs]) + "\n")
    wiki = ntcir / "TangentCFT_ntcir12_wikiformula.txt.gz"
    (folder / "runs.csv").write_text(f"file,team,tag,kind\n{wiki},RIT,TangentCFT,primary\n")
    (folder / "tracks.toml").write_text(f"""
[[track]]
name = "2020"
protocol = "arqmath-2020-task1"
runs = "answers.csv"
labels = '{real / "task1_2020_topic_info.json"}'
qrels = '{real / "qrels" / "qrels.arqmath-2020-task1.txt"}'
[[track]]
name = "2021"
protocol = "arqmath-2021-task1"
labels = '{real / "task1_2021_topic_info.json"}'
qrels = '{real / "qrels" / "qrels.arqmath-2021-task1-official.txt"}'
[[track]]
name = "NTCIR-12"
protocol = "ntcir-12-wikipedia"
runs = "runs.csv"
qrels = '{qrels}'
groups = {{ strict = "strict.txt" }}
[[track]]
name = "2020 formulas"
protocol = "arqmath-2020-task2"
qrels = '{real / "qrels" / "qrels.arqmath-2020-task2-visual_ids.txt"}'
[[track]]
name = "2021 formulas"
protocol = "arqmath-2021-task2"
qrels = '{real / "qrels" / "qrels.arqmath-2021-task2-official.txt"}'
""")
    measures = ("--measure", "nDCG'", "--measure", "bpref(rel=3)", "--measure", "bpref(rel=1)")

    tables = ask(capsys, "collections", "--label", "difficulty", *measures, str(folder / "tracks.toml"))

    (row,) = tables["groups"]
    assert row["nDCG': all judgments"] == "0.8598", "the paper's 0.86 of Tangent-CFT over instances"
    assert (row["bpref(rel=3): all judgments"], row["bpref: all judgments"]) == ("0.5963", "0.7134")
    units = {row["Units"] if row["Units"] == "strict" else row["collection"]: row for row in tables["units"]}
    counted = {
        name: (row["Topics"], row["Judged: Total"], row["Judged: Mean"]) for name, row in units.items()
    }
    assert counted == {
        "2020": ("77", "39124", "508.1"), "2021": ("71", "31788", "447.7"),
        "NTCIR-12": ("20", "1202", "60.1"), "strict": ("20", "1202", "60.1"),
        "2020 formulas": ("74", "10575", "142.9"), "2021 formulas": ("58", "8108", "139.8"),
    }  # fmt: skip
    n_strict = sum(float(grade) > 3 for *_, grade in graded)
    assert units["strict"]["Relevant: Total"] == str(n_strict), "2 by one group counts as 4 of both"
    statistics: dict[str, list[str]] = {}
    for row in tables["complexity"]:
        statistics.setdefault(row["statistic"], []).append(row["2020: nDCG'"])
    del statistics["AP correlation"], statistics["Mean places moved"]
    assert statistics == {
        "Ranked": ["6", "6"],
        "Kendall's tau": ["0.6000", "0.7333", "0.8667"],
        "Swapped pairs of runs": ["3", "2", "1"],  # of 15
        "Mean gap between neighbors": ["0.0682", "0.0673", "0.0786", "0.0712"],
    }
    assert [(row["Topics"], row["2020: Relevant"], row["2021: Relevant"]) for row in tables["relevant"]] == [
        ("Low", "", "34.3"), ("easy", "23.1", ""), ("medium", "23.8", "23.8"), ("High", "", "20.4"),
        ("hard", "23.5", ""),
    ]  # fmt: skip


def test_table_5_has_the_numbers_of_the_paper(
    data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every number of the paper that can be computed from the files. Splits are train and test, or kinds of queries."""
    official = data / "arqmath" / "qrels"
    wiki = data / "ntcir" / "qrels.ntcir12-math-browsing-wildcards.txt"
    of_lab = {
        line.split()[0] for line in (official / "qrels.arqmath-2020-task2.txt").read_text().splitlines()
    }
    kinds = {f"NTCIR12-MathWiki-{n}": "concrete" if n <= 20 else "wildcard" for n in range(1, 41)}
    both = official / "qrels.arqmath-2020-task2-visual_ids.txt"
    rounds = {
        code: "Test" if code in of_lab else "Train"
        for code in (line.split()[0] for line in both.read_text().splitlines())
    }
    for name, splits in {"kinds": kinds, "rounds": rounds}.items():
        lines = [f"{code},{split}" for code, split in splits.items()]
        (folder / f"{name}.csv").write_text("\n".join(["topic,Split", *lines]))
    (folder / "tracks.toml").write_text(f"""
[[track]]
name = "NTCIR-12"
protocol = "ntcir-12-wikipedia"
labels = "kinds.csv"
qrels = '{wiki}'
[[track]]
name = "ARQMath-1"
protocol = "arqmath-2020-task2"
labels = "rounds.csv"
qrels = '{both}'
[[track]]
name = "ARQMath-2"
protocol = "arqmath-2021-task2"
qrels = '{official / "qrels.arqmath-2021-task2-official.txt"}'
""")

    units = ask(capsys, "collections", "--level", "1", str(folder / "tracks.toml"))["units"]

    columns = [f"{of}: {part}" for of in ("Judged", "Relevant") for part in ("Min", "Max", "Mean")]
    assert {row["collection"]: (row["Topics"], *(row[name] for name in columns)) for row in units} == {
        "NTCIR-12, concrete": ("20", "30", "90", "60.1", "14", "89", "41.1"),
        "NTCIR-12, wildcard": ("20", "48", "107", "74.3", "12", "80", "50.9"),
        "ARQMath-1, test": ("45", "113", "163", "143.0", "6", "81", "31.0"),
        "ARQMath-1, train": ("29", "108", "167", "142.7", "2", "81", "29.1"),
        "ARQMath-2": ("58", "98", "189", "139.8", "6", "115", "53.4"),
    }
    strict = ask(capsys, "collections", str(folder / "tracks.toml"))["units"]
    assert strict[-1]["Relevant: Mean"] == "30.9", "High and Medium, as the overview of ARQMath-2 counts"


def test_first_hits_that_are_not_relevant_are_counted(
    tracks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """First are 10, 10, 10 of good, 11, 11, 11 of poor, and 12, 12 of short, which lacks a topic."""
    strict = ask(capsys, "collections", tracks)["first"]
    lenient = ask(capsys, "collections", "--level", "1", tracks)["first"]

    first, of_all = "First judged hit: Not relevant", "First hit: Not relevant"
    names = ("Run", "Topics", first, of_all, "First hit: Not judged or missing")
    assert [tuple(row[name] for name in names) for row in strict] == [
        ("Ours: short", "3", "0", "0", "1"), ("Ours: good", "3", "1", "1", "0"), ("Theirs: poor", "3", "3", "2", "1")
    ]  # fmt: skip
    assert [row[of_all] for row in lenient] == ["0", "1", "1"]


def test_unjudged_first_hits_give_way_to_the_first_judged_one(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first hit of A.1 is not judged, and its second one not relevant; that of A.10 is relevant at rank 2."""
    (folder / "poor.tsv").write_text("A.1\tnew\t1\t9\tpoor\nA.1\t11\t2\t8\tpoor\nA.10\tnew\t1\t9\tpoor\n")
    with (folder / "poor.tsv").open("a") as file:
        file.write("A.10\t10\t2\t8\tpoor\n")

    first = ask(capsys, "collections", tracks)["first"]

    (row,) = [row for row in first if row["Run"] == "Theirs: poor"]
    assert row["First judged hit: Not relevant"] == "1"
    assert (row["First hit: Not relevant"], row["First hit: Not judged or missing"]) == ("0", "3")


def test_agreement_and_examples_come_from_judgments(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ana.csv").write_text(
        "topic,docno,assessor,grade,comment\nA.1,10,ana,3,the same\nA.1,11,ana,0,\nA.2,10,ana,2,\nA.2,11,ana,0,no\n"
    )
    (folder / "ben.csv").write_text("topic,docno,assessor,grade\nA.1,10,ben,3\nA.1,11,ben,1\nA.2,10,ben,0\n")
    with Path(tracks).open("a") as file:
        file.write('judgments = ["ana.csv", "ben.csv"]\n')

    tables = ask(capsys, "collections", tracks)
    other = ask(capsys, "collections", "--topic", "A.2", tracks)

    (row,) = tables["agreement"]
    (pair,) = ask(
        capsys,
        "agreement",
        "--protocol",
        "arqmath-2020-task1",
        *map(str, (folder / "ana.csv", folder / "ben.csv")),
    )["pairs"]
    assert (row["Assessors"], row["Units judged twice"]) == ("2", "3")
    assert (row["Kappa: All grades"], row["Kappa: Relevant or not"]) == (pair["kappa"], pair["kappa_two_way"])
    assert [tuple(row.values()) for row in tables["examples"]] == [
        ("Ours & theirs, A.1", "High", "10", "", "the same")
    ]
    assert [row["Comment"] for row in other["examples"]] == ["no"]


def test_formulas_with_several_judged_instances_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    judging = ask(capsys, "collections", str(samples.path("tracks.toml")))["judging"]

    (row,) = [row for row in judging if row["Rule"] == "Several instances judged"]
    assert row["Answers"] == "–"
    assert row["Formulas"].endswith(" %)")


def test_groups_are_compared_over_instances_and_over_distinct_formulas(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run finds the relevant instance second, and its formula first: the two instances are one formula."""
    (folder / "run.txt").write_text("N-1 Q0 a:1 1 3 one\nN-1 Q0 b:2 2 2 one\nN-1 Q0 c:3 3 1 one\n")
    (folder / "runs.csv").write_text("file,team,tag,kind\nrun.txt,Ours,one,primary\n")
    (folder / "both.txt").write_text("N-1 0 a:1 0\nN-1 0 b:2 4\nN-1 0 c:3 0\nN-1 0 d:4 1\n")
    (folder / "students.txt").write_text("N-1 0 a:1 0\nN-1 0 b:2 0\nN-1 0 c:3 2\n")
    (folder / "ids.tsv").write_text("formula_id\tvisual_id\na:1\t1\nb:2\t1\nc:3\t2\n")
    (folder / "tracks.toml").write_text("""
[[track]]
name = "WFB"
protocol = "ntcir-12-wikipedia"
runs = "runs.csv"
qrels = "both.txt"
groups = { students = "students.txt" }
formulas = "ids.tsv"
""")

    assert main(["collections", "--measure", "RR", str(folder / "tracks.toml")]) == 0

    captured = capsys.readouterr()
    tables = read(captured.out)
    assert [
        (row["collection"], row["Run"], row["RR: all judgments"], row["RR: students"])
        for row in tables["groups"]
    ] == [
        ("WFB, instances", "Ours: one", "0.5000", "0.3333"),
        ("WFB, distinct formulas", "Ours: one", "1.0000", "0.5000"),
    ]
    assert [(row["Units"], row["Judged: Total"]) for row in tables["units"]] == [
        ("formula instances", "4"), ("distinct formulas", "2"), ("students", "3")
    ]  # fmt: skip
    assert [(row["RR: instances"], row["RR: distinct formulas"]) for row in tables["instances"]] == [
        ("0.5000", "1.0000")
    ]
    assert "WFB: 1 of 4 judged instances have no visual id" in captured.err


@pytest.fixture
def formulas_of_2020(data: Path, folder: Path) -> str:
    """The real run of Task 2 of 2020, the judged instances, and the visual ids of 81,103 formulas."""
    real = data / "arqmath"
    (folder / "runs.csv").write_text(
        f"file,team,tag,kind\n{real / 'runs' / 'scm_ensemble-task2.tsv.gz'},MIRMU,SCM,primary\n"
    )
    (folder / "tracks.toml").write_text(f"""
[[track]]
name = "2020"
protocol = "arqmath-2020-task2"
runs = "runs.csv"
instances = '{real / "qrels" / "qrels.arqmath-2020-task2.txt"}'
formulas = '{real / "formulas" / "formula_id_visual_id.tsv.gz"}'
""")
    return str(folder / "tracks.toml")


def test_real_run_is_scored_over_instances_and_over_distinct_formulas(
    formulas_of_2020: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The qrels of distinct formulas are made from the instances. The values are those of pytrec_eval."""
    assert main(["collections", formulas_of_2020]) == 0

    captured = capsys.readouterr()
    tables = read(captured.out)
    assert tables["instances"] == [
        {
            "collection": "2020", "Run": "MIRMU: SCM",
            "nDCG': instances": "0.5237", "nDCG': distinct formulas": "0.5272",
            "AP(rel=2)': instances": "0.4234", "AP(rel=2)': distinct formulas": "0.4211",
            "P(rel=2)@10': instances": "0.2171", "P(rel=2)@10': distinct formulas": "0.1366",
            "bpref(rel=2): instances": "0.3884", "bpref(rel=2): distinct formulas": "0.3770",
        }
    ]  # fmt: skip
    assert [(row["Units"], row["Topics"], row["Judged: Total"]) for row in tables["units"]] == [
        ("visually distinct formulas", "41", "155"), ("instances", "41", "235")
    ]  # fmt: skip
    assert captured.err == (
        "warning: 2020: 11,880 of 12,115 judged instances have no visual id, so they are in no distinct formula; "
        "the tables have the others\n"
    )


def test_visual_ids_of_other_numbering_are_reported(
    data: Path, formulas_of_2020: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The qrels of 2020 number the formulas of their pool from 1; the map has the ids of the whole collection."""
    qrels = data / "arqmath" / "qrels" / "qrels.arqmath-2020-task2-visual_ids.txt"
    with Path(formulas_of_2020).open("a") as file:
        file.write(f"qrels = '{qrels}'\n")

    assert main(["collections", formulas_of_2020]) == 0

    captured = capsys.readouterr()
    assert "instances" not in read(captured.out)
    assert captured.err == (
        "warning: 2020: SCM: none of its documents is judged, every value is 0; for topic B.1, the run has 772301, the "
        "qrels have 1; 730 of its 85,000 formulas have a visual id: 506 different ids; the qrels have 9,926, of which "
        "18 are in the run, for other topics; check that both number formulas alike\n"
    )


def test_a_run_without_judged_documents_is_named(
    tracks: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "poor.tsv").write_text("A.1\tx\t1\t1\tpoor\n")

    assert main(["tables", "--table", "results", tracks]) == 0

    assert "warning: Ours & theirs: poor: none of its documents is judged" in capsys.readouterr().err
