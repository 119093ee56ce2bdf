"""Archives: made, verified, and loaded into an empty installation."""

import json
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files import File
from django.core.management import call_command
from django.db import IntegrityError

from accounts.models import User
from assay.archive import contents
from assay.archive.contents import Contents, Reader
from assay.archive.files import CHECKSUMS, Writer
from assay.archive.verify import Finding, verify
from assay.cli.main import main
from assay.digests import sha256_of
from assay.errors import Refused
from assay.extensions import installed
from assay.protocols.loader import load_protocol
from assay.statistics.leaderboard import leaderboard_statistics
from assay_extensions.analyses.site.report_pages import reports_page
from assessment.models import Judgment
from jobs import services as jobs
from pooling.models import Run
from publishing.archives import gathering, services
from publishing.models import Archive, LoadedArchive
from scoring.leaderboards.files import leaderboard_file
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.services import freeze_judgments
from tests.helpers.factories import make_organizer, make_track
from tests.publishing.archives.conftest import Campaign, build_campaign
from tests.publishing.archives.fields import ARCHIVED, LEFT_OUT, compared_fields, differences, names_of_models
from tests.scoring.conftest import build_scene
from tracks.models import Machine, StoredProtocol, Topic, Track


def findings_of(path: Path) -> list[Finding]:
    with Reader.of(path) as reader:
        return list(verify(reader))


def load(path: Path, by: User, slug: str = "") -> LoadedArchive:
    with path.open("rb") as file:
        loaded = services.load_upload(upload=File(file, name=path.name), by=by, slug=slug)
    assert loaded.job is not None
    jobs.run(loaded.job.pk)
    loaded.refresh_from_db()
    return loaded


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """A copy of an archive with other contents, and the checksums of these."""
    with zipfile.ZipFile(path) as archive:
        folder = archive.namelist()[0].partition("/")[0]
        members = {name.removeprefix(f"{folder}/"): archive.read(name) for name in archive.namelist()}
    other = path.with_name("other.zip")
    with other.open("wb") as file:
        writer = Writer(file, folder)
        for name, data in members.items():
            if name != CHECKSUMS:
                writer.add(name, [change(name, data)])
        writer.close()
    return other


@pytest.mark.django_db(transaction=True)
def test_an_empty_installation_gives_the_same_leaderboard(tmp_path: Path) -> None:
    campaign = build_campaign()
    before = tables_of(campaign.board)
    n_judgments = Judgment.objects.count()
    path = campaign.file(tmp_path)
    call_command("flush", interactive=False, verbosity=0)

    loaded = load(path, make_organizer("olga"))

    assert loaded.job is not None
    loaded.job.refresh_from_db()
    assert loaded.status == LoadedArchive.Status.LOADED, loaded.job.error
    assert not loaded.file
    assert tables_of(Leaderboard.objects.get()) == before
    assert Judgment.objects.count() == n_judgments
    assert Judgment.objects.filter(is_current=False, replaced_by__isnull=False).count() == 1
    assert Run.objects.filter(status=Run.Status.WITHDRAWN).count() == 1
    late = Run.objects.get(status=Run.Status.DISQUALIFIED)
    assert [(change.kind, change.text) for change in late.changes.all()] == [
        ("disqualified", "It used the qrels.")
    ]
    assert Judgment.objects.filter(assessor__is_machine=True).count() == 2
    assert Topic.objects.get(code="A.1").labels == {"category": "proof"}
    track = Track.objects.get()
    assert track.status == Track.Status.CLOSED
    assert track.guidelines is not None
    assert "<em>well</em>" in track.guidelines.html
    assert not User.objects.filter(username="arq-a1", is_active=True).exists()


def test_every_field_is_in_archives_or_left_out_for_a_reason() -> None:
    """The fields that are not left out are compared with those of a loaded track, see below."""
    fields = {
        f"{label}.{field.name}" for label in ARCHIVED for field in apps.get_model(label)._meta.concrete_fields
    }

    assert ARCHIVED.keys() | {name for name in LEFT_OUT if name.count(".") == 1} == names_of_models()
    assert not ARCHIVED.keys() & LEFT_OUT.keys()
    assert {name for name in LEFT_OUT if name.count(".") == 2} <= fields, (
        "a reason for a field that is no more"
    )
    assert all(compared_fields(label) for label in ARCHIVED)


def tables_of(board: Leaderboard) -> list[str]:
    files = [leaderboard_file(board, kind) for kind in ("tsv", "csv", "json", "tex")]
    sections = reports_page(board.created_by, board).sections
    return files + [repr(section.tables) for section in sections]


@pytest.mark.django_db
def test_a_loaded_track_gives_an_equal_archive(campaign: Campaign, tmp_path: Path) -> None:
    path = campaign.file(tmp_path, has_comments=True)
    loaded = load(path, campaign.scene.organizer, slug="again")
    assert loaded.track is not None
    assert list(differences(campaign.scene.track, loaded.track)) == []
    again = Campaign(campaign.scene, campaign.board)
    again.scene.track = loaded.track

    with Reader.of(again.file(tmp_path / "..")) as reader, Reader.of(path) as first:
        same = {name for name in first.names & reader.names if first.sums.get(name) == reader.sums.get(name)}

        assert first.names == reader.names
        assert {"topics.jsonl", "pools/1/pool.tsv", "pools/2/contributions.tsv", "qrels/1.tsv"} <= same
        assert {"leaderboards/1/scores.tsv", "leaderboards/1/leaderboard.tsv", "runs/001.tsv"} <= same
        assert {f"leaderboards/1/analyses/{n}.json" for n in (1, 2, 3)} <= same
        assert first.index.leaderboards[0].evaluations == reader.index.leaderboards[0].evaluations
        assert [each.seconds for each in first.index.sessions] == [61.5, None]
        assert first.index.sessions == reader.index.sessions
        assert first.index.leaderboards[0].statistics == reader.index.leaderboards[0].statistics


@pytest.mark.django_db
def test_intervals_are_verified_by_the_method_that_their_leaderboard_records(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign's own leaderboard has the method of today."""
    old_method = partial(leaderboard_statistics, method="bca")
    monkeypatch.setattr("scoring.leaderboards.services.leaderboard_statistics", old_method)
    board = campaign.scene.leaderboard(campaign.board.qrels)
    assert board.statistics["n_resamples"] == 10_000
    assert (campaign.board.statistics["intervals"], board.statistics.get("intervals")) == ("skewed-t", None)

    assert main(["archive", "verify", "--quiet", str(campaign.file(tmp_path))]) == 0
    Leaderboard.objects.filter(pk=board.pk).update(statistics=board.statistics | {"intervals": "skewed-t"})
    assert main(["archive", "verify", "--quiet", str(campaign.file(tmp_path / ".."))]) == 1

    assert "statistics" in capsys.readouterr().out


@pytest.mark.django_db
def test_an_archive_is_right_and_says_what_it_contains(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = campaign.file(tmp_path, license="CC BY 4.0", authors="Olga & Co.", url="https://example.org/arq")

    assert main(["archive", "verify", "--quiet", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "pool “Second”: 3 units from 3 runs, built again with seed 3" in printed
    assert "campaign.zip: ARQ, everything is right" in printed
    with Reader.of(path) as reader:
        assert Contents(reader).known_items(load_protocol("ntcir-11-math")) == {"A.1": {"9"}}
        assert "runs: 4; teams: 2" in reader.read("README.md").decode()
        assert "Machines that judged: " in reader.read("README.md").decode()
        assert "author       = {Olga \\& Co.}" in reader.read("CITATION.bib").decode()
        dataset = json.loads(reader.read("metadata.json"))
        assert dataset["license"] == "CC BY 4.0"
        fields = {field["name"]: field["source"] for field in dataset["recordSet"][0]["field"]}
        line = reader.read("qrels/1.tsv").decode().splitlines()[0]
        parts = [re.fullmatch(source["transform"]["regex"], line) for source in fields.values()]
        columns = [part[1] for part in parts if part]
        assert (list(fields), columns) == (
            ["topic", "docno", "grade"],
            [line.split("\t")[n] for n in (0, 2, 3)],
        )
        assert {"@language", "cr", "rai", "citeAs", "recordSet", "transform"} <= dataset["@context"].keys()
        assert "sha256" not in dataset["@context"], "it is a term of schema.org"
        judgments = reader.read("judgments.jsonl").decode()
        assert not re.search(r"\bada\b", judgments)
        assert "second thoughts" not in judgments


@pytest.mark.django_db
def test_qrels_of_a_machine_name_it_in_every_file_of_the_archive(campaign: Campaign, tmp_path: Path) -> None:
    scene, machine = campaign.scene, Machine.objects.get()
    name = f"{machine.name} {machine.version}"
    version = freeze_judgments(pool=scene.pool, machine=machine, by=scene.organizer).version

    with Reader.of(campaign.file(tmp_path)) as reader:
        own = next(qrels for qrels in reader.index.qrels if qrels.version == version)
        readme = reader.read("README.md").decode()
        records = {each["name"]: each for each in json.loads(reader.read("metadata.json"))["recordSet"]}

    sentence = f"the grades of the machine {name}, and not of people"
    assert (own.machine_name, bool(own.machine)) == (name, True)
    assert f"Machines that judged: {name}" in readme
    assert f"Version {version} of the qrels: {sentence}" in readme
    assert re.search(
        rf"Version {campaign.board.qrels.version} of the qrels: judged by \d people, .* by several; .*\.",
        readme,
    )
    assert sentence in records[f"qrels-{version}"]["description"]
    assert "machine" not in records[f"qrels-{campaign.board.qrels.version}"]["description"]


@pytest.mark.django_db
def test_names_and_comments_are_there_if_asked_for(campaign: Campaign, tmp_path: Path) -> None:
    path = campaign.file(tmp_path, has_names=True, has_comments=True)

    with Reader.of(path) as reader:
        judgments = reader.read("judgments.jsonl").decode()
        assert '"ada"' in judgments
        assert "on second thoughts" in judgments
    assert all(finding.is_right for finding in findings_of(path))


@pytest.mark.django_db
def test_runs_that_do_not_fit_into_memory_are_verified_likewise(
    archive_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []
    for most_rows in (contents.MOST_ROWS, 4, 0):
        monkeypatch.setattr(contents, "MOST_ROWS", most_rows)
        assert main(["archive", "verify", "--quiet", str(archive_file)]) == 0
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1] == printed[2]


@pytest.mark.django_db
def test_changed_contents_are_found(archive_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def other_grade(name: str, data: bytes) -> bytes:
        return data.replace(b"A.1\t0\t10\t1", b"A.1\t0\t10\t3") if name == "qrels/1.tsv" else data

    def other_score(name: str, data: bytes) -> bytes:
        return data.replace(b"\t1.0\n", b"\t0.9\n", 1) if name.endswith("scores.tsv") else data

    def other_unit(name: str, data: bytes) -> bytes:
        return data.replace(b"A.2\t9\t", b"A.2\t8\t") if name == "pools/1/pool.tsv" else data

    def other_analysis(name: str, data: bytes) -> bytes:
        return re.sub(rb'"n_relevant": \d+', b'"n_relevant": 77', data) if "/analyses/" in name else data

    def other_kind(name: str, data: bytes) -> bytes:
        return other_analysis(name, data).replace(b'"kind": "reusability"', b'"kind": "judges"')

    wrong = {change: [f.part for f in findings_of(rewritten(archive_file, change)) if not f.is_right] for change in
             (other_grade, other_score, other_unit, other_analysis)}  # fmt: skip

    assert wrong[other_grade] == [
        "qrels version 1", "leaderboard 1", "analysis “compare” of leaderboard 1",
        "analysis “reusability” of leaderboard 1",
    ]  # fmt: skip
    assert wrong[other_score] == ["leaderboard 1", "analysis “topics” of leaderboard 1"]
    assert wrong[other_analysis] == ["analysis “reusability” of leaderboard 1"]
    assert wrong[other_unit] == ["pool “First”", "pool “Second”", "judgments"]
    assert main(["archive", "verify", "--quiet", str(rewritten(archive_file, other_score))]) == 1
    assert "WRONG  leaderboard 1" in capsys.readouterr().out
    assert main(["archive", "verify", "--quiet", str(rewritten(archive_file, other_kind))]) == 2
    assert "judges: missing" in capsys.readouterr().err


@pytest.mark.django_db
def test_forged_qrels_are_found_if_all_digests_are_made_again(
    archive_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Reader.of(archive_file) as reader:
        data = reader.read("qrels/1.tsv")
    line = next(line for line in data.splitlines() if line.endswith(b"\t1"))
    forged = data.replace(line, line[:-1] + b"3")

    def forge(name: str, content: bytes) -> bytes:
        digests = sha256_of(data).encode(), sha256_of(forged).encode()
        return {"qrels/1.tsv": forged, "archive.json": content.replace(*digests)}.get(name, content)

    assert main(["archive", "verify", "--quiet", str(rewritten(archive_file, forge))]) == 1
    topic, _, docno, _ = line.decode().split()
    assert f"{topic} {docno} has grade 3, and its judgments give another" in capsys.readouterr().out


@pytest.mark.django_db
def test_lines_left_out_of_qrels_or_added_are_found_if_all_digests_are_made_again(
    archive_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Reader.of(archive_file) as reader:
        data = reader.read("qrels/1.tsv")
    first, *rest = data.splitlines(keepends=True)
    topic, _, docno, _ = first.decode().split()
    forged = b"".join([f"{topic}\t0\tunjudged\t1\n".encode(), *rest])

    def forge(name: str, content: bytes) -> bytes:
        digests = sha256_of(data).encode(), sha256_of(forged).encode()
        return {"qrels/1.tsv": forged, "archive.json": content.replace(*digests)}.get(name, content)

    assert main(["archive", "verify", "--quiet", str(rewritten(archive_file, forge))]) == 1
    output = capsys.readouterr().out
    assert f"{topic} {docno} is left out, and its judgments give a grade" in output
    assert f"{topic} unjudged has grade 1, and nobody judged it" in output


@pytest.mark.django_db
def test_a_wrong_archive_is_not_loaded(archive_file: Path) -> None:
    def other_score(name: str, data: bytes) -> bytes:
        return data.replace(b"\t1.0\n", b"\t0.9\n", 1) if name.endswith("scores.tsv") else data

    loaded = load(rewritten(archive_file, other_score), make_organizer())

    assert loaded.status == LoadedArchive.Status.FAILED
    assert loaded.job is not None
    loaded.job.refresh_from_db()
    assert "Wrong: 2 of 15 parts. The first, leaderboard 1: " in loaded.job.error
    assert not Track.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("assay.archive.contents.build_pool", ValueError("operands could not be broadcast together")),
        ("assay_extensions.analyses.archive.check_result", ValueError("not enough values to unpack")),
        ("publishing.archives.loading._boards", IntegrityError("null value in column")),
    ],
)
def test_a_fault_of_ours_fails_the_job_and_is_not_called_a_fault_of_the_archive(
    place: str, error: Exception, archive_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, lambda *_, **__: (_ for _ in ()).throw(error))

    loaded = load(archive_file, make_organizer())

    assert loaded.status == LoadedArchive.Status.FAILED
    assert loaded.job is not None
    loaded.job.refresh_from_db()
    assert loaded.job.error == "An unexpected error occurred. The log of the worker has the details."


@pytest.mark.django_db
def test_a_track_of_the_same_name_is_not_replaced(archive_file: Path) -> None:
    make_track("arq")

    loaded = load(archive_file, make_organizer())

    assert loaded.job is not None
    loaded.job.refresh_from_db()
    assert "already a track with the short name arq" in loaded.job.error
    assert not Qrels.objects.exists()


@pytest.mark.django_db
def test_protocol_with_the_slug_of_another_text_keeps_its_text_under_its_own_slug(
    campaign: Campaign, tmp_path: Path
) -> None:
    """As after an upgrade to a release that ships another text of the protocol."""
    path, protocol = campaign.file(tmp_path), campaign.scene.track.protocol
    other = f"# another release\n{protocol.text}"
    StoredProtocol.objects.filter(pk=protocol.pk).update(text=other, digest=sha256_of(other.encode()))

    loaded = load(path, campaign.scene.organizer, slug="again")

    assert loaded.track is not None
    own = loaded.track.protocol
    assert (own.slug, own.text) == (f"{protocol.slug}-{protocol.digest[:8]}", protocol.text)
    again = Campaign(campaign.scene, Leaderboard.objects.get(track=loaded.track))
    again.scene.track = loaded.track
    assert all(each.is_right for each in findings_of(again.file(tmp_path / "..")))


@pytest.mark.django_db
def test_a_draft_and_a_second_archive_at_a_time_are_refused(campaign: Campaign) -> None:
    scene = campaign.scene
    services.request(track=scene.track, by=scene.organizer)

    with pytest.raises(Refused, match="being made already"):
        services.request(track=scene.track, by=scene.organizer)
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.DRAFT)
    with pytest.raises(Refused, match="is a draft"):
        services.request(track=scene.track, by=scene.organizer)


@pytest.mark.parametrize("content", [b"text", b""])
def test_other_files_are_refused(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)

    assert main(["archive", "verify", "--quiet", str(path)]) == 2
    assert "x.zip: The file is not a zip archive." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "value"),
    [(10, zipfile.ZIP_LZMA), (10, zipfile.ZIP_BZIP2), (8, 1)],
    ids=["lzma", "bzip2", "encrypted"],
)
def test_archive_with_another_compression_or_a_password_is_refused(
    place: int, value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = zip_of(tmp_path / "x.zip", {"t/archive.json": b"{}", "t/SHA256SUMS": b""})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + place] = value  # of the first file, in the list of files
    path.write_bytes(content)

    assert main(["archive", "verify", "--quiet", str(path)]) == 2
    assert "archive.json is encrypted, or not compressed by deflate." in capsys.readouterr().err


def test_archive_with_any_wrong_byte_is_refused_and_a_fault_of_ours_is_not_called_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zip_of(tmp_path / "x.zip", {"t/archive.json": b"{}", "t/SHA256SUMS": b""})
    content = path.read_bytes()

    for place in range(len(content)):
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        assert main(["archive", "verify", "--quiet", str(path)]) == 2, place
    capsys.readouterr()

    path.write_bytes(content)
    for fault in (AttributeError, TypeError, MemoryError, KeyError):
        with monkeypatch.context() as broken:
            broken.setattr(zipfile.ZipFile, "open", lambda *_, of=fault: (_ for _ in ()).throw(of("ours")))
            with pytest.raises(fault):
                main(["archive", "verify", "--quiet", str(path)])


WRONG_VALUES: list[tuple[str, str, Callable[[Any], object], str]] = [
    ("topics", "", lambda made: made["result"]["runs"].append(3), "runs[3]: expected a table, got 3"),
    ("topics", "", lambda made: made["result"].pop("runs"), "runs: missing"),
    ("compare", "", lambda made: made["result"].update(runs={"run": 1}), "runs: expected a list"),
    ("compare", "", lambda made: made["result"]["runs"][0].update(run=[1]), "runs[1].run: expected a whole number"),
    ("compare", "", lambda made: made["result"]["runs"][0].update(run=77), "runs names what the archive does not"),
    ("compare", "", lambda made: made.update(qrels=[9]), "qrels names what the archive does not have"),
    ("reusability", "", lambda made: made["result"].update(pooled=[{}]), "pooled[1].run: missing"),
    ("reusability", "", lambda made: made.update(kind="magic"), "there is no analysis of the kind 'magic'"),
    ("reusability", "", lambda made: made.update(seed=-1), "a seed below 0"),
    ("", "qrels", lambda made: made["report"].update(unjudged=7), "qrels version 1: unjudged: expected a table"),
    ("", "qrels", lambda made: made["report"].update(dropped=None), "qrels version 1: dropped: expected a list"),
    ("", "qrels", lambda made: made["report"].update(non_answers=[{"choice": "x"}]), "non_answers has a choice"),
    ("", "qrels", lambda made: made["report"].update(set="a", relevant_from="b"), "relevant_from: expected a whole"),
    ("", "leaderboards", lambda made: made.update(disqualified=[77]), "it names 77, which it does not have"),
    ("", "runs", lambda made: made["report"].update(errors=[[]]), "errors[1]: expected a table"),
    ("", "leaderboards", lambda made: made["statistics"].update(intervals=["x"]), "there are no intervals ['x']"),
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(("analysis", "part", "damage", "message"), WRONG_VALUES)
def test_values_of_another_form_are_named_by_verify_and_loading(
    analysis: str,
    part: str,
    damage: Callable[[Any], object],
    message: str,
    archive_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def change(name: str, data: bytes) -> bytes:
        if name != "archive.json" and not (analysis and "/analyses/" in name):
            return data
        content = json.loads(data)
        if content.get("kind") == analysis or (part and name == "archive.json"):
            damage(content[part][0] if part else content)
        return json.dumps(content).encode()

    path = rewritten(archive_file, change)

    if "which it does not have" not in message:  # of what is not computed with
        assert main(["archive", "verify", "--quiet", str(path)]) == 2
        assert message in capsys.readouterr().err
    loaded = load(path, make_organizer())
    assert loaded.job is not None
    assert message in loaded.job.error
    assert not Track.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("fault", [AttributeError, TypeError, KeyError, IndexError])
def test_fault_of_ours_in_an_analysis_or_a_page_is_not_called_damage(
    fault: type[Exception], archive_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise fault("ours")

    for place in ("archive.by_versions", "site.archive.reports_page"):
        with monkeypatch.context() as patch:
            patch.setattr(f"assay_extensions.analyses.{place}", broken)
            if place.startswith("archive"):
                with pytest.raises(fault, match="ours"):
                    findings_of(archive_file)
            loaded = load(archive_file, make_organizer(place))

        assert loaded.job is not None
        assert loaded.job.error == "An unexpected error occurred. The log of the worker has the details."
        assert not Track.objects.exists()


@pytest.mark.django_db
def test_archive_with_analyses_names_the_extension_that_it_needs(
    archive_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_EXTENSIONS", "none")
    installed.cache_clear()
    try:
        wrong = [finding for finding in findings_of(archive_file) if not finding.is_right]
        loaded = load(archive_file, make_organizer("maud"))
    finally:
        installed.cache_clear()

    problem = "the extension analyses is not installed, or ASSAY_EXTENSIONS leaves it out"
    assert [(finding.part, finding.problem) for finding in wrong] == [("analyses of leaderboard 1", problem)]
    assert loaded.job is not None
    assert problem in loaded.job.error


def zip_of(path: Path, names: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"a.txt": b""}, "is not an archive of a track"),
        ({"t/archive.json": b"{}", "../evil": b""}, "does not belong in an archive"),
        ({"t/archive.json": b"{}"}, "SHA256SUMS is missing"),
        ({"t/archive.json": b"{}", "t/SHA256SUMS": b"what"}, "line 1: expected a SHA-256"),
        ({"t/archive.json": b"{}", "t/SHA256SUMS": b""}, "does not have the digest"),
    ],
)
def test_damaged_archives_are_refused(
    names: dict[str, bytes], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = zip_of(tmp_path / "x.zip", names)

    assert main(["archive", "verify", "--quiet", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_small_archive_does_not_fill_the_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run of zeros has 20 MB in 20 kB; the checksums are 15 MB of line ends."""
    path = tmp_path / "x.zip"
    for names, message in (
        ({"t/archive.json": b"{}", "t/runs/1.txt": bytes(20 << 20)}, "runs/1.txt decompresses to more than 100 times"),
        ({"t/archive.json": b"{}", "t/SHA256SUMS": b"\n" * (15 << 20)}, "line 1: expected a SHA-256"),
        ({"t/archive.json": b" " * (65 << 20)}, "archive.json decompresses"),
    ):  # fmt: skip
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in names.items():
                archive.writestr(name, data)

        tracemalloc.start()
        assert main(["archive", "verify", "--quiet", str(path)]) == 2
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert message in capsys.readouterr().err
        assert peak < 32 << 20


def test_an_index_that_is_too_long_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "x.zip").open("wb") as file:
        writer = Writer(file, "t", level=0)
        writer.add("archive.json", [b" " * (65 << 20)])
        writer.close()

    assert main(["archive", "verify", "--quiet", str(tmp_path / "x.zip")]) == 2
    assert "archive.json has more than 64 MB" in capsys.readouterr().err


@pytest.mark.django_db
def test_archive_that_could_not_be_read_again_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = build_campaign().scene
    monkeypatch.setattr(gathering, "MAX_JSON", 1000)

    archive = services.request(track=scene.track, by=scene.organizer)
    assert archive.job is not None
    jobs.run(archive.job.pk)

    archive.refresh_from_db()
    archive.job.refresh_from_db()
    assert archive.status == Archive.Status.FAILED
    assert "and at most 0 MB can be read again" in archive.job.error


@pytest.mark.django_db
def test_a_list_of_numbers_is_one_line_of_the_index(archive_file: Path) -> None:
    with zipfile.ZipFile(archive_file) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/archive.json"))
        lines = archive.read(name).decode().splitlines()

    p_values = [line for line in lines if '"p":' in line]
    assert p_values
    assert all(re.search(r'"p": \[[\d.,]+\]', line) for line in p_values)


@pytest.mark.django_db
def test_commands_load_and_archive(
    archive_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_organizer("olga")

    call_command("load_archive", str(archive_file), "--slug", "again", "--by", "olga")
    call_command("archive_track", "again", str(tmp_path / "a.zip"), "--by", "olga")

    assert f"{archive_file}: loaded as the track again" in capsys.readouterr().out
    assert Track.objects.get(slug="again").leaderboards.count() == 1
    assert all(finding.is_right for finding in findings_of(tmp_path / "a.zip"))


@pytest.mark.django_db
def test_deleting_removes_the_file(
    archive_file: Path, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]]
) -> None:
    loaded = load(archive_file, make_organizer("olga"))
    archive = services.request(track=Track.objects.get(), by=loaded.created_by)
    jobs.run(archive.job_id)
    archive.refresh_from_db()
    storage, name = archive.file.storage, archive.file.name

    with django_capture_on_commit_callbacks(execute=True):
        services.delete(archive=archive)

    assert name
    assert not Archive.objects.exists()
    assert not storage.exists(name)


def test_left_out_topics_and_corrections_are_verified_and_loaded(campaign: Campaign, tmp_path: Path) -> None:
    scene, old = campaign.scene, campaign.board.qrels
    topic = min(scene.topics)
    version = qrels_services.freeze_judgments(
        pool=scene.pool, by=scene.organizer, left_out={topic: "Two readings."}
    )
    qrels_services.supersede(old=old, new=version, reason="A topic was unclear.", by=scene.organizer)
    path = campaign.file(tmp_path)

    loaded = load(path, scene.organizer, slug="copy")

    assert [finding.problem for finding in findings_of(path) if not finding.is_right] == []
    copy = Qrels.objects.get(track=loaded.track, version=version.version)
    assert copy.supersedes is not None
    assert (copy.supersedes.version, copy.supersedes_reason) == (old.version, "A topic was unclear.")
    assert copy.report["left_out_topics"][0]["reason"] == "Two readings."


@pytest.mark.django_db
def test_qrels_of_one_group_are_verified_with_their_own_level_of_relevance(tmp_path: Path) -> None:
    """In NTCIR-12, the grades of two judges are summed; what one group judged is relevant from another grade."""
    scene = build_scene("ntcir-12-wikipedia")
    scene.submit_lines(
        scene.ours, "run", [f"A.1 1 {docno} {n} {-n} run\n" for n, docno in enumerate(("10", "9"), 1)]
    )
    Qrels.objects.filter(pk=(qrels := scene.qrels()).pk).update(report=qrels.report | {"group": "graduate"})
    board = scene.leaderboard(Qrels.objects.get())
    scene.pool.entries.all().delete()
    scene.pool.delete()

    findings = findings_of(Campaign(scene, board).file(tmp_path))

    assert [finding.problem for finding in findings if not finding.is_right] == []
