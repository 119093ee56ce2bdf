"""The commands: `assay check` and `assay pool` on files, and those of the site."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from assay.cli.main import main
from assay.formats.manifest import ManifestError, read_manifest
from assay.formats.topics.codes import TopicListError, read_topic_codes
from assay.protocols.loader import load_protocol
from pooling.models import Pool, Run
from tests.helpers.runs import BROKEN, GOOD, run_bytes
from tests.pooling.conftest import Scene

PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.tsv").write_bytes(GOOD)
    (tmp_path / "windows.tsv.gz").write_bytes(gzip.compress(GOOD.replace(b"\n", b"\r\n")))
    (tmp_path / "bad.tsv").write_bytes(BROKEN["score NaN"].make())
    (tmp_path / "other.tsv").write_bytes(run_bytes(first=102, tag="run-2"))
    (tmp_path / "topics.txt").write_text("A.1\nA.2\nA.3\nA.4\n")
    (tmp_path / "m.csv").write_text(
        "file,team,tag,kind\ngood.tsv,one,run-1,primary\nother.tsv,two,run-2,alternate\n"
    )
    return tmp_path


# ---- check


def test_clean_and_warned_files_exit_with_0(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check", *P, str(files / "good.tsv"), str(files / "windows.tsv.gz")])

    out = capsys.readouterr().out
    assert status == 0
    assert "good.tsv: accepted, 0 errors, 0 warnings (arqmath-5, tag run-1, 12 lines, 3 topics)" in out
    assert "warning: lines end with CR LF, as on Windows" in out


@pytest.mark.parametrize("form", ["text", "json"])
def test_file_with_a_name_that_is_not_utf_8_is_shown_with_backslashes(
    files: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    named = os.fsdecode(os.fsencode(files) + b"/run-\xff.tsv")
    Path(named).write_bytes(GOOD)

    status = main(["check", *P, "--format", form, named])

    assert status == 0
    assert r"run-\udcff.tsv" in capfd.readouterr().out


def test_one_bad_file_exits_with_1_and_names_the_line(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["check", *P, str(files / "good.tsv"), str(files / "bad.tsv")])

    out = capsys.readouterr().out
    assert status == 1
    assert "error: line 2: score “NaN” is not a finite number" in out
    assert "       2 | A.1\t102\t2\tNaN\trun-1" in out


def test_run_is_checked_against_the_topics(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check", *P, "--topics", str(files / "topics.txt"), str(files / "good.tsv")])

    assert status == 0
    assert "1 of 4 topics have no line: A.4" in capsys.readouterr().out


def test_report_is_printed_as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *P, "--format", "json", str(files / "bad.tsv"), str(files / "good.tsv")])

    bad, good = json.loads(capsys.readouterr().out)
    assert bad["errors"][0]["lines"] == [{"number": 2, "text": "A.1\t102\t2\tNaN\trun-1", "note": ""}]
    assert (good["n_lines"], good["errors"]) == (12, [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", *P, "missing.tsv"],
        ["check", "--protocol", "nonesuch", "x.tsv"],
        ["check", *P, "--topics", "missing.txt", "x.tsv"],
        ["pool", *P, "--runs", "missing.csv", "--seed", "1"],
    ],
)
def test_unreadable_files_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"assay {arguments[0]}: ")
    assert "Errno" not in message


def test_run_is_read_from_a_pipe(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = files / "pipe.tsv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(GOOD),))
    writer.start()

    status = main(["check", *P, str(pipe)])

    writer.join()
    assert status == 0
    assert (
        "pipe.tsv: accepted, 0 errors, 0 warnings (arqmath-5, tag run-1, 12 lines" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["pool", *P, "--runs", "m.csv", "--seed", "-1"],
        ["pool", *P, "--runs", "m.csv", "--seed", "1", "--depth", "45"],
    ],
)
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)

    assert stopped.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_repaired_files_are_written_to_the_folder(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "repaired"
    status = main(
        [
            "check",
            *P,
            "--repair",
            str(out),
            *(str(files / n) for n in ("good.tsv", "bad.tsv", "windows.tsv.gz")),
        ]
    )

    assert status == 1
    assert [path.name for path in out.iterdir()] == ["windows.tsv"]
    assert main(["check", *P, str(out / "windows.tsv")]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out.splitlines()[-1]


def test_repair_never_overwrites(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "windows.tsv").write_text("mine")

    assert main(["check", *P, "--repair", str(files), str(files / "windows.tsv.gz")]) == 2
    assert (files / "windows.tsv").read_text() == "mine"


# ---- pool


def test_pool_is_written_with_its_record(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, contributions = files / "pool.tsv", files / "contributions.tsv"
    arguments = [
        "pool",
        *P,
        "--runs",
        str(files / "m.csv"),
        "--seed",
        "7",
        "--depth",
        "primary=2",
        "--depth",
        "alternate=1",
    ]

    status = main([*arguments, "--output", str(out), "--contributions", str(contributions)])

    record = json.loads((files / "pool.tsv.json").read_text())
    assert status == 0
    assert len(out.read_text().splitlines()) == 9
    assert contributions.read_text().splitlines()[0] == "A.1\t101\tone\trun-1\t1"
    assert record["protocol"]["sha256"] == PROTOCOL.digest
    assert [run["depth"] for run in record["runs"]] == [2, 1]
    assert (
        f"9 units of 3 topics from 2 runs; by topic 3 to 3, mean 3.00; sha256 {record['sha256']}"
        in capsys.readouterr().err
    )


def test_same_seed_prints_the_same_bytes(files: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    arguments = ["pool", *P, "--runs", str(files / "m.csv"), "--seed"]
    outputs = []
    for seed in ("7", "7", "8"):
        main([*arguments, seed])
        outputs.append(capfdbinary.readouterr().out)

    assert outputs[0] == outputs[1] != outputs[2]


def test_run_with_errors_stops_the_pool(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "m.csv").write_text("file,team,tag,kind\nbad.tsv,one,run-1,primary\n")

    status = main(
        ["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7", "--output", str(files / "p.tsv")]
    )

    captured = capsys.readouterr()
    assert (status, captured.out) == (1, "")
    assert "score “NaN”" in captured.err
    assert not (files / "p.tsv").exists()


HEADER = "file,team,tag,kind,pooled_as\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: expected the columns file, team, tag, kind"),
        ("file,team,tag\n", "line 1: expected the columns"),
        ("file,team,tag,kind,color\n", "line 1: expected the columns"),
        (HEADER, "the manifest lists no runs"),
        (HEADER + "missing.tsv,t,r,primary,\n", "line 2: there is no file missing.tsv"),
        (HEADER + "good.tsv,t,r,first,\n", "line 2: kind 'first' is not one of primary, alternate, baseline"),
        (HEADER + "good.tsv,t,,primary,\n", "line 2: tag is empty"),
        (
            HEADER + "good.tsv,t,r,primary,alternate\n",
            "line 2: pooled_as 'alternate': use primary or alternate, and only for a baseline",
        ),
        (HEADER + "good.tsv,t,r,primary,,,\n", "line 2: the number of columns differs"),
        (HEADER + "good.tsv,t\n", "line 2: the number of columns differs"),
        (HEADER + 'good.tsv,"t"x,r,primary,\n', "line 2: "),
        (HEADER + "good.tsv,t,r,primary,\nother.tsv,t,r,primary,\n", "two runs have the tag r"),
    ],
)
def test_errors_of_a_manifest_name_the_line(files: Path, text: str, complaint: str) -> None:
    (files / "m.csv").write_text(text)

    with pytest.raises(ManifestError) as error:
        read_manifest(files / "m.csv", PROTOCOL)

    assert complaint in str(error.value)


def test_manifest_with_a_byte_order_mark_and_spaces_is_read(files: Path) -> None:
    (files / "m.csv").write_bytes(
        b"\xef\xbb\xbffile, team, tag, kind, pooled_as\r\ngood.tsv, one, r, baseline, alternate\r\n"
    )

    (run,) = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.file, run.team, run.tag, run.kind, run.pooled_as) == (
        files / "good.tsv",
        "one",
        "r",
        "baseline",
        "alternate",
    )


def test_manifest_in_latin_1_is_refused(files: Path) -> None:
    (files / "m.csv").write_bytes("file,team,tag,kind\ngood.tsv,équipe,r,primary\n".encode("latin-1"))

    with pytest.raises(ManifestError, match="not UTF-8"):
        read_manifest(files / "m.csv", PROTOCOL)


# ---- topics


def test_topics_are_read_from_xml_and_from_lists(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(
        '<?xml version="1.0"?><Topics><Topic number="A.1"><Title/></Topic><topic number="A.2"/></Topics>'
    )
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfA.1\tfirst topic\r\n\r\nA.2\r\n")

    assert read_topic_codes(tmp_path / "t.xml") == ["A.1", "A.2"]
    assert read_topic_codes(tmp_path / "t.txt") == ["A.1", "A.2"]


@pytest.mark.parametrize("data", [b"", b"<Topics></Topics>", b"<Topics><Topic", b"\xff\xfe"])
def test_file_without_topics_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t").write_bytes(data)

    with pytest.raises(TopicListError):
        read_topic_codes(tmp_path / "t")


def test_entities_of_topic_xml_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A.9")
    text = f'<!DOCTYPE t [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><Topics>&x;<Topic number="A.1"/></Topics>'
    (tmp_path / "t.xml").write_text(text)

    assert read_topic_codes(tmp_path / "t.xml") == ["A.1"]


def test_real_topics_are_read(data: Path) -> None:
    folder = data / "arqmath" / "topics"
    counts = sorted(len(read_topic_codes(path)) for path in folder.glob("*.xml"))

    assert counts == [85, 98, 100, 100]


# ---- the commands of the site


def test_run_is_submitted_by_command(scene: Scene, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command(
        "submit_run",
        "arq",
        "ours",
        str(files / "windows.tsv.gz"),
        "--by",
        "ada",
        "--kind",
        "primary",
        "--manual",
    )

    run = Run.objects.get()
    captured = capsys.readouterr()
    assert (run.is_manual, run.file_name) == (True, "windows.tsv.gz")
    assert "run-1 is submitted for Ours: 12 lines, 3 topics." in captured.out
    assert "warning: lines end with CR LF" in captured.err


@pytest.mark.parametrize(
    ("track", "team", "name", "by", "reason"),
    [
        ("none", "Ours", "good.tsv", "ada", "There is no track none"),
        ("arq", "None", "good.tsv", "ada", "There is no team None"),
        ("arq", "Ours", "good.tsv", "nobody", "There is no user nobody"),
        ("arq", "Ours", "good.tsv", "bob", "bob is not a member of Ours"),
        ("arq", "Ours", "missing.tsv", "ada", "cannot be read"),
        ("arq", "Ours", "bad.tsv", "ada", "line 2: score “NaN”"),
    ],
)
def test_command_refuses_as_the_page_does(
    scene: Scene, files: Path, track: str, team: str, name: str, by: str, reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("submit_run", track, team, str(files / name), "--by", by, "--kind", "primary")

    assert not Run.objects.exists()


def build_by_command(*arguments: str) -> None:
    call_command("build_pool", *arguments)


@pytest.mark.django_db(transaction=True)
def test_pool_of_the_site_has_the_bytes_of_assay_pool(scene: Scene, files: Path, capsys: Any) -> None:
    for name, tag in (("good.tsv", "run-1"), ("other.tsv", "run-2")):
        kind = "primary" if tag == "run-1" else "alternate"
        call_command("submit_run", "arq", "Ours", str(files / name), "--by", "ada", "--kind", kind)
    main(["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7", "--output", str(files / "p.tsv")])

    build_by_command("arq", "--name", "P", "--seed", "7", "--by", "olga")

    record = json.loads((files / "p.tsv.json").read_text())
    pool = Pool.objects.get()
    assert pool.sha256 == record["sha256"]
    assert f"P: {record['n']} units, sha256 {pool.sha256}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["none", "--by", "olga"], "There is no track none"),
        (["arq", "--by", "ada"], "There is no organizer ada"),
        (["arq", "--by", "olga"], "has no runs to pool"),
    ],
)
def test_build_pool_reports_a_refusal(scene: Scene, arguments: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        build_by_command(*arguments, "--name", "P", "--seed", "7")


def test_build_pool_reports_why_the_job_failed(scene: Scene, files: Path) -> None:
    call_command("submit_run", "arq", "Ours", str(files / "good.tsv"), "--by", "ada", "--kind", "primary")
    run = Run.objects.get()
    run.columns.storage.delete(run.columns.name)

    with pytest.raises(CommandError, match="The stored columns of the run run-1 cannot be read"):
        build_by_command("arq", "--name", "P", "--seed", "7", "--by", "olga")
