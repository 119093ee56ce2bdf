"""Judges and their boards in archives: boards are computed again without a database, and loaded elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from assay.archive.contents import Reader
from assay.archive.verify import Finding, verify
from assay_extensions.metaevaluation.site import services
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeRun
from assay_extensions.metaevaluation.tests.test_boards import compare, page_of, qrels, scores, submit
from assay_extensions.metaevaluation.tests.test_judges import accept, zipped
from jobs import services as jobs
from publishing.models import LoadedArchive
from scoring.models import Leaderboard
from tests.publishing.archives.conftest import archive_of, build_campaign, written
from tests.publishing.archives.test_services import load, rewritten
from tests.scoring.conftest import Scene
from tracks.models import Track

FOLDER = "extensions/metaevaluation/"
NUGGETS = b'{"qid": "A.1", "nuggets": [{"text": "owls nest in barns", "importance": "vital"}]}\n'


@pytest.fixture
def judged(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A judge of each kind, one that is withdrawn, one that could not be compared, and a released board."""
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene = build_campaign().scene
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.OPEN)
    scene.track.refresh_from_db()
    scene.submit(scene.theirs, "middling", "9 10 é")
    leaderboard = scene.leaderboard(scene.track.qrels.earliest("version"))
    accept(scene)
    bank = b"".join(NUGGETS.replace(b"A.1", code.encode()) for code in ("A.1", "A.10", "A.2"))
    submit(scene, zipped(qrels=qrels(3, 0, 2), nuggets_jsonl=bank), "j.zip", tag="fair")
    submit(scene, scores(good=0.1, middling=0.2, poor=0.3), "made.eval.txt", tag="backward")
    codes = (
        "A.1",
        "A.10",
        "A.2",
        "all",
    )  # the measure has the code of a topic, so that the form is not detected
    few_runs = "".join(f"{run} A.2 {code} 0.1\n" for run in ("good", "middling") for code in codes)
    submit(scene, few_runs.encode(), "few.eval.txt", tag="few", form="tot")
    gone = submit(scene, qrels(0, 3, 0), tag="gone")
    compare(scene, leaderboard)
    services.withdraw(judge_run=gone, by=scene.organizer)
    return scene


def findings(path: Path) -> list[Finding]:
    with Reader.of(path) as reader:
        return [part for part in verify(reader) if "judges" in part.part]


def contents(path: Path) -> dict[str, bytes]:
    with Reader.of(path) as reader:
        return {name: reader.read(name) for name in reader.names if name.startswith(FOLDER)}


def test_boards_are_computed_again(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["metaevaluation"]), tmp_path)

    judges, board = findings(path)

    assert [judges.content, judges.problem] == ["4 judges", ""]
    assert [board.content, board.problem] == ["4 results computed again from the files of judges", ""]

    def problem(name: str, change: Callable[[dict[str, Any]], object]) -> str:
        def changed(file: str, data: bytes) -> bytes:
            if file != FOLDER + name:
                return data
            first, *others = data.splitlines() if name.endswith("l") else [data]
            record = json.loads(first)
            change(record)
            return b"\n".join([json.dumps(record).encode(), *others]) + b"\n"

        return " ".join(part.problem for part in findings(rewritten(path, changed)))

    def first(record: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = next(row for row in record["results"] if row["source"] == "qrels")
        return row

    board_file = "boards/001.json"
    assert "value is 0.5" in problem(
        board_file, lambda row: first(row)["comparison"]["coefficients"][0].update(value=0.5)
    )
    assert "tables[0].rows is" in problem(board_file, lambda row: first(row)["tables"][0].update(rows=[[7]]))
    assert "could not be computed again" in problem(
        board_file, lambda row: first(row).update(source="scores")
    )
    assert "no such leaderboard" in problem(board_file, lambda row: row.update(leaderboard=9))
    assert "no team Nobody" in problem("judges.jsonl", lambda row: row.update(team="Nobody"))
    assert "does not have this digest" in problem("judges.jsonl", lambda row: row.update(sha256="0" * 64))


def test_names_that_the_archive_does_not_know_are_not_computed_again(judged: Scene, tmp_path: Path) -> None:
    board = JudgeBoard.objects.get()
    board.results.exclude(source="scores").delete()
    path = written(archive_of(judged.track, judged.organizer, parts=["metaevaluation"]), tmp_path)

    def with_pseudonym(name: str, data: bytes) -> bytes:
        return data.replace(b"good", b"R17") if name.startswith(FOLDER + "files/") else data

    board_finding = findings(rewritten(path, with_pseudonym))[1]

    assert board_finding.content.endswith("; 1 not, whose runs have names that the archive does not know")
    assert board_finding.problem == ""


def test_loaded_track_has_the_same_judges_and_boards(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["metaevaluation"]), tmp_path)
    before = contents(path)

    loaded = load(path, judged.organizer, "again")

    assert loaded.track is not None, loaded.job and loaded.job.error
    again = written(archive_of(loaded.track, judged.organizer, parts=["metaevaluation"]), tmp_path)
    assert contents(again) == before
    assert sorted(before) == [
        FOLDER + name
        for name in ("boards/001.json", "call.jsonl", "files/001.zip", "files/002.txt", "files/003.txt",
                     "files/004.qrels", "judges.jsonl")
    ]  # fmt: skip
    assert JudgeRun.objects.get(track=loaded.track, tag="few").form == "tot"
    board = JudgeBoard.objects.get(track=loaded.track)
    assert board.release == Leaderboard.Release.HIDDEN
    assert ">fair</a>" in page_of(board, judged.organizer)
    assert JudgeRun.objects.get(track=loaded.track, tag="gone").status == JudgeRun.Status.WITHDRAWN

    def broken(name: str, data: bytes) -> bytes:
        if not name.endswith("boards/001.json"):
            return data
        record = json.loads(data)
        record["results"] = [row | {"comparison": {"runs": 3}} for row in record["results"][:1]]
        return json.dumps(record).encode()

    refused = load(rewritten(path, broken), judged.organizer, "third")
    assert refused.status == LoadedArchive.Status.FAILED
