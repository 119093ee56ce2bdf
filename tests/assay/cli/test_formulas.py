"""`assay slt` and `assay cluster`: SLT strings and visual ids from files alone."""

import csv
import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.formats.documents.indexes import HEADERS
from tests.helpers.formulas import FAULTY, letter

V1, V2, V3 = ("\t".join(header) + "\n" for header in HEADERS.values())
Captured = pytest.CaptureFixture[str]


def slt_index(path: Path, **formulas: str) -> Path:
    """A v1 index of Presentation MathML, as csv writes it."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(HEADERS[1])
        writer.writerows((code, "2", "1", "answer", mathml) for code, mathml in formulas.items())
    return path


def latex_index(path: Path, *rows: tuple[str, str, str]) -> Path:
    path.write_text(
        V2 + "".join(f"{code}\t2\t1\tanswer\t{visual}\t{latex}\n" for code, visual, latex in rows)
    )
    return path


def test_strings_of_an_index_come_in_its_order(tmp_path: Path, capsys: Captured) -> None:
    index = slt_index(tmp_path / "slt.tsv", q_2=letter("b"), q_1=FAULTY, q_3=letter('"a"'))

    status = main(["slt", "--input", str(index)])

    out, err = capsys.readouterr()
    rows = list(csv.reader(io.StringIO(out), delimiter="\t"))
    assert (status, err) == (0, "3 formulas, 1 of them without an SLT string\n")
    assert rows == [["formula_id", "slt"], ["q_2", "[V!b]"], ["q_1", ""], ["q_3", '[V!"a"]']]


def test_operator_trees_are_printed_of_content_mathml_only(tmp_path: Path, capsys: Captured) -> None:
    content = tmp_path / "opt.tsv"
    content.write_text(V1 + "1\t2\t3\tanswer\t<math><apply><plus/><ci>x</ci></apply></math>\n")
    presentation = slt_index(tmp_path / "slt.tsv", q_1=letter("x"))

    statuses = [main(["slt", "--opt", "--input", str(path)]) for path in (content, presentation)]

    out, err = capsys.readouterr()
    assert statuses == [0, 2]
    assert out.splitlines()[:2] == ["formula_id\topt", "1\t[U!plus,0[V!x]]"]
    assert "slt.tsv contains Presentation MathML, which does not describe what formulas mean" in err


def test_strings_of_a_table_are_the_reference_by_one_process_or_two(data: Path, tmp_path: Path) -> None:
    path = data / "slt" / "slt_reference.tsv.gz"
    with gzip.open(path, "rt", newline="") as file:
        expected = [
            [row["formula_id"], row["tangent_slt_string"]] for row in csv.DictReader(file, delimiter="\t")
        ]

    for n in ("1", "2"):
        output = tmp_path / n
        assert main(["slt", "--input", str(path), "--processes", n, "--output", str(output)]) == 0
        with output.open(newline="") as file:
            assert list(csv.reader(file, delimiter="\t"))[1:] == expected


def test_strings_are_read_from_a_pipe(tmp_path: Path) -> None:
    index = slt_index(tmp_path / "slt.tsv", q_1=letter("x"))

    done = subprocess.run(
        [sys.executable, "-m", "assay", "slt"], input=index.read_bytes(), capture_output=True, check=False
    )

    assert (done.returncode, done.stdout.decode()) == (0, "formula_id\tslt\nq_1\t[V!x]\n")


def test_command_needs_no_database(tmp_path: Path) -> None:
    index = latex_index(tmp_path / "index.tsv", ("1", "", "x"))
    code = (
        "import sys; from assay.cli.main import main; main(sys.argv[1:]); sys.exit('django' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "cluster", str(index)], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr.decode()


def test_indexes_of_latex_and_mathml_are_clustered_together(tmp_path: Path, capsys: Captured) -> None:
    latex = latex_index(
        tmp_path / "latex.tsv", ("10", "", "x"), ("9", "", r"\alpha \beta"), ("2", "", "x x"), ("3", "", "")
    )
    mathml = slt_index(
        tmp_path / "slt.tsv", **{"10": letter("x"), "9": FAULTY, "2": letter("x"), "8": letter("y")}
    )

    status = main(["cluster", str(latex), str(mathml)])

    out, err = capsys.readouterr()
    assert status == 0
    assert out == "formula_id\tvisual_id\n2\t1\n3\t\n8\t2\n9\t3\n10\t1\n"
    assert err == "5 formulas, 3 of them visually distinct; 1 without an id\n"


def test_folder_means_all_of_its_files(tmp_path: Path, capsys: Captured) -> None:
    latex_index(tmp_path / "2.tsv", ("2", "", "x"))
    latex_index(tmp_path / "1.tsv", ("1", "", "x"))

    main(["cluster", str(tmp_path)])

    assert capsys.readouterr().out == "formula_id\tvisual_id\n1\t1\n2\t1\n"


def test_real_index_keeps_its_ids_and_its_inconsistency_is_reported(
    data: Path, tmp_path: Path, capsys: Captured
) -> None:
    index = data / "arqmath" / "formulas" / "formula_index_v2_sample.tsv"
    faults = tmp_path / "faults.tsv"

    status = main(["cluster", str(index), "--report", str(faults)])

    out, err = capsys.readouterr()
    assert status == 0
    assert len({line.split("\t")[1] for line in out.splitlines()[1:]}) == 760
    assert "1 LaTeX without a string with several ids" in err
    assert "1,000 formulas, 760 of them visually distinct; 0 without an id" in err
    assert [line.split("\t")[0] for line in faults.read_text().splitlines()] == [
        "visual_id",
        "1927327",
        "370700",
    ]


def test_ids_of_a_map_come_before_those_of_an_index(tmp_path: Path, capsys: Captured) -> None:
    index = latex_index(tmp_path / "index.tsv", ("1", "7", "x"), ("2", "8", "y"), ("3", "", "x"))
    ids = tmp_path / "map.tsv"
    ids.write_text("formula_id\tvisual_id\n1\t70\n9\t90\n")

    main(["cluster", str(index), "--ids", str(ids)])

    assert capsys.readouterr().out == "formula_id\tvisual_id\n1\t70\n2\t8\n3\t70\n"


def test_all_ids_can_be_replaced(tmp_path: Path, capsys: Captured) -> None:
    index = latex_index(tmp_path / "index.tsv", ("1", "7", "x"), ("2", "8", "x"))

    main(["cluster", str(index), "--from-scratch"])

    assert capsys.readouterr().out == "formula_id\tvisual_id\n1\t1\n2\t1\n"


def test_only_some_of_many_disagreements_are_printed(tmp_path: Path, capsys: Captured) -> None:
    index = latex_index(tmp_path / "index.tsv", *((str(i), str(i), f"x_{i % 30}") for i in range(60)))

    main(["cluster", str(index)])

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("ids and strings disagree on 60 formulas")
    assert lines[11] == "  and 50 more; --report FILE writes all of them"


def test_skipped_rows_are_counted_by_reason(tmp_path: Path, capsys: Captured) -> None:
    index = latex_index(tmp_path / "index.tsv", ("1", "", "x"), ("", "", "y"))

    assert main(["cluster", str(index)]) == 0

    assert capsys.readouterr().err.startswith("skipped 1: an id, post or thread that is empty")


@pytest.mark.parametrize(
    ("content", "command", "message"),
    [
        ("", "cluster", "file.tsv is neither XML"),
        ("hello\n", "cluster", "file.tsv is neither XML"),
        (V1, "cluster", "the input contains no formula"),
        (V1 + "1\t2\t3\tanswer\tx\n", "slt", "the input contains no Presentation MathML"),
        (V1 + "1\t2\t3\tanswer\t<math><apply/></math>\n", "cluster", "file.tsv contains Content MathML"),
        ('{"id": 1}', "cluster", "file.tsv contains jsonl; use a formula index or a table of formulas."),
        ("id\tmathml\n1\n", "slt", "file.tsv, line 2: expected 2 columns; got 1."),
        ("id\tmathml\n\tx\n", "slt", "file.tsv, line 2: expected 2 columns; the id is empty."),
        ("id\tmathml\n1\tx\n2\t\udcff\n", "slt", "file.tsv, line 3: not UTF-8."),
        ("id\tmathml\n1\tx\n2\t\udcff", "slt", "file.tsv, line 3: not UTF-8."),
    ],
)
def test_unusable_input_is_refused_in_a_sentence(
    content: str, command: str, message: str, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "file.tsv"
    file.write_bytes(content.encode(errors="surrogateescape"))

    status = main([command, *(["--input"] if command == "slt" else []), str(file)])

    assert status == 2
    assert f"assay {command}: {message}" in capsys.readouterr().err


def test_absent_file_is_named(tmp_path: Path, capsys: Captured) -> None:
    assert main(["cluster", str(tmp_path / "none.tsv")]) == 2
    assert capsys.readouterr().err.endswith("none.tsv: No such file or directory\n")


@pytest.mark.parametrize("n", ["0", "x", "-1", "²"])
def test_number_of_processes_is_checked(n: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["cluster", "x", "--processes", n])
    assert "is not a whole number from 1 to 1024" in capsys.readouterr().err
