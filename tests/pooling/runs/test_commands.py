"""The commands `submit_run` and `build_pool`."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from assay.cli.main import main
from assay.protocols.loader import load_protocol
from pooling.models import Pool, Run
from tests.helpers.pool_files import write_run_files
from tests.pooling.conftest import Scene

PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_run_files(tmp_path)


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
