import csv
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import samples
from assay.cli.main import main
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.exports import (
    FORMS,
    Part,
    SplitError,
    code_names,
    package,
    split_at_random,
    split_given,
    zipped,
)
from assay.formats.qrels.reader import columns_from, format_qrels, parse_qrels
from server.paths import ROOT

SMALL = b"A.1 0 9 3\nA.1 0 10 0\nA.10 0 x 1\nA.2 0 x -1\nA.3 0 y 2\n"


def small() -> QrelsColumns:
    return parse_qrels(SMALL)


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    path = tmp_path / "official.txt"
    path.write_bytes(SMALL)
    return str(path)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("trec", "A.1 0 10 0\nA.1 0 9 3\nA.10 0 x 1\nA.2 0 x -1\nA.3 0 y 2\n"),
        ("arqmath", "A.1\t0\t10\t0\nA.1\t0\t9\t3\nA.10\t0\tx\t1\nA.2\t0\tx\t-1\nA.3\t0\ty\t2\n"),
        ("tsv", "topic\tdocno\tgrade\nA.1\t10\t0\nA.1\t9\t3\nA.10\tx\t1\nA.2\tx\t-1\nA.3\ty\t2\n"),
        ("csv", "topic,docno,grade\r\nA.1,10,0\r\nA.1,9,3\r\nA.10,x,1\r\nA.2,x,-1\r\nA.3,y,2\r\n"),
        ("units", "A.1\t10\nA.1\t9\nA.10\tx\nA.2\tx\nA.3\ty\n"),
    ],
)
def test_each_form_is_written_as_described(form: str, text: str) -> None:
    assert FORMS[form].write(small()).decode() == text


def test_csv_has_no_spreadsheet_formula_and_is_read_back() -> None:
    columns = parse_qrels(b"A.1 0 =x 1\nA.1 0 '@y 2\n")

    text = FORMS["csv"].write(columns)

    assert text.decode() == "topic,docno,grade\r\nA.1,''@y,2\r\nA.1,'=x,1\r\n"
    assert format_qrels(parse_qrels(text)) == format_qrels(columns)


WORDS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)
# A line cannot begin with a byte-order mark: readers take marks there as those of joined files.
TOPICS = WORDS.filter(lambda text: not text.startswith("\ufeff"))


@given(
    st.dictionaries(st.tuples(TOPICS, WORDS), st.integers(-999, 999), min_size=1),
    st.sampled_from(["trec", "arqmath", "tsv", "csv"]),
)
def test_written_qrels_of_any_form_are_read_again(units: dict[tuple[str, str], int], form: str) -> None:
    columns = columns_from((topic.encode(), docno.encode(), grade) for (topic, docno), grade in units.items())

    again = parse_qrels(FORMS[form].write(columns))

    assert format_qrels(again) == format_qrels(columns)


def test_a_package_has_a_readme_and_correct_checksums(tmp_path: Path) -> None:
    files = package(
        [Part("qrels", "All.", small())], FORMS["csv"], title="Qrels of ours", notes=["From a test."]
    )

    assert set(files) == {"qrels.csv", "README.md", "SHA256SUMS"}
    readme = files["README.md"].decode()
    for sentence in (
        "# Qrels of ours",
        "- From a test.",
        "4 topics, 5 lines.",
        "| 3 | 1 |",
        "pooled and has no grade",
    ):
        assert sentence in readme
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0


def test_the_same_qrels_give_the_same_zip() -> None:
    zips = {
        zipped(package([Part("qrels", "", small())], FORMS["trec"], title="", notes=[]), "q")
        for _ in range(2)
    }

    assert len(zips) == 1
    with zipfile.ZipFile(io.BytesIO(zips.pop())) as archive:
        assert archive.namelist() == ["q/README.md", "q/SHA256SUMS", "q/qrels.txt"]


def test_given_topics_are_the_test_topics() -> None:
    train, test = split_given(small(), ["A.2", "A.1"])

    assert format_qrels(train) == b"A.10\t0\tx\t1\nA.3\t0\ty\t2\n"
    assert format_qrels(test) == b"A.1\t0\t10\t0\nA.1\t0\t9\t3\nA.2\t0\tx\t-1\n"


@given(st.integers(0, 1000), st.sampled_from([0.25, 0.5, 0.75]))
def test_a_random_split_divides_the_topics_and_keeps_every_line(seed: int, share: float) -> None:
    train, test = split_at_random(small(), share, seed)

    assert len(test.topics) == round(share * 4)
    assert not set(train.topics) & set(test.topics)
    assert sorted(format_qrels(train).splitlines() + format_qrels(test).splitlines()) == sorted(
        format_qrels(small()).splitlines()
    )
    assert format_qrels(split_at_random(small(), share, seed)[1]) == format_qrels(test)


def test_every_topic_is_chosen_by_some_seed() -> None:
    drawn = Counter(
        str(code) for seed in range(200) for code in split_at_random(small(), 0.25, seed)[1].topics
    )

    assert len(drawn) == 4
    assert min(drawn.values()) > 20


@pytest.mark.parametrize("test", [["A.9"], [], ["A.1", "A.10", "A.2", "A.3"]])
def test_an_impossible_split_is_refused(test: list[str]) -> None:
    with pytest.raises(SplitError):
        split_given(small(), test)


@pytest.mark.parametrize("share", [0.0, 1.0, 0.01])
def test_a_share_with_an_empty_part_is_refused(share: float) -> None:
    with pytest.raises(SplitError):
        split_at_random(small(), share, 1)


def test_unknown_topics_give_no_rows() -> None:
    assert len(small().keep_topics(["B"]).grade) == 0


def test_codes_of_people_do_not_reveal_their_names() -> None:
    people = [f"person{n:02d}" for n in range(12)]

    codes = code_names(people, seed=3)

    assert sorted(codes.values()) == [f"A{n:02d}" for n in range(1, 13)]
    assert [codes[name] for name in people] != sorted(codes.values())
    assert code_names(reversed(people), seed=3) == codes


def read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_converts_into_a_folder(qrels: str, tmp_path: Path) -> None:
    topics = tmp_path / "topics.txt"
    topics.write_text("A.1\nA.3\n")

    status = main(
        ["qrels", "convert", qrels, "--to", "csv", "--topics", str(topics), "--output", str(tmp_path / "out")]
    )

    files = read_folder(tmp_path / "out")
    assert status == 0
    assert files["qrels.csv"] == b"topic,docno,grade\r\nA.1,10,0\r\nA.1,9,3\r\nA.3,y,2\r\n"
    assert b"Made from official." in files["README.md"]
    for line in files["SHA256SUMS"].decode().splitlines():
        digest, name = line.split()
        assert hashlib.sha256(files[name]).hexdigest() == digest


def test_the_command_splits_into_a_zip(qrels: str, tmp_path: Path) -> None:
    status = main(
        ["qrels", "split", qrels, "--test-share", "0.5", "--seed", "4", "--output", str(tmp_path / "s.zip")]
    )

    assert status == 0
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert set(archive.namelist()) == {"s/README.md", "s/SHA256SUMS", "s/test.txt", "s/train.txt"}
        train, test = (archive.read(f"s/{name}.txt") for name in ("train", "test"))
        assert b"(seed 4)" in archive.read("s/README.md")
    assert sorted((train + test).splitlines()) == sorted(SMALL.splitlines())


def test_the_command_splits_by_a_list(qrels: str, tmp_path: Path) -> None:
    topics = tmp_path / "test.txt"
    topics.write_text("A.3\n")

    status = main(["qrels", "split", qrels, "--test-topics", str(topics), "--output", str(tmp_path / "out")])

    assert status == 0
    assert (tmp_path / "out" / "test.txt").read_bytes() == b"A.3 0 y 2\n"


def test_the_command_scales_and_reports_it(tmp_path: Path, data: Path) -> None:
    source = str(data / "ntcir" / "NTCIR12-ArXiv-Math.dat")

    status = main(["qrels", "convert", source, "--scale", "3", "--output", str(tmp_path / "out")])

    assert status == 0
    assert b"multiplied by 3" in (tmp_path / "out" / "README.md").read_bytes()
    assert set(parse_qrels((tmp_path / "out" / "qrels.txt").read_bytes()).grade.tolist()) == {
        0,
        2,
        3,
        4,
        6,
        8,
        9,
        12,
    }


def test_the_command_gives_assessors_codes(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    lines = [
        "topic,docno,assessor,grade,comment",
        'A.1,9,ada,3,"by ada, yes"',
        "A.1,10,bob,0,",
        "A.2,x,ada,1,",
    ]
    path.write_bytes("\ufeff".encode() + "\r\n".join(lines).encode())

    status = main(["qrels", "anonymize", str(path), "--output", str(tmp_path / "out.csv")])

    text = (tmp_path / "out.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert status == 0
    assert not re.search(r"\bada\b", text)
    assert "bob" not in text
    assert [list(row) for row in rows] == [["topic", "docno", "assessor", "grade"]] * 3
    assert rows[0]["assessor"] == rows[2]["assessor"] != rows[1]["assessor"]


def test_tables_of_spreadsheets_are_anonymized(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    path.write_bytes(
        '\ufeffsep=;\r\ntopic;Assessor;note\r\nA.1;ada;"x; y"\r\nA.2;bob;\r\n;;\r\n'.encode("utf-16")
    )

    main(["qrels", "anonymize", str(path), "--output", str(tmp_path / "out.csv")])

    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0] == ["topic", "Assessor", "note"]
    assert {tuple(row) for row in rows[1:]} in (
        {("A.1", "A1", "x; y"), ("A.2", "A2", "")},
        {("A.1", "A2", "x; y"), ("A.2", "A1", "")},
    )


def test_anonymized_judgments_contain_no_spreadsheet_formula(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("topic,assessor,note\n=a,ada,'=b\n", encoding="utf-8")

    main(["qrels", "anonymize", str(path), "--output", str(tmp_path / "out.csv")])

    assert (tmp_path / "out.csv").read_bytes().decode() == "topic,assessor,note\r\n'=a,A1,'=b\r\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["convert", "nowhere.txt", "--output", "OUT"], "nowhere.txt: No such file or directory"),
        (["convert", "BROKEN", "--output", "OUT"], "line 1: expected 4 columns"),
        (["convert", "QRELS", "--scale", "0", "--output", "OUT"], "--scale 0"),
        (["convert", "QRELS", "--topics", "CODES", "--output", "OUT"], "the qrels have no topic no"),
        (["convert", "QRELS", "--topics", "BROKEN", "--output", "OUT"], "A list has one code per line"),
        (["convert", "QRELS", "--output", "THERE"], "File exists"),
        (["split", "QRELS", "--test-topics", "CODES", "--output", "OUT"], "the qrels have no topic no"),
        (["split", "QRELS", "--test-share", "0.01", "--output", "OUT"], "one part is empty"),
        (
            ["convert", "QRELS", "--topics", "CUT", "--output", "OUT"],
            "cut.gz: The gz file is damaged or cut off",
        ),
        (["split", "QRELS", "--test-topics", "CUT", "--output", "OUT"], "cut.gz: The gz file is damaged"),
        (["anonymize", "CUT", "--output", "OUT"], "cut.gz: The gz file is damaged or cut off"),
        (["anonymize", "BROKEN", "--output", "OUT"], "no column of assessors"),
        (["anonymize", "BROKEN", "--column", "who", "--output", "OUT"], "no column who"),
        (["anonymize", "LATIN", "--output", "OUT"], "Line 1 is neither UTF-8 nor Windows-1252 (byte 0x81)"),
        (
            ["anonymize", "QUOTED", "--output", "OUT"],
            "quoted.csv: line 3: not a row of a table: ',' expected",
        ),
    ],
)
def test_unusable_input_is_named_and_nothing_is_written(
    qrels: str, tmp_path: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.txt").write_bytes(b"no qrels\n")
    (tmp_path / "codes.txt").write_bytes(b"no\n")
    (tmp_path / "latin.txt").write_bytes(b"abc\x81\n")
    (tmp_path / "quoted.csv").write_text('topic,assessor\nA.1,ada\nA.2,"b"ob\nA.3,ada\n')
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"A.1\n")[:-5])
    (tmp_path / "there").mkdir()
    places = {
        "QRELS": qrels,
        "BROKEN": str(tmp_path / "broken.txt"),
        "CODES": str(tmp_path / "codes.txt"),
        "LATIN": str(tmp_path / "latin.txt"),
        "QUOTED": str(tmp_path / "quoted.csv"),
        "CUT": str(tmp_path / "cut.gz"),
        "OUT": str(tmp_path / "out"),
        "THERE": str(tmp_path / "there"),
    }

    status = main(["qrels", *(places.get(word, word) for word in arguments)])

    errors = capsys.readouterr().err
    assert status == 2
    assert reason in errors
    assert errors.startswith(f"assay qrels {arguments[0]}: ")
    assert errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "option", [["--test-share", "nan"], ["--test-share", "1e400"], ["--test-share", "0.5", "--seed", "-1"]]
)
def test_impossible_shares_and_seeds_are_refused(
    qrels: str, tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["qrels", "split", qrels, *option, "--output", str(tmp_path / "out")])

    assert ended.value.code == 2
    assert f"{option[-2]}: '{option[-1]}' is not a" in capsys.readouterr().err


def test_a_file_with_a_name_that_is_not_utf_8_is_shown_with_backslashes(qrels: str, tmp_path: Path) -> None:
    named, output = os.fsdecode(os.fsencode(tmp_path) + b"/qrels-\xff"), tmp_path / "out"
    shutil.copy(qrels, named)

    status = main(["qrels", "convert", named, "--output", str(output)])

    assert status == 0
    assert r"Made from qrels-\udcff." in (output / "README.md").read_text()


def test_the_command_needs_no_settings(qrels: str, tmp_path: Path) -> None:
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}
    }
    line = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "assay",
        "qrels",
        "convert",
        qrels,
        "--output",
        str(tmp_path / "o"),
    ]

    done = subprocess.run(line, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "django" not in done.stderr


def test_the_command_converts_qrels_of_instances_to_formulas(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("B.1 0 f1 1\nB.1 0 f2 3\nB.1 0 f3 0\nB.1 0 f9 2\nB.2 0 f2 -1\n")
    (tmp_path / "map.tsv").write_text("formula_id\tvisual_id\nf1\tv1\nf2\tv1\nf3\tv2\n")
    arguments = ["qrels", "convert", str(tmp_path / "q.txt"), "--formulas", str(tmp_path / "map.tsv")]

    status = main([*arguments, "--output", str(tmp_path / "out")])

    files = read_folder(tmp_path / "out")
    assert status == 0
    assert files["qrels.txt"] == b"B.1 0 v1 3\nB.1 0 v2 0\nB.2 0 v1 -1\n"
    assert b"each with the highest grade of its instances: 4 instances; left out" in files["README.md"]
    assert b"left out without a visual id: 1" in files["README.md"]


def test_qrels_without_any_known_formula_are_refused(
    qrels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.tsv").write_text("formula_id\tvisual_id\nf1\tv1\n")
    arguments = ["qrels", "convert", qrels, "--formulas", str(tmp_path / "map.tsv")]

    assert main([*arguments, "--output", str(tmp_path / "out")]) == 2
    assert "no line has a formula with a visual id" in capsys.readouterr().err


def test_judged_submission_is_read_with_its_answers_and_written_in_xml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run with these attributes is refused; what a submission has besides is no answer."""
    run, judged = samples.path("runs/bolt-owls.xml"), tmp_path / "judged.xml"
    filled = '<cite rel="Maybe" trans="acceptable" chksrc="no" dialect="yes" x:y="z" xmlns:x="x" '
    judged.write_text(run.read_text().replace("<cite ", filled, 1))
    again, twice = tmp_path / "again", tmp_path / "twice"
    bolt = ["--protocol", "bolt-ir-p3"]

    statuses = [
        main(["qrels", "convert", str(judged), *bolt, "--to", "bolt", "--output", str(again)]),
        main(["qrels", "convert", str(again / "qrels.xml"), *bolt, "--to", "bolt", "--output", str(twice)]),
        main(["check", *bolt, str(judged)]),
    ]

    assert statuses == [0, 0, 1]
    assert (again / "qrels.xml").read_text().splitlines()[3].strip() == (
        '<cite thread="bolt-eng-DF-1-101" post="p2" offset="80" length="27" rel="maybe" trans="acceptable" '
        'chksrc="no" dialect="yes">I love the song of the owl.</cite>'
    )
    assert (twice / "qrels.xml").read_bytes() == (again / "qrels.xml").read_bytes()
    assert "only assessors fill in chksrc, not systems" in capsys.readouterr().out
    assert main(["qrels", "convert", str(run), *bolt, "--output", str(tmp_path / "none")]) == 2
    assert "no judged citations" in capsys.readouterr().err
    assert main(["qrels", "convert", str(judged), "--to", "bolt", "--output", str(tmp_path / "none")]) == 2
    assert "the file is XML, as of judged citations; give the --protocol" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            [],
            "--to bolt: these qrels are written as trec or arqmath or tsv or csv or units; bolt needs a protocol",
        ),
        (["--protocol", "bolt-ir-p3"], "A.1: 10 is not a citation; expected thread:post:offset:length"),
    ],
)
def test_qrels_of_documents_are_not_written_as_citations(
    qrels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    Path(qrels).write_bytes(SMALL.replace(b"3", b"2"))

    status = main(["qrels", "convert", qrels, *options, "--to", "bolt", "--output", str(tmp_path / "out")])

    assert (status, message in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "out").exists()
