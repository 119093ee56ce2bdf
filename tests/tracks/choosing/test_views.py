"""Two people decide on candidates, see each other's decisions after their own, settle them, and topics are made."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assay.cli.main import main
from assay.errors import Refused
from assay.samples import path
from jobs import services as jobs
from tests.helpers.candidates import LABELS, Choice, make_choice
from tests.helpers.factories import make_organizer, make_topic, make_user
from tracks.choosing import services
from tracks.choosing.selectors import next_places
from tracks.models import CandidateDecision, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def choice(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Choice:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return make_choice()


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(name: str, *arguments: object) -> str:
    return reverse(f"tracks:{name}", args=["lab", 1, *arguments])


def form(docno: str, choice: str = "accepted", reason: str = "", **labels: str) -> dict[str, str]:
    given = {f"label-{name}": value for name, value in (LABELS | labels).items()}
    return {"candidate": docno, "choice": choice, "reason": reason} | (given if choice == "accepted" else {})


def text(html: bytes) -> str:
    return " ".join(html.decode().split())


def decide(
    choice: Choice, docno: str, user: User, *, accept: bool = True, reason: str = "", **labels: str
) -> Any:
    given = LABELS | labels if accept else {}
    return services.decide(
        sample=choice.sample, docno=docno, is_accepted=accept, reason=reason, labels=given, by=user
    )


def order(choice: Choice) -> list[str]:
    return [row.candidate.docno for row in choice.sample.rows.select_related("candidate")]


def test_person_goes_through_the_sample_in_its_order(choice: Choice) -> None:
    client, docnos = as_user(choice.second), order(choice)

    first = client.get(address("decide"))
    second = client.post(address("decide"), form(docnos[0]), follow=True)

    assert f'<span class="mono">{docnos[0]}</span>' in first.content.decode()
    assert f'<span class="mono">{docnos[1]}</span>' in second.content.decode()
    assert second.context["ahead"].candidate.docno == docnos[2]
    assert f"{docnos[0]}</a>: you" in text(second.content)
    decision = CandidateDecision.objects.get()
    assert (decision.by, decision.is_accepted, decision.labels) == (choice.second, True, LABELS)


def test_script_gets_the_main_element_of_the_next_candidate(choice: Choice) -> None:
    docnos = order(choice)

    answer = as_user(choice.first).post(f"{address('decide')}?part", form(docnos[0]))

    assert answer.content.decode().strip().startswith("<main")
    assert f'aria-label="Candidate {docnos[1]}"' in answer.content.decode()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (form("x"), "Candidate x is not in sample 1."),
        ({"candidate": "", "choice": "accepted"}, "Fill in this field."),
        (form("9001", "rejected"), "Say why the candidate is rejected."),
        (form("9001", category=""), "An accepted candidate needs each label; choose its category."),
        (form("9001", category="poem"), "“poem” is not in it"),
        (form("9001", "maybe"), "“maybe” is not in it"),
    ],
)
def test_incomplete_decision_is_refused_and_the_candidate_stays(
    choice: Choice, given: dict[str, str], words: str
) -> None:
    answer = as_user(choice.first).post(address("decide"), given)

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not CandidateDecision.objects.exists()


def test_each_sees_the_others_decision_only_after_their_own(choice: Choice) -> None:
    docno = order(choice)[0]
    decide(choice, docno, choice.second, accept=False, reason="Far too vague")
    client = as_user(choice.first)

    pages = [client.get(address("decide")), client.get(address("candidate_sample"))]
    csv_before = client.get(address("sample_file", "decisions.csv"))
    before = "".join(page.content.decode() for page in [*pages, csv_before])
    client.post(address("decide"), form(docno))

    after = text(client.get(address("decide")).content)
    assert "Far too vague" not in before
    assert '<span class="decision-rejected">rejected</span>: Far too vague' in after
    assert "Far too vague" in after
    assert "Far too vague" in client.get(address("sample_file", "decisions.csv")).content.decode()
    assert "Settle it" in after


def test_desk_of_a_person_leads_to_the_sample(choice: Choice) -> None:
    link = f'<a href="{address("candidate_sample")}">sample 1</a>'

    assert link in as_user(choice.second).get(reverse("assessment:mine")).content.decode()
    assert link not in as_user(make_organizer()).get(reverse("assessment:mine")).content.decode()


def test_organizer_who_does_not_decide_sees_all(choice: Choice) -> None:
    decide(choice, order(choice)[0], choice.second, accept=False, reason="Far too vague")

    assert "Far too vague" in as_user(make_organizer()).get(address("candidate_sample")).content.decode()


def test_undone_decision_stays_on_record_and_comes_again(choice: Choice) -> None:
    client, docnos = as_user(choice.first), order(choice)
    client.post(address("decide"), form(docnos[0], "rejected", "Trivial"))
    client.post(address("decide"), form(docnos[1]))

    page = client.post(address("undo_decision"), follow=True)

    assert page.context["shown"].candidate.docno == docnos[1]
    assert 'id="choice-accepted" value="accepted" required checked' in text(page.content)
    assert list(CandidateDecision.objects.values_list("is_current", flat=True)) == [True, False]
    client.post(address("undo_decision"))
    with pytest.raises(Refused, match="You have no decision in sample 1 to undo"):
        services.undo(sample=choice.sample, by=choice.first)


def test_decision_is_changed_by_a_new_one(choice: Choice) -> None:
    docno = order(choice)[3]
    decide(choice, docno, choice.first)
    client = as_user(choice.first)

    page = client.get(f"{address('decide')}?candidate={docno}")
    decide(choice, docno, choice.first)  # the same again, as after a lost answer
    client.post(address("decide"), form(docno, "rejected", "Off topic"))

    assert "Another choice replaces yours" in page.content.decode()
    stored = CandidateDecision.objects.order_by("pk").values_list("is_accepted", "is_current")
    assert list(stored) == [(True, False), (False, True)]


@pytest.mark.parametrize("undoes", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_decision_that_is_changed_after_seeing_the_others_says_so(
    choice: Choice, undoes: bool, is_first: bool
) -> None:
    docno, people = order(choice)[0], [choice.first, choice.second]
    person, other = people if is_first else people[::-1]
    client = as_user(person)
    decide(choice, docno, choice.first, accept=choice.first != person, reason="No")
    decide(choice, docno, choice.second, accept=choice.second != person, reason="No")

    page = client.get(f"{address('decide')}?candidate={docno}")
    if undoes:
        page = client.post(address("undo_decision"), follow=True)
    client.post(address("decide"), form(docno))

    note = "You have seen the other’s decision" if undoes else "and says that you had seen the other’s"
    assert note in text(page.content)
    stored = CandidateDecision.objects.order_by("pk").values_list("by__username", "changed_after_seeing")
    assert list(stored) == [("ines", False), ("marek", False), (person.username, True)]
    for reader in (person, other):
        listed = text(as_user(reader).get(address("candidate_sample")).content)
        assert listed.count("(changed after seeing the other’s)") == 1
    content = as_user(choice.first).get(address("sample_file", "decisions.csv")).content.decode()
    changed = [row["changed_after_seeing"] for row in csv.DictReader(io.StringIO(content))]
    assert changed == ["False", "False", "True"]


def test_decision_that_is_changed_before_the_other_decides_does_not(choice: Choice) -> None:
    docno = order(choice)[0]
    decide(choice, docno, choice.first, accept=False, reason="No")
    services.undo(sample=choice.sample, by=choice.first)
    decide(choice, docno, choice.second)

    page = as_user(choice.first).get(address("decide"))
    decide(choice, docno, choice.first)

    assert "You had seen" not in page.content.decode()
    assert not CandidateDecision.objects.filter(changed_after_seeing=True).exists()


def test_decisions_are_kept_by_the_database(choice: Choice) -> None:
    decision = decide(choice, "9001", choice.first)

    for change in ({"reason": "Changed"}, {"is_accepted": False}, {"is_current": True}):
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic():
            CandidateDecision.objects.filter(pk=decision.pk).update(**change)
    with pytest.raises(IntegrityError, match="is kept"), transaction.atomic():
        decision.delete()
    with pytest.raises(IntegrityError, match="current_unique"), transaction.atomic():
        CandidateDecision.objects.create(
            candidate=decision.candidate, seat=1, by=choice.second, is_accepted=True
        )
    with pytest.raises(IntegrityError, match="by_two_people"), transaction.atomic():
        CandidateDecision.objects.create(
            candidate=decision.candidate, seat=2, by=choice.first, is_accepted=True
        )
    with pytest.raises(IntegrityError, match="has_a_reason"), transaction.atomic():
        CandidateDecision.objects.create(
            candidate=decision.candidate, seat=2, by=choice.second, is_accepted=False
        )


def test_person_who_takes_over_goes_on_where_the_other_stopped(choice: Choice) -> None:
    docnos, other = order(choice), make_organizer("olga")
    decide(choice, docnos[0], choice.second)
    client = as_user(choice.first)

    people = {"first_person": choice.first.pk, "second_person": other.pk}
    named = client.post(address("name_people"), people, follow=True).content.decode()
    same = {"first_person": other.pk, "second_person": other.pk}
    refused = client.post(address("name_people"), same).content.decode()

    assert "ines and olga decide on sample 1." in named
    assert "Name two different people" in refused
    assert next_places(choice.sample, 2)[0].candidate.docno == docnos[1]
    with pytest.raises(Refused, match="marek has decided on candidate"):
        decide(choice, docnos[0], other)
    with pytest.raises(Refused, match="You are not one of the two people"):
        decide(choice, docnos[1], choice.second)
    assert as_user(choice.second).get(address("decide")).status_code == 404


def test_disagreement_is_settled_with_a_reason(choice: Choice) -> None:
    docno = order(choice)[0]
    decide(choice, docno, choice.first, category="proof")
    client = as_user(choice.second)
    early = client.post(address("settle", docno), form(docno, reason="Mine"))
    decide(choice, docno, choice.second, category="concept")

    listed = text(client.get(f"{address('candidate_sample')}?show=disagreements").content)
    shown = client.get(address("settle", docno))
    silent = client.post(address("settle", docno), form(docno, category="concept"))
    settled = client.post(address("settle", docno), form(docno, reason="It asks why", category="concept"))

    assert (early.status_code, settled.status_code) == (302, 302)
    assert "1 disagreement to settle" in listed
    assert 'value="easy" checked' in text(shown.content)
    assert 'value="proof" checked' not in text(shown.content)
    assert "Say why it is settled like this." in silent.content.decode()
    assert Event.objects.filter(action="candidate.settled").count() == 1
    [(candidate, outcome)] = services.selectors.accepted_candidates(choice.sample)
    assert (candidate.docno, outcome.is_settled, outcome.labels["category"]) == (docno, True, "concept")
    for change in (
        lambda: decide(choice, docno, choice.first),
        lambda: services.undo(sample=choice.sample, by=choice.first),
    ):
        with pytest.raises(Refused, match=r"is settled\. Settle it again"):
            change()
    again = form(docno, "rejected", "A duplicate")
    as_user(choice.first).post(address("settle", docno), again)
    assert services.selectors.accepted_candidates(choice.sample) == []


def test_two_people_who_agree_leave_nothing_to_settle(choice: Choice) -> None:
    for person in (choice.first, choice.second):
        decide(choice, "9001", person, accept=False, reason=f"{person} says no")

    with pytest.raises(Refused, match="needs no settlement"):
        services.settle(
            sample=choice.sample,
            docno="9001",
            is_accepted=True,
            reason="I want it",
            labels=LABELS,
            by=choice.first,
        )


def test_bars_show_how_far_each_quota_is(choice: Choice) -> None:
    with_duplicates = [row.candidate.docno for row in choice.sample.rows.filter(stratum=1)]
    others = [row.candidate.docno for row in choice.sample.rows.filter(stratum=2)]
    for person in (choice.first, choice.second):
        decide(choice, with_duplicates[0], person)
        decide(choice, with_duplicates[1], person, accept=False, reason="No")
        for docno in others[:3]:
            decide(choice, docno, person, accept=False, reason="No")

    html = text(as_user(choice.first).get(address("candidate_sample")).content)

    assert 'aria-label="duplicates=1..: 1 of 5 accepted"' in html
    assert '<strong>1 of 5</strong> <span class="muted">6 open</span>' in html
    assert '<strong>0 of 2</strong> <span class="muted">1 open</span>' in html
    assert html.count("too few: draw another sample") == 1


def test_accepted_candidates_become_topics_with_labels_and_threads(choice: Choice, tmp_path: Path) -> None:
    make_topic(choice.track, "A.202", body='<span class="math-container" data-formula-id="q_4">x</span>')
    chosen = order(choice)[:3]
    for person in (choice.first, choice.second):
        decide(choice, chosen[0], person)
        decide(choice, chosen[1], person, accept=False, reason="Trivial")
        decide(choice, chosen[2], person, category="concept")
    client = as_user(choice.first)

    made = client.post(address("make_topics"), {"first": "A.201"}, follow=True)
    again = client.post(address("make_topics"), {"first": "A.301"})

    assert "Made 2 topics, A.201 to A.203." in made.content.decode()
    first, last = (choice.track.topics.get(code=code) for code in ("A.201", "A.203"))
    assert [first.thread, last.thread] == [chosen[0], chosen[2]]
    assert (first.labels, last.labels) == (LABELS, LABELS | {"category": "concept"})
    assert 'data-formula-id="q_5"' in first.title + first.body
    assert "is new: there is nothing to make topics of" in again.content.decode()
    assert "topic A.201" in text(client.get(address("candidate_sample")).content)
    stranger = as_user(make_user())
    assert stranger.get(reverse("tracks:topic", args=["lab", "A.201"])).status_code == 404
    choice.track.status = Track.Status.OPEN
    choice.track.save()
    assert "concept" not in stranger.get(reverse("tracks:topic", args=["lab", "A.203"])).content.decode()


def test_topics_in_xml_are_those_of_the_command_to_the_byte(choice: Choice, tmp_path: Path) -> None:
    for docno in order(choice)[:4]:
        for person in (choice.first, choice.second):
            decide(choice, docno, person, accept=docno != order(choice)[1], reason="Because")
    client = as_user(choice.first)
    for name in ("sample.json", "decided.csv"):
        (tmp_path / name).write_bytes(client.get(address("sample_file", name)).content)

    file = client.get(f"{address('sample_file', 'topics.xml')}?first=A.301")

    out = tmp_path / "topics.xml"
    command = [
        "candidates",
        "topics",
        str(tmp_path / "sample.json"),
        str(path("candidates.jsonl")),
        "--quiet",
    ]
    options = ["--labels", str(tmp_path / "decided.csv"), "--first", "A.301", "--output", str(out)]
    assert main([*command, *options]) == 0
    assert file.content == out.read_bytes()
    assert file.content.count(b"<Topic ") == 3


def test_file_of_decisions_has_every_one(choice: Choice) -> None:
    decide(choice, "9001", choice.first)
    services.undo(sample=choice.sample, by=choice.first)
    decide(choice, "9001", choice.first, accept=False, reason="=1+1")

    content = as_user(choice.first).get(address("sample_file", "decisions.csv")).content.decode()

    rows = list(csv.DictReader(io.StringIO(content)))
    assert [(row["decision"], row["is_current"]) for row in rows] == [
        ("accepted", "False"),
        ("rejected", "True"),
    ]
    assert rows[0]["category"] == "proof"


def test_labels_that_the_protocol_lacks_are_named(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    choice = make_choice("lab", "trec-adhoc")
    labels = LABELS | {"complexity": "low"}
    for person in (choice.first, choice.second):
        services.decide(sample=choice.sample, docno="9001", is_accepted=True, labels=labels, by=person)

    result = services.make_topics(sample=choice.sample, first="1", by=choice.first)

    assert (result.n_topics, result.topics) == (1, ["1"])
    assert str(result).endswith(
        "trec-adhoc has no label category, difficulty, dependence, complexity; the candidates keep it."
    )
    assert choice.track.topics.get().labels == {}


def test_only_the_two_people_and_organizers_see_a_sample(choice: Choice) -> None:
    member = make_user()
    for user, expected in ((member, 404), (choice.second, 200), (choice.first, 200)):
        assert as_user(user).get(address("candidate_sample")).status_code == expected
        assert as_user(user).get(address("decide")).status_code == expected
    assert as_user(make_organizer()).get(address("decide")).status_code == 403
    assert as_user(choice.second).get(address("sample_file", "decisions.csv")).status_code == 403
    choice.track.status = Track.Status.OPEN
    choice.track.save()
    assert as_user(choice.second).get(address("candidate_sample")).status_code == 404
    with pytest.raises(Refused, match="is not a draft any more"):
        decide(choice, "9001", choice.first)
