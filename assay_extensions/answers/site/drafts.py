"""The impact of a draft criterion: how many of the submitted systems satisfy it. Decision: ADR 112."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import transaction
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of
from assay.pools.answers import answer_to
from assay.protocols.schema import Grade
from assay_extensions.answers.rubrics import Criterion, Impact
from assay_extensions.answers.site.models import DraftGrade
from assessment.errors import NuggetRefused
from assessment.judging.markdown import answer_html, is_markdown
from assessment.nuggets.selectors import listed
from assessment.nuggets.words import Words, page_words
from corpus.threads.selectors import RenderedText
from pooling.models import Nugget, PooledAnswer, Run
from pooling.pools.answers import answers_in
from pooling.pools.selectors import runs_to_pool
from scoring.evaluations.stored_runs import columns_of
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic


class ShownAnswer(NamedTuple):
    """An answer, without the systems that wrote it. `grade` is None if nobody graded it yet."""

    digest: str
    sentences: Sequence[str]
    grade: int | None
    is_markdown: bool = False

    @property
    def html(self) -> SafeString:
        """Empty if the answers of the track are no Markdown."""
        if not self.is_markdown:
            return SafeString()
        return answer_html([(text, ()) for text in self.sentences], first_heading=3)


class Tally(NamedTuple):
    """The systems whose answers were graded. `verdict` is empty until all of them are."""

    n_systems: int
    n_graded: int
    n_satisfied: int
    n_partly: int
    verdict: str

    @property
    def percent(self) -> int:
        return round(100 * self.n_satisfied / self.n_graded) if self.n_graded else 0


@dataclass(frozen=True)
class ImpactPage:
    track: Track
    topic: Topic
    nugget: Nugget
    words: Words
    rendered_topic: RenderedText
    tally: Tally
    answer: ShownAnswer | None
    number: int
    graded: Sequence[tuple[int, str, str]]
    n_answers: int
    choices: Sequence[Grade]


class Draft(NamedTuple):
    """A criterion with the systems that wrote each answer to its topic, in a random order, and the grades so far."""

    nugget: Nugget
    systems: Mapping[str, Sequence[Run]]
    grades: Mapping[str, int]

    @property
    def tally(self) -> Tally:
        top = max(grade.value for grade in self.nugget.topic.track.protocol.parsed.judging.grades)
        n_of: Counter[int] = Counter()
        for digest, runs in self.systems.items():
            if digest in self.grades:
                n_of[self.grades[digest]] += len(runs)
        n_systems, n_graded = sum(map(len, self.systems.values())), n_of.total()
        n_partly = sum(n for grade, n in n_of.items() if 0 < grade < top)
        is_complete = 0 < n_systems == n_graded
        shares = (n_of[top] / n_systems, n_partly / n_systems) if is_complete else (0.0, 0.0)
        impact = Impact(self.nugget.topic.code, Criterion(self.nugget.text, 1), n_systems, *shares)
        return Tally(n_systems, n_graded, n_of[top], n_partly, impact.verdict if is_complete else "")

    @property
    def waiting(self) -> list[str]:
        return [digest for digest in self.systems if digest not in self.grades]

    def shown(self, digest: str) -> ShownAnswer:
        """An answer with its text: from a pool, else from the file of a run."""
        topic = self.nugget.topic
        pooled = PooledAnswer.objects.filter(topic=topic, digest=digest).first()
        if pooled:
            sentences = [text for text, _ in pooled.sentences]
        else:
            run = self.systems[digest][0]
            answers = answers_in(topic.track.protocol.parsed, [run])
            sentences = [
                sentence.text
                for answer in answers
                if answer.topic == topic.code
                for sentence in answer.sentences
            ]
        return ShownAnswer(
            digest, sentences, self.grades.get(digest), is_markdown(topic.track.protocol.parsed)
        )


def draft_of(nugget: Nugget) -> Draft:
    """The answers of the runs that a pool would have now. Their order says nothing about the systems."""
    topic = nugget.topic
    systems: dict[str, list[Run]] = {}
    for run in runs_to_pool(topic.track).order_by("pk"):
        digest = answer_to(columns_of(run), topic.code)
        if digest:
            systems.setdefault(digest, []).append(run)
    order = sorted(systems, key=lambda digest: sha256_of(f"{nugget.key}:{digest}".encode()))
    grades = DraftGrade.objects.filter(topic=topic, key=nugget.key, answer__in=order)
    return Draft(
        nugget, {digest: systems[digest] for digest in order}, dict(grades.values_list("answer", "grade"))
    )


def impact_page(nugget: Nugget, chosen: str) -> ImpactPage:
    """The next answer without a grade, or the one with the chosen digest."""
    draft, topic = draft_of(nugget), nugget.topic
    track = topic.track
    choices = track.protocol.parsed.judging.grades
    labels = {grade.value: grade.label for grade in choices}
    digests = list(draft.systems)
    digest = chosen if chosen in draft.systems else next(iter(draft.waiting), "")
    return ImpactPage(
        track=track,
        topic=topic,
        nugget=nugget,
        words=page_words(track),
        rendered_topic=render_topic(topic, [track.collection] if track.collection else []),
        tally=draft.tally,
        answer=draft.shown(digest) if digest else None,
        number=digests.index(digest) + 1 if digest else 0,
        graded=[
            (number, digest, labels.get(draft.grades[digest], ""))
            for number, digest in enumerate(digests, 1)
            if digest in draft.grades
        ],
        n_answers=len(digests),
        choices=choices,
    )


@transaction.atomic
def grade(*, nugget: Nugget, answer: str, choice: str, by: User) -> None:
    """Grade an answer by a draft criterion; a second grade replaces the first. Log who begins to check a criterion.

    Raises NuggetRefused: the criterion is not in its list any more, no run has the answer, or there is no such grade.
    """
    if not listed(nugget.topic).filter(pk=nugget.pk).exists():
        raise NuggetRefused(gettext("Somebody removed or merged it after you opened the page."))
    grades = {each.key: each.value for each in nugget.topic.track.protocol.parsed.judging.grades}
    if choice not in grades:
        raise NuggetRefused(gettext("Use one of these choices: {choices}.").format(choices=", ".join(grades)))
    if answer not in draft_of(nugget).systems:
        raise NuggetRefused(gettext("No submitted run has this answer any more."))
    topic = nugget.topic
    if not DraftGrade.objects.filter(topic=topic, key=nugget.key, graded_by=by).exists():
        details = {"topic": topic.code, "text": nugget.text}
        audit.record(action="impact.checked", subject=nugget, track=topic.track, details=details, by=by)
    DraftGrade.objects.update_or_create(
        topic=topic,
        key=nugget.key,
        answer=answer,
        defaults={"grade": grades[choice], "graded_by": by},
    )
