"""Keys of a protocol that concern runs and pools change what `assay check` and `assay pool` do.

Each test gives a command two protocol files that differ in one key.
"""

from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.protocols.loader import shipped_text
from tests.helpers.extensions import other_packages
from tests.helpers.form_runs import bolt_run
from tests.helpers.pool_files import lines_of, pool, trec_run, write_formula_files

TREC = "".join(f"1 Q0 d{n} {n} {9 - n} ours\n" for n in range(1, 4)).encode()
FROM_0 = "".join(f"1 Q0 d{n} {n} {9 - n} ours\n" for n in range(3)).encode()
FORMULA_RUN = "B.1\t1\t11\t1\t9\tc\nB.1\t2\t12\t2\t8\tc\nB.1\t6\t31\t3\t7\tc\nB.1\t3\t21\t8\t6\tc\n"


def with_change(folder: Path, slug: str, old: str, new: str) -> str:
    """The path of a copy of a shipped protocol with one change."""
    text = shipped_text(slug)
    assert text.count(old) == 1, f"{slug} has {old!r} {text.count(old)} times"
    path = folder / "changed.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("slug", "old", "new", "run", "message"),
    [
        ("ntcir-10-math", "max_ranks = 100", "max_ranks = 2", TREC, "At most 2 formulas per topic"),
        ("trec-adhoc", 'formats = ["trec-6"]', 'formats = ["arqmath-5"]', TREC, "columns"),
        (
            "trec-adhoc",
            "max_ranks = 1000",
            'max_ranks = 1000\nout_of_range_ranks = "error"',
            FROM_0,
            "error: line 1: the rank is outside 1 to 1,000",
        ),
        *(
            ("trec-adhoc", "max_ranks = 1000", f"max_ranks = 1000\n{key}", TREC, message)
            for key, message in (
                ("max_tag = 3", "has 4 characters\n      accepted: Tags of at most 3."),
                ('second_column = "Q1"', "the second column is “Q0”\n      accepted: Q1."),
            )
        ),
        ("bolt-ir-p3", "min_score = 0", "min_score = 0.75", bolt_run(), "0.7"),
        ("bolt-ir-p3", "max_score = 1", "max_score = 0.85", bolt_run(), "0.9"),
        (
            "bolt-ir-p3",
            "max_passage_characters = 250",
            "max_passage_characters = 20",
            bolt_run(),
            "20 characters",
        ),
        (
            "bolt-ir-p3",
            'forbidden_fields = ["rel", "chksrc", "trans", "dialect"]',
            'forbidden_fields = ["score"]',
            bolt_run(),
            "score",
        ),
        (
            "bolt-ir-p3",
            'attributes = { subtask = ["citations"] }',
            'attributes = { eval = ["P3"], subtask = ["IR", "IR-E"] }',
            bolt_run(),
            "line 2: subtask “citations” is not accepted by the protocol",
        ),
    ],
    ids=[
        "max_ranks",
        "formats",
        "out_of_range_ranks",
        "max_tag",
        "second_column",
        "min_score",
        "max_score",
        "max_passage_characters",
        "forbidden_fields",
        "attributes",
    ],
)
def test_run_is_refused_by_the_key_and_accepted_without_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    slug: str,
    old: str,
    new: str,
    run: bytes,
    message: str,
) -> None:
    (tmp_path / "run").write_bytes(run)
    changed = with_change(tmp_path, slug, old, new)

    accepted = main(["check", "--protocol", slug, str(tmp_path / "run")])
    capsys.readouterr()
    refused = main(["check", "--protocol", changed, str(tmp_path / "run")])

    assert (accepted, refused) == (0, 1)
    assert message in capsys.readouterr().out


def test_naming_scheme_is_checked_but_does_not_keep_runs_from_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").write_bytes(TREC)
    (tmp_path / "m.csv").write_text("file,team,tag,kind\nrun,one,ours,primary\n")
    scheme = 'tag_pattern = "{team}-{kind}-{number}"'
    changed = with_change(tmp_path, "trec-adhoc", "max_ranks = 1000", f"max_ranks = 1000\n{scheme}")

    assert main(["check", "--protocol", changed, str(tmp_path / "run")]) == 1
    assert (
        "the tag “ours” does not follow the naming scheme\n"
        "      accepted: Tags of the form {team}-{kind}-{number}, such as Owls-primary-1."
    ) in capsys.readouterr().out
    assert main(["pool", "--seed", "1", "--runs", str(tmp_path / "m.csv"), "--protocol", changed]) == 0


@pytest.mark.parametrize(
    ("key", "run", "message"),
    [
        ('tag_characters = "-_"', TREC.replace(b"ours", b"o+s"), "Tags of letters, digits and - _."),
        ('tag_characters = ""', TREC.replace(b"ours", "\u00e9".encode()), "Tags of letters, digits."),
        ('missing_topics = "error"', TREC, "error: no line for 1 of 2 topics: 2"),
    ],
)
def test_tag_and_missing_topic_are_refused_by_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, run: bytes, message: str
) -> None:
    (tmp_path / "run").write_bytes(run)
    (tmp_path / "topics.txt").write_text("1\n2\n")
    changed = with_change(tmp_path, "trec-adhoc", "max_ranks = 1000", f"max_ranks = 1000\n{key}")
    options = ["--topics", str(tmp_path / "topics.txt"), str(tmp_path / "run")]

    (tmp_path / "m.csv").write_text("file,team,tag,kind\nrun,one,ours,primary\n")
    pool = ["pool", "--seed", "1", "--runs", str(tmp_path / "m.csv"), *options[:-1]]

    assert main(["check", "--protocol", "trec-adhoc", *options]) == 0
    capsys.readouterr()
    assert main(["check", "--protocol", changed, *options]) == 1
    assert message in capsys.readouterr().out
    assert main([*pool, "--protocol", changed]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--docnos", "docnos.txt"], "error: lines 2, 3: the document is not in the collection"),
        (["--docno-pattern", "d[12]"], "error: line 3: the document is not in the collection"),
        (["--docno-pattern", "d("], "--docno-pattern: 'd(' is not a regular expression"),
        (["--docnos", "docnos.txt", "--docno-pattern", "d"], "give --docnos or --docno-pattern, not both"),
    ],
)
def test_documents_are_checked_by_a_list_or_a_pattern(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_bytes(TREC)
    (tmp_path / "docnos.txt").write_text("\ufeffd1\r\n\nd9\r\n")

    assert main(["check", "--protocol", "trec-adhoc", *options, "run"]) in {1, 2}
    printed = capsys.readouterr()
    assert message in printed.out + printed.err


@pytest.mark.parametrize(("seconds", "status"), [("600", 0), ("10", 1)])
def test_seconds_of_a_topic_are_limited(tmp_path: Path, seconds: str, status: int) -> None:
    (tmp_path / "run").write_bytes(bolt_run())
    (tmp_path / "seconds.tsv").write_text("T1\t30\nT2\t30\n")
    protocol = with_change(
        tmp_path, "bolt-ir-p3", "max_seconds_per_topic = 600", f"max_seconds_per_topic = {seconds}"
    )
    options = ["--seconds", str(tmp_path / "seconds.tsv"), str(tmp_path / "run")]

    assert main(["check", "--protocol", protocol, *options]) == status


def pooled(folder: Path, slug: str, old: str, new: str, *options: str) -> list[str]:
    """The lines of the pool of the runs in the manifest; empty if the command refuses them."""
    (folder / "pool.tsv").unlink(missing_ok=True)
    changed = ["--protocol", with_change(folder, slug, old, new)]
    status = pool(folder, "--quiet", *options, protocol=changed)
    return lines_of(folder / "pool.tsv") if status == 0 else []


@pytest.fixture
def trec(tmp_path: Path) -> Path:
    """Two runs of six documents for a topic, with two in common; the second is an alternate run."""
    trec_run(tmp_path / "early.txt", "early", {"1": [f"d{n}" for n in range(6)]})
    trec_run(tmp_path / "late.txt", "late", {"1": ["e0", "d5", "d4", "e1", "e2", "e3"]})
    (tmp_path / "m.csv").write_text(
        "file,team,tag,kind\nearly.txt,one,early,primary\nlate.txt,two,late,alternate\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "n"),
    [
        ('"primary"\ndepth = 100', '"primary"\ndepth = 2', 8),
        ('"primary"\ndepth = 100', '"primary"', 6),
        ('strategy = "top-k"', 'strategy = "round-robin-until"\ntarget = 4', 4),
        ('strategy = "top-k"', 'strategy = "round-robin-until"\ntarget = 6', 6),
        ('key = "alternate"', 'key = "contrastive"', 0),
        ('unit = "document"', 'unit = "document"', 10),
        ('unit = "document"', 'unit = "visually-distinct-formula"', 0),
    ],
    ids=[
        "depth",
        "no depth",
        "strategy",
        "target",
        "kinds",
        "unit of documents",
        "unit of formulas without their index",
    ],
)
def test_pool_has_the_units_that_the_key_asks_for(trec: Path, old: str, new: str, n: int) -> None:
    assert len(pooled(trec, "trec-adhoc", old, new)) == n


def test_order_of_the_protocol_is_that_of_judging(trec: Path) -> None:
    by_votes = pooled(trec, "trec-adhoc", 'order = "random"', 'order = "by-run-votes"')
    at_random = pooled(trec, "trec-adhoc", 'order = "random"', 'order = "random"')

    assert {line.split()[1] for line in by_votes[:2]} == {"d4", "d5"}
    assert sorted(by_votes) != by_votes
    assert [line.split()[1] for line in by_votes] != [line.split()[1] for line in at_random]


@pytest.mark.parametrize(
    ("old", "new", "n"),
    [
        ('pooled_as = "primary"', 'pooled_as = "primary"', 6),
        ('pooled_as = "primary"', 'pooled_as = "alternate"', 2),
        ('"TF-IDF" = "alternate"', '"late" = "alternate"', 2),
    ],
    ids=["as primary", "as alternate", "by tag"],
)
def test_baseline_is_pooled_as_the_protocol_says(trec: Path, old: str, new: str, n: int) -> None:
    (trec / "m.csv").write_text("file,team,tag,kind\nlate.txt,two,late,baseline\n")
    text = shipped_text("arqmath-2021-task1")
    assert text.count(old) == text.count("depth = 15") == 1
    (trec / "changed.toml").write_text(text.replace(old, new).replace("depth = 15", "depth = 2"))

    assert pool(trec, "--quiet", protocol=["--protocol", str(trec / "changed.toml")]) == 0

    assert len(lines_of(trec / "pool.tsv")) == n


@pytest.mark.parametrize(("overlap", "n"), [("0.95", 3), ("0.5", 1)])
def test_near_duplicates_are_pooled_once(tmp_path: Path, overlap: str, n: int) -> None:
    """The citations of a topic differ in one of nine words."""
    (tmp_path / "run").write_bytes(bolt_run())
    (tmp_path / "m.csv").write_text("file,team,tag,kind\nrun,Owls,owls-1,evaluation\n")

    lines = pooled(
        tmp_path,
        "bolt-ir-p3",
        "near_duplicate_overlap = 0.95",
        f"near_duplicate_overlap = {overlap}",
        "--members",
        str(tmp_path / "members.tsv"),
    )

    assert sum(line.startswith("T1\t") for line in lines) == n


@pytest.mark.parametrize(
    ("new", "shown"),
    [
        ('strategy = "reciprocal-rank-vote"\nlimit = 5', {"3", "4", "6"}),
        ('strategy = "reciprocal-rank-vote"\nlimit = 2', {"3", "4"}),
        ('strategy = "reciprocal-rank-vote"\nlimit = 1', {"4"}),
        ('strategy = "most-runs"\nlimit = 1', {"3"}),
    ],
)
def test_instances_are_selected_by_strategy_and_limit(tmp_path: Path, new: str, shown: set[str]) -> None:
    """Of the formula y^2, instance 4 is at rank 2 of one run, 3 at ranks 3 and 8 of two, and 6 at rank 3 of one."""
    folder = write_formula_files(tmp_path)
    (folder / "c.tsv").write_text(FORMULA_RUN)
    with (folder / "m.csv").open("a") as manifest:
        manifest.write("c.tsv,three,c,primary\n")
    members = folder / "members.tsv"
    options = ["--formulas", str(folder / "index.tsv"), "--members", str(members)]

    pooled(folder, "arqmath-2021-task2", 'strategy = "reciprocal-rank-vote"\nlimit = 5', new, *options)

    rows = [line.split("\t") for line in lines_of(members)]
    assert {
        formula
        for topic, unit, formula, *_, place in rows
        if (topic, unit) == ("B.1", "200") and place != "0"
    } == shown


FIRST = """
from assay.protocols.measures import MeasureFamily
import numpy as np

def relevant_first(hits, judged, measure):
    is_first = (hits.rank == 1) & (hits.grade >= measure.level)
    return np.bincount(hits.topic[is_first], minlength=judged.n_topics).astype(np.float64)

MEASURE = MeasureFamily("First", "whether the first document is relevant", "first:relevant_first", True, "never", True)
EXTENSION = Extension(name="first", title="First document", adds=(MEASURE,))
"""
OWN_MEASURES = """measures = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)", "judged@10"]"""


def test_protocol_of_an_extension_is_refused_where_it_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    protocol = Path(
        with_change(tmp_path, "arqmath-2020-task1", OWN_MEASURES, 'measures = ["First(rel=2)\'"]')
    )
    unlisted, text = str(protocol), protocol.read_text()
    listed = tmp_path / "listed.toml"
    listed.write_text(f'extensions = ["first"]\n{text}')
    words = [
        "evaluate",
        "--quiet",
        "--qrels",
        str(samples.path("qrels.txt")),
        str(samples.path("runs/abacus.tsv")),
    ]

    with other_packages(tmp_path, first=FIRST):
        assert main([*words, "--protocol", unlisted]) == 2
        assert 'First is of the extension first; write extensions = ["first"]' in capsys.readouterr().err
        assert main([*words, "--protocol", str(listed)]) == 0
        assert "abacus\tall\tFirst(rel=2)'\t1.0000" in capsys.readouterr().out
        assert main(["protocol", "show", str(listed)]) == 0
        assert "whether the first document is relevant, relevant from grade 2" in capsys.readouterr().out
    assert main([*words, "--protocol", str(listed)]) == 2
    assert (
        "listed.toml: line 1: extensions[1]: the extension first is not installed" in capsys.readouterr().err
    )
