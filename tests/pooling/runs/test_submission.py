"""Runs of all formats, submitted on the page."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pyarrow import parquet

from accounts.models import User
from assay.formats.runs import columns
from assay.formats.runs.examples import EXAMPLES, accepted_forms, rules_of
from assay.formats.runs.reader import check_run
from assay.protocols.loader import load_protocol, parse_protocol, shipped_slugs, shipped_text
from assay.protocols.schema import RUN_FORMATS
from corpus.models import Document
from participation.models import Team
from participation.teams import services as team_services
from pooling.errors import RunRefused, SubmissionRefused
from pooling.models import Run
from pooling.runs import services as run_services
from scoring.qrels.selectors import qrels_columns
from tests.helpers.factories import (
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.form_runs import BOLT_TOPICS, NTCIR_TOPICS, bolt_run, ntcir_run
from tests.helpers.letters import deliver_at_once
from tests.helpers.runs import BROKEN, GOOD
from tests.pooling.conftest import Scene
from tracks.models import StoredProtocol, Track

pytestmark = pytest.mark.django_db


@dataclass
class Desk:
    """A member of a team at the submission page of a track."""

    track: Track
    team: Team
    member: User
    client: Client

    def send(self, data: bytes, *, name: str = "run.xml", **fields: Any) -> Any:
        form = {
            "team": self.team.pk,
            "kind": "primary",
            "tag": "",
            "made": "automatic",
            "uses": "both",
            "description": "",
            "action": "submit",
            "file": SimpleUploadedFile(name, data),
        }
        return self.client.post(reverse("pooling:submit", args=[self.track.slug]), form | fields)


def desk(slug: str, topics: list[str]) -> Desk:
    track = make_track(protocol=slug, collection=None)
    for topic in topics:
        make_topic(track, topic)
    member = make_user("olive")
    team = team_services.create(track=track, name="Owls", members=[member])
    client = Client()
    client.force_login(member)
    return Desk(track, team, member, client)


@pytest.fixture
def bolt(folder: Path) -> Desk:
    return desk("bolt-ir-p3", BOLT_TOPICS)


@pytest.fixture
def ntcir(folder: Path) -> Desk:
    return desk("ntcir-12-wikipedia", NTCIR_TOPICS)


def test_citations_are_submitted_through_the_page(bolt: Desk) -> None:
    answer = bolt.send(bolt_run(), kind="evaluation")

    run = Run.objects.get()
    assert answer.status_code == 302
    assert (run.tag, run.n_lines, run.kind) == ("Owls-evaluation", 6, "evaluation")
    stored = columns.load(Path(run.columns.path))
    assert stored.passage is not None
    assert stored.passage[0].decode() == "The owls of the harbor sing at 0 o'clock."


def test_refused_citations_are_shown_with_their_lines(bolt: Desk) -> None:
    answer = bolt.send(bolt_run('offset="0"', 'offset="-4"'), kind="evaluation")

    page = answer.content.decode()
    assert "offset “-4” is not a whole number of at least 0" in page
    assert "&lt;cite score=" in page
    assert "Download the repaired file" not in page
    assert not Run.objects.exists()


def test_results_xml_is_submitted_through_the_page(ntcir: Desk) -> None:
    ntcir.send(ntcir_run())

    assert Run.objects.get().tag == "ours"


def test_results_without_a_tag_take_the_tag_of_the_form(ntcir: Desk) -> None:
    text = ntcir_run().decode()
    result = text[text.index("<result ") : text.index("</result>") + len("</result>")].encode()

    ntcir.send(result, tag="owls-2")
    ntcir.send(result.replace(b"0.9", b"0.95"))

    assert set(Run.objects.values_list("tag", flat=True)) == {"owls-2", "Owls-primary"}


def test_a_file_with_nested_entities_gets_a_report(ntcir: Desk) -> None:
    bomb = b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><results>&b;</results>'

    answer = ntcir.send(bomb)

    assert answer.status_code == 200
    assert "declares a document type" in answer.content.decode()


@pytest.mark.parametrize("slug", shipped_slugs())
def test_page_shows_each_format_with_an_example(slug: str, folder: Path) -> None:
    owls = desk(slug, ["T1"])

    page = owls.client.get(reverse("pooling:submit", args=[owls.track.slug])).content.decode()

    for form in accepted_forms(load_protocol(slug)):
        assert escape(form.title) in page
        assert escape(form.example) in page
    for rule in rules_of(load_protocol(slug)):
        assert escape(rule) in page
    rules = owls.track.protocol.parsed.runs
    names_run = "bolt-xml" not in rules.formats and (rules.columns is None or "tag" in rules.columns.order)
    assert ("Empty: the tag in the file." in page) == names_run  # BOLT and the columns of SemEval have no tag


def test_ranks_out_of_range_are_named_and_refused_where_the_protocol_says_so(folder: Path) -> None:
    owls = desk("arqmath-2020-task1", ["A.1"])
    from_0 = b"A.1\t1\t0\t9.5\tours\nA.1\t2\t1\t8.5\tours\n"
    text = shipped_text("arqmath-2020-task1").replace('out_of_range_ranks = "error"\n', "")

    refused = owls.send(from_0, name="run.tsv")
    repaired = owls.send(from_0.replace(b"\t1\t8", b"\t2\t8").replace(b"\t0\t", b"\t1\t"), name="run.tsv")
    StoredProtocol.objects.filter(pk=owls.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    warned = owls.send(from_0.replace(b"ours", b"more"), name="run.tsv", action="check").content.decode()

    assert all("the rank is outside 1 to 1,000" in page for page in (warned, refused.content.decode()))
    assert "Download the repaired file" in refused.content.decode()
    assert (refused.status_code, repaired.status_code, Run.objects.count()) == (200, 302, 1)


def test_one_answer_per_topic_is_submitted_and_a_second_one_refused(folder: Path) -> None:
    owls = desk("arqmath-2022-task3", ["A.301", "A.302"])

    refused = owls.send(b"ours A.301 x1\nours A.301 x2\n", name="run.tsv")
    accepted = owls.send(b"ours A.301 x1\nours A.302 x2\n", name="run.tsv")

    assert "topic “A.301” has 2 documents" in refused.content.decode()
    assert accepted.status_code == 302
    run = Run.objects.get()
    assert (run.tag, columns.load(Path(run.columns.path)).rank.tolist()) == ("ours", [1, 1])


NAMED_COLUMNS = """max_ranks = 1000

[runs.columns]
order = ["topic", "docno", "rank", "score"]
header = ["topic_id", "tweet id", "rank", "score"]
separator = "tab"
"""
NAMED_QRELS = """[qrels]
aggregate = "single"

[qrels.columns]
order = ["topic", "docno", "skip", "grade"]
header = ["topic_id", "tweet_id", "tweet_text", "check_worthiness"]
separator = "tab"
"""


def test_runs_and_qrels_whose_first_line_names_the_columns_go_through_the_pages(folder: Path) -> None:
    owls, olga = desk("trec-adhoc", ["T1"]), Client()
    text = shipped_text("trec-adhoc").replace(
        'formats = ["trec-6"]\nmax_ranks = 1000\n', f'formats = ["columns"]\n{NAMED_COLUMNS}'
    )
    text = text.replace('[qrels]\naggregate = "single"\n', NAMED_QRELS)
    own = parse_protocol(text, name="x")
    StoredProtocol.objects.filter(pk=owls.track.protocol_id).update(text=text, digest=own.digest)
    olga.force_login(make_organizer("olga"))
    run = b"score\ttweet id\tmodel\ttopic_id\trank\n0.5\t7\ta b\tT1\t1\n0.4\t8\t\tT1\tx\n"
    gold = b"topic_id\ttweet_text\tcheck_worthiness\ttweet_id\nT1\tit's \"so\t1\t7\n"

    shown = owls.client.get(reverse("pooling:submit", args=[owls.track.slug])).content.decode()
    refused = owls.send(run, name="run.tsv").content.decode()
    submitted = owls.send(run.replace(b"\tx\n", b"\t2\n"), name="run.tsv", tag="ours")
    olga.post(
        reverse("scoring:import_qrels", args=[owls.track.slug]), {"file": SimpleUploadedFile("g.tsv", gold)}
    )

    assert "topic_id\ttweet id\trank\tscore\nT1\tdoc-17\t1\t0.9531" in shown
    assert "The first line names the columns topic_id, tweet id, rank, score; files may have them" in shown
    assert "line</span> 3" in refused
    assert submitted.status_code == 302
    stored = columns.load(Path(Run.objects.get().columns.path))
    assert (stored.docno.tolist(), stored.score.tolist()) == ([b"7", b"8"], [0.5, 0.4])
    assert qrels_columns(owls.track.qrels.get()).docno.tolist() == [b"7"]
    repaired = check_run(io.BytesIO(run), protocol=own, name="run.tsv").repaired()
    assert repaired == b"score\ttweet id\tmodel\ttopic_id\trank\n0.5\t7\t0\tT1\t1\n0.4\t8\t0\tT1\t2\n"


def test_lines_with_a_header_and_without_a_topic_go_through_the_page(folder: Path) -> None:
    owls, olga = desk("trec-adhoc", ["T1"]), Client()
    only = NAMED_COLUMNS.replace('"topic", ', "").replace('"topic_id", ', "") + 'topic = "T1"\n'
    text = shipped_text("trec-adhoc").replace(
        'formats = ["trec-6"]\nmax_ranks = 1000\n', f'formats = ["columns"]\n{only}'
    )
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=owls.track.protocol_id).update(text=text, digest=digest)
    olga.force_login(make_organizer("olga"))

    shown = owls.client.get(reverse("pooling:submit", args=[owls.track.slug])).content.decode()
    submitted = owls.send(b"score\ttweet id\trank\n0.5\t7\t1\n", name="run.tsv", tag="ours")
    runs = olga.get(reverse("pooling:runs", args=[owls.track.slug])).content.decode()

    assert "tweet id\trank\tscore\ndoc-17\t1\t0.9531" in shown
    assert submitted.status_code == 302
    stored = columns.load(Path(Run.objects.get().columns.path))
    assert (stored.topics.tolist(), stored.docno.tolist()) == (["T1"], [b"7"])
    assert '<div class="scroll" id="runs"' in runs  # a phone shows them all by this link
    assert '<a href="#runs">All columns</a>' in runs


def test_every_format_has_an_example() -> None:
    assert EXAMPLES.keys() | {"columns"} == set(RUN_FORMATS)  # the example of columns is made of them


@pytest.mark.parametrize("slug", shipped_slugs())
def test_examples_are_accepted_runs(slug: str) -> None:
    protocol = load_protocol(slug)

    for name, form in zip(protocol.runs.formats, accepted_forms(protocol), strict=True):
        data = f"{form.example}\n".encode()
        checked = check_run(io.BytesIO(data), protocol=protocol, name="example")

        assert checked.report.format == name
        assert (checked.report.errors, checked.report.warnings) == ((), ())


def test_rules_of_bolt_are_sentences() -> None:
    rules = rules_of(load_protocol("bolt-ir-p3"))

    assert "Give at most 1000 citations per topic, each of them once." in rules
    assert "The score decides the order. Ties keep the order of the file." in rules
    assert "Scores are between 0 and 1." in rules
    assert "A passage has at most 250 characters." in rules
    assert any(rule.startswith("A topic takes at most 10 minutes") for rule in rules)
    assert (
        "A team submits at most one evaluation run, one phase 2 run, 10 baseline runs and one post-interaction run."
    ) in rules


def baseline(bolt: Desk, tag: str, by: User) -> Run:
    return run_services.submit(
        track=bolt.track,
        team=bolt.team,
        by=by,
        file=io.BytesIO(bolt_run('run="evaluation"', 'run="baseline"').replace(b"Owls", tag.encode())),
        file_name="run.xml",
        declared=run_services.Declaration(kind="baseline"),
    )


def test_a_team_submits_one_evaluation_run_and_ten_baselines(bolt: Desk) -> None:
    """Before, baselines of teams were refused, and nothing limited evaluation runs."""
    for n in range(10):
        baseline(bolt, f"owls-{n}", bolt.member)
    bolt.send(bolt_run(), kind="evaluation")

    with pytest.raises(SubmissionRefused, match="Owls already has 10 baseline runs"):
        baseline(bolt, "owls-x", bolt.member)
    second = bolt.send(bolt_run('score="0.9"', 'score="0.91"'), kind="evaluation")

    assert "Owls already has 1 evaluation run, and" in second.content.decode()
    assert Run.objects.filter(kind="baseline").count() == 10
    assert Run.objects.filter(kind="evaluation").count() == 1


def test_a_withdrawn_run_makes_room_for_another(bolt: Desk) -> None:
    olga = make_organizer("olga")
    runs = [baseline(bolt, f"owls-{n}", olga) for n in range(10)]
    run_services.withdraw(run=runs[0], by=olga)

    baseline(bolt, "owls-10", olga)

    assert Run.objects.filter(status=Run.Status.SUBMITTED).count() == 10


def seconds_file(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("seconds.txt", data)


def test_seconds_are_stored_with_the_report(bolt: Desk) -> None:
    answer = bolt.send(bolt_run(), kind="evaluation", seconds=seconds_file(b"T1 12.5\nT2 600\n"))

    run = Run.objects.get()
    assert run.report["seconds"] == {"T1": 12.5, "T2": 600.0}
    page = bolt.client.get(answer.url).content.decode()
    assert "306.2 seconds per topic on average, 600.0 at most (T2)" in page
    assert "<li>T1: 12.5</li>" in page


def test_run_that_took_too_long_is_refused(bolt: Desk) -> None:
    answer = bolt.send(bolt_run(), kind="evaluation", seconds=seconds_file(b"T1 12.5\nT2 601\n"))

    assert "topic “T2” took 601 seconds" in answer.content.decode()
    assert not Run.objects.exists()


def test_run_without_seconds_is_accepted_with_a_warning(bolt: Desk) -> None:
    bolt.send(bolt_run(), kind="evaluation")

    assert [warning["code"] for warning in Run.objects.get().report["warnings"]] == ["no-seconds"]


def test_track_without_a_time_limit_has_no_field_for_seconds(ntcir: Desk) -> None:
    page = ntcir.client.get(reverse("pooling:submit", args=[ntcir.track.slug])).content.decode()

    assert 'name="seconds"' not in page


def test_track_without_a_time_limit_refuses_seconds(ntcir: Desk) -> None:
    declared = run_services.Declaration(kind="primary")

    with pytest.raises(SubmissionRefused, match="does not limit"):
        run_services.submit(
            track=ntcir.track,
            team=ntcir.team,
            by=ntcir.member,
            file=io.BytesIO(ntcir_run()),
            file_name="run.xml",
            declared=declared,
            seconds=io.BytesIO(b"M-1 2\n"),
        )


def test_command_accepts_a_file_of_seconds(bolt: Desk, tmp_path: Path) -> None:
    run, seconds = tmp_path / "run.xml", tmp_path / "seconds.txt"
    run.write_bytes(bolt_run())
    seconds.write_bytes(b"T1 5\nT2 900\n")
    arguments = [bolt.track.slug, "Owls", str(run), "--by", "olive", "--kind", "evaluation"]

    with pytest.raises(CommandError, match="took 900 seconds"):
        call_command("submit_run", *arguments, "--seconds", str(seconds))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("submit_run", *arguments, "--seconds", str(tmp_path / "none"))
    seconds.write_bytes(b"T1 5\nT2 9\n")
    call_command("submit_run", *arguments, "--seconds", str(seconds))

    assert Run.objects.get().report["seconds"] == {"T1": 5.0, "T2": 9.0}


def test_each_team_submits_the_condition_that_its_file_names(bolt: Desk) -> None:
    """Before, `run` was the tag: the second team's was “taken”."""
    eve = make_user("eve")
    team_services.create(track=bolt.track, name="Night Hawks", members=[eve])
    hawks = Desk(bolt.track, Team.objects.get(name="Night Hawks"), eve, Client())
    hawks.client.force_login(eve)

    bolt.send(bolt_run(), kind="evaluation")
    hawks.send(bolt_run(), kind="evaluation")
    answer = hawks.send(bolt_run('score="0.9"', 'score="0.91"'), kind="phase2")

    assert set(Run.objects.values_list("tag", flat=True)) == {"Owls-evaluation", "Night-Hawks-evaluation"}
    assert "the file is a run of the kind evaluation, but phase2 was declared" in answer.content.decode()


def test_citations_are_checked_against_the_posts_of_the_collection(folder: Path) -> None:
    owls = desk("bolt-ir-p3", BOLT_TOPICS)
    collection = make_collection("forum")
    Track.objects.filter(pk=owls.track.pk).update(collection=collection)
    source = "\nThe owls of the harbor sing at 0 o'clock.\n"
    for n, text in enumerate((source, "x" * 40, "x" * 30)):
        fields = {"kind": Document.Kind.POST, "source": text, "language": "eng" if n == 0 else "arz"}
        make_document(collection, f"bolt-eng-DF-1:{n}:p{n}", **fields)

    page = owls.send(bolt_run(), kind="evaluation").content.decode()
    span = bolt_run('offset="0" length="20"', 'offset="1" length="41"').replace(b'length="20"', b'length="9"')
    accepted = owls.send(span.replace(b'offset="0" length="9"', b'offset="1" length="41"'), kind="evaluation")

    assert "the passage differs from its post" in page
    assert "the citation is not inside its post" in page
    assert "characters 20 to 39 of a post of 30" in page
    assert accepted.status_code == 302


@pytest.fixture
def mail_server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_at_once(settings, monkeypatch)


def choose_mails(user: User) -> None:
    """Switch e-mails about runs on, on the account page."""
    User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.org")
    client = Client()
    client.force_login(user)
    client.post(reverse("account"), {"is_mailed_about_runs": "on"})


@pytest.mark.usefixtures("mail_server")
def test_only_members_who_chose_e_mails_get_one_for_an_accepted_run(scene: Scene, tmp_path: Path) -> None:
    User.objects.filter(pk=scene.other.pk).update(email="bob@example.org")
    scene.ours.members.add(scene.other)  # has not chosen
    choose_mails(scene.member)
    path = tmp_path / "run.tsv"
    path.write_bytes(GOOD)

    scene.submit(path)

    (letter,) = mail.outbox
    assert letter.to == ["ada@example.org"]
    assert letter.subject == "Assay: run run-1 accepted"
    assert "The run run-1 of Ours was accepted in ARQ." in letter.body
    assert "12 lines of 3 topics" in letter.body
    assert "It replaces" not in letter.body


@pytest.mark.usefixtures("mail_server")
def test_letter_on_a_run_names_the_run_that_it_replaces(scene: Scene) -> None:
    choose_mails(scene.member)
    owls = Desk(scene.track, scene.ours, scene.member, Client())
    owls.client.force_login(scene.member)

    for tag, replaces in (("first", ""), ("second", "first")):
        owls.send(GOOD, name="run.tsv", tag=tag, replaces=replaces)

    assert "The run second of Ours was accepted in ARQ." in mail.outbox[-1].body
    assert "It replaces the run first, which is withdrawn." in mail.outbox[-1].body


@pytest.mark.usefixtures("mail_server")
def test_rejected_run_is_reported_with_its_errors(scene: Scene, tmp_path: Path) -> None:
    choose_mails(scene.member)
    path = tmp_path / "run.tsv"
    path.write_bytes(BROKEN["score NaN"].make())

    with pytest.raises(RunRefused):
        scene.submit(path)

    (letter,) = mail.outbox
    assert "line 2: score “NaN” is not a finite number" in letter.body
    assert "Nothing was stored" in letter.body


@pytest.mark.parametrize(
    ("slug", "topic", "start", "named"),
    [
        ("arqmath-2020-task1", "A.1", b"A.1\t1\t1\t9.5\tours\nA.1\t2\t2\t9.", ("ours", "")),
        ("semeval-2016-task3", "Q1", b"Q1\tQ1_R1\t1\t0.5\ttrue\n", ("", "")),  # its last column is a label
        ("arqmath-2022-task3", "A.301", b"ours\tA.301\t17\n", ("ours", "")),
        ("bolt-ir-p3", "T1", b'<bolt-ir-submission team="Owls" run="baseline" da', ("", "")),
        ("bolt-ir-p3", "T1", b'<bolt-ir-submission team="Owls" run="baseline"><resp', ("", "baseline")),
        ("trec-adhoc", "1", b"%PDF-1.7\n", ("", "")),
    ],
)
def test_page_asks_the_server_for_the_name_in_the_start_of_a_file(
    slug: str, topic: str, start: bytes, named: tuple[str, str]
) -> None:
    owls = desk(slug, [topic])
    address = f"/tracks/{owls.track.slug}/runs/submit/start/"

    answer = owls.client.post(address, start, content_type="application/octet-stream")

    assert answer.json() == dict(zip(("tag", "kind"), named, strict=True))
    assert f'data-start="{address}"' in owls.client.get(address.removesuffix("start/")).content.decode()
    owls.client.force_login(make_user("stranger"))
    assert owls.client.post(address, start, content_type="application/octet-stream").status_code in {403, 404}


def test_run_in_json_of_ranx_is_submitted_through_the_page(folder: Path) -> None:
    owls = desk("trec-adhoc", ["1", "2"])

    assert owls.send(b'{"1":{"d1":3.5,"d2":2},"2":{"d4":2.0}}', name="ranx.json").status_code == 302
    run = Run.objects.get()
    assert (run.report["format"], run.n_lines, run.tag) == ("ranx-json", 3, f"{owls.team.name}-{run.kind}")


def test_runs_of_records_are_submitted_through_the_page(folder: Path) -> None:
    owls = desk("trec-adhoc", ["1", "2"])
    records = [{"qid": "1", "docno": "d1", "score": 3.5}, {"qid": "2", "docno": "d4", "score": 2.0}]
    lines = "\n".join(json.dumps(record | {"run": "lines"}) for record in records)
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([record | {"run": "table"} for record in records]), file)

    assert owls.send(lines.replace("3.5", '"high"').encode(), name="run.jsonl").status_code == 200
    for name, data in (("run.jsonl", lines.encode()), ("run.parquet", file.getvalue())):
        assert owls.send(data, name=name).status_code == 302
    assert [(run.tag, run.report["format"], run.n_lines) for run in Run.objects.order_by("pk")] == [
        ("lines", "json-lines", 2),
        ("table", "parquet", 2),
    ]


def test_tag_that_the_protocol_does_not_accept_is_refused_also_if_it_is_typed(folder: Path) -> None:
    owls = desk("trec-adhoc", ["1"])
    text = shipped_text("trec-adhoc").replace("[runs]\n", '[runs]\nmax_tag = 4\ntag_characters = "-"\n')
    StoredProtocol.objects.filter(pk=owls.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )

    refusals = [owls.send(b"1 Q0 d1 1 9 t\n", name="r", tag=tag).content.decode() for tag in ("a-b-c", "a_b")]

    assert "The tag “a-b-c” has 5 characters; use at most 4." in refusals[0]
    assert "The tag “a_b” has characters that are not accepted; use letters, digits and -." in refusals[1]
    assert owls.send(b"1 Q0 d1 1 9 t\n", name="r", tag="a-b").status_code == 302


def test_teams_name_their_runs_by_the_scheme_and_organizers_do_not(folder: Path) -> None:
    owls = desk("trec-adhoc", ["1"])
    text = shipped_text("trec-adhoc").replace("[runs]\n", '[runs]\ntag_pattern = "{team}_{number}"\n')
    StoredProtocol.objects.filter(pk=owls.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    name = "-".join(owls.team.name.split())
    page = owls.client.get(reverse("pooling:submit", args=[owls.track.slug])).content.decode()

    assert "<li>Teams name their runs {team}_{number}, such as Owls_1.</li>" in page
    for tag, typed in (("t", ""), (f"{name}_7", "mine_7"), (f"{name}_0", "")):
        refused = owls.send(f"1 Q0 d1 1 9 {tag}\n".encode(), name="r", tag=typed).content.decode()
        assert "does not follow the naming scheme" in refused
        assert f"such as {name}_1." in refused
    assert owls.send(f"1 Q0 d1 1 9 {name}_7\n".encode(), name="r").status_code == 302
    for score in (2, 3):  # without a tag
        ranx = f'{{"1":{{"d1":{score}}}}}'.encode()
        assert owls.send(ranx, name="ranx.json").status_code == 302
    assert {*Run.objects.values_list("tag", flat=True)} == {f"{name}_7", f"{name}_1", f"{name}_2"}
