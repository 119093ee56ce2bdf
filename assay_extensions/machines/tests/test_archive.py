"""Replies of models in archives: they are read again without a model, and loaded elsewhere."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from assay.archive.contents import Reader
from assay.archive.description import metadata
from assay.archive.verify import Finding, verify
from assay.cli.main import main
from assay.protocols.loader import load_protocol
from assay_extensions.machines.judge_files.prompts import UnreadableReply
from assay_extensions.machines.model.asking import Judged, has_parser, merged, replayed
from assay_extensions.machines.model.evidence import Evidence, evidence_of
from assay_extensions.machines.site import services
from assay_extensions.machines.site.cards import store_probes
from assay_extensions.machines.site.judges import record_of_file, register
from assay_extensions.machines.site.models import JudgeRecord, ProbeReport, ReplyEvidence
from assay_extensions.machines.tests.test_evidence_pages import FILE
from assay_extensions.machines.tests.test_leases import EVIDENCE, Process, ids, judgment
from jobs import services as jobs
from publishing.models import Archive, LoadedArchive
from tests.helpers.judging import make_machine
from tests.publishing.archives.conftest import archive_of, build_campaign, written
from tests.publishing.archives.test_services import load, rewritten
from tests.scoring.conftest import Scene

REPLIES = "extensions/machines/replies.jsonl"


@pytest.fixture
def judged(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A machine judged two units and skipped one; its replies say so."""
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene = build_campaign().scene
    machine = make_machine(scene.track, scene.organizer, name="reader")
    register(machine=machine, record=record_of_file(FILE.decode(), "judge.toml"), by=scene.organizer)
    process = Process(machine, services.start(machine=machine, pool=scene.pool, by=scene.organizer))
    lease = process.lease(3)
    first, second, third = ids(lease)
    grades = {grade.key: grade.value for grade in scene.track.protocol.parsed.judging.grades}
    process.judge(
        lease,
        [
            judgment(first, "high", evidence=EVIDENCE | {"reply": f"Final score: {grades['high']}"}),
            judgment(second, "low", evidence=EVIDENCE | {"reply": f"score: 9\nscore: {grades['low']}"}),
        ],
        [{"task": third, "evidence": EVIDENCE | {"parse_status": "unreadable", "reply": "hm"}}],
    )
    probe = {
        "probe": "words",
        "title": "Words of the topic",
        "n": 9,
        "higher": 4,
        "lower": 0,
        "unanswered": 0,
    }
    report = {"protocol": "arqmath-2020-task1", "n_units": 9, "probes": [probe | {"is_weakness": True}]}
    store_probes(machine=machine, report=report, by=scene.organizer)
    return scene


def finding(path: Path) -> Finding:
    with Reader.of(path) as reader:
        return next(part for part in verify(reader) if part.part == "replies of machines")


def test_archive_verify_reads_the_replies_again(
    judged: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["machines"]), tmp_path)

    assert main(["archive", "verify", str(path)]) == 0
    assert "2 replies of judgments and 1 of skips, read again without a model" in capsys.readouterr().out


def test_metadata_names_the_machines_of_qrels(judged: Scene, tmp_path: Path) -> None:
    with Reader.of(written(archive_of(judged.track, judged.organizer), tmp_path)) as reader:
        index = reader.index
    by_machine = replace(index.qrels[0], machine="A9", machine_name="Llama judge 3.1")

    assert "rai:machineAnnotationTools" not in json.loads(metadata(index, {}))
    described = json.loads(metadata(replace(index, qrels=[by_machine, *index.qrels]), {}))
    assert described["rai:machineAnnotationTools"] == ["Llama judge 3.1"]


def test_archive_verify_says_that_there_are_no_replies(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer), tmp_path)

    assert finding(path) == Finding("replies of machines", "not read again: the archive has none")


def _row(change: Callable[[dict[str, Any]], object], line: int = 0) -> Callable[[str, bytes], bytes]:
    def changed(name: str, data: bytes) -> bytes:
        if name != REPLIES:
            return data
        rows = [json.loads(text) for text in data.splitlines()]
        change(rows[line])
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    return changed


def test_archive_verify_names_units_that_differ(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["machines"]), tmp_path)

    def problem(change: Callable[[dict[str, Any]], object], line: int = 0) -> str:
        return finding(rewritten(path, _row(change, line))).problem

    assert "and the judgment high" in problem(lambda row: row["evidence"].update(reply="score: 0"))
    assert "its reply cannot be read" in problem(lambda row: row["evidence"].update(reply="hm"))
    assert "and was unreadable" in problem(lambda row: row["evidence"].update(reply="score: 0"), 2)
    assert "no judgment 99 of this unit" in problem(lambda row: row.update(judgment=99))
    assert "no machine A9" in problem(lambda row: row.update(assessor="A9"))
    of_others = finding(rewritten(path, _row(lambda row: row["evidence"].update(parser="mine/7"))))
    assert of_others.content.endswith("; 1 whose parser Assay does not have")
    assert of_others.is_right


def test_loaded_track_has_the_judge_and_the_replies(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["machines"]), tmp_path)

    loaded = load(path, judged.organizer, "again")

    assert loaded.track is not None, loaded.job and loaded.job.error
    old, new = (JudgeRecord.objects.get(machine__assessor__track=t) for t in (judged.track, loaded.track))
    assert old.record == new.record
    kept = ReplyEvidence.objects.filter(machine__assessor__track=loaded.track).order_by("pk")
    assert [row.judgment and row.judgment.choice for row in kept] == ["high", "low"]
    (tmp_path / "again").mkdir()
    again = written(archive_of(loaded.track, judged.organizer, parts=["machines"]), tmp_path / "again")
    assert finding(again).content.startswith("2 replies of judgments and 0 of skips")
    old_probes, new_probes = (
        ProbeReport.objects.get(machine__assessor__track=t) for t in (judged.track, loaded.track)
    )
    assert (new_probes.report, new_probes.created_at) == (old_probes.report, old_probes.created_at)
    for name in ("probes.jsonl", "cards.jsonl"):
        with Reader.of(path) as before, Reader.of(again) as after:
            file = f"extensions/machines/{name}"
            assert after.read(file).replace(b"@again", b"@arq") == before.read(file)


def test_archive_with_impossible_values_is_refused(judged: Scene, tmp_path: Path) -> None:
    path = written(archive_of(judged.track, judged.organizer, parts=["machines"]), tmp_path)

    def error(change: Callable[[dict[str, Any]], object]) -> str:
        loaded = load(rewritten(path, _row(change)), judged.organizer, "again")
        assert loaded.status == LoadedArchive.Status.FAILED
        assert loaded.job is not None
        return loaded.job.error

    assert "less than or equal to" in error(lambda row: row["evidence"].update(tokens_in=10**20))
    assert "cannot be stored" in error(lambda row: row["evidence"].update(model="\0"))
    assert "not a time" in error(lambda row: row.update(created_at="now"))


def test_page_makes_an_archive_with_replies(judged: Scene) -> None:
    client = Client()
    client.force_login(judged.organizer)
    address = f"/tracks/{judged.track.slug}/archives/"

    assert "judges, and the replies of models" in client.get(address).content.decode()
    client.post(address, {"form": "archive", "parts": ["machines"]})
    archive = Archive.objects.get()
    assert archive.job is not None
    jobs.run(archive.job.pk)

    assert archive.parts == ["machines"]
    assert "; judges, and the replies of models" in client.get(address).content.decode()
    assert client.post(address, {"form": "archive", "parts": ["other"]}).status_code == 200
    assert Archive.objects.count() == 1


def test_replies_to_members_are_read_again_by_member() -> None:
    grades = [
        {"key": grade.key, "grade": grade.value}
        for grade in load_protocol("arqmath-2020-task1").judging.grades
    ]
    names = {grade["grade"]: grade["key"] for grade in grades}

    def judge(reply: str) -> Judged:
        return Judged("", "", 0.0, evidence_of(EVIDENCE | {"reply": reply}))

    single, both = (
        merged([("a", judge("score: 3"))]),
        merged([("a", judge("score: 3")), ("b", judge('["score: 0"]'))]),
    )

    assert single is not None
    assert both is not None
    assert replayed(single, grades) == {"": names[3]}
    assert replayed(both, grades) == {"a": names[3], "b": names[0]}
    assert has_parser(both)
    assert evidence_of(both.as_json()) == both
    broken = Evidence("a" * 64, "[1]", both.parser, "read")
    with pytest.raises(UnreadableReply, match="not the reply of members/1"):
        replayed(broken, grades)
