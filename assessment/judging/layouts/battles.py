"""A battle on the judging page: two generated answers side by side, with the texts that they cite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop

from assay.answers import ANSWER
from assay.html.sanitize import plain
from assay.protocols.pair_rules import on_sides
from assay.protocols.schema import JudgingRules
from assessment.judging.layouts.documents import Layout
from assessment.judging.layouts.pairs import Pair, UnitSide
from assessment.judging.markdown import answer_html, is_markdown
from assessment.judgments.pairs import sides_of
from assessment.models import Task
from corpus.models import Document
from pooling.models import PooledAnswer

Sentences = Sequence[tuple[str, Sequence[str]]]  # each with the documents that it cites
Texts = Mapping[str, tuple[str, str]]  # title and text of cited documents


class Source(NamedTuple):
    """A document that an answer cites, by its number in the answer."""

    number: int
    docno: str
    title: str
    text: str


class AnswerSide(NamedTuple):
    """An answer of a battle: its sentences with the numbers of their sources. Nothing shows which run has it."""

    name: str
    docno: str
    sentences: Sequence[tuple[str, Sequence[int]]]
    sources: Sequence[Source]
    thread: str = ""
    is_markdown: bool = False

    @property
    def html(self) -> SafeString:
        return answer_html(self.sentences, first_heading=4) if self.is_markdown else SafeString()

    def as_unit(self, *, is_html: bool) -> UnitSide:
        return UnitSide(self.docno, "", " ".join(text for text, _ in self.sentences))


@dataclass(frozen=True, kw_only=True)
class Battle(Pair):
    """Two generated answers, the left one first."""

    text = "assessment/judging/_battle.html"

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        """Two queries."""
        docnos = sides_of(task)
        if docnos is None:
            return Layout.of(task, rules)
        answers = PooledAnswer.objects.filter(
            pool=task.entry.pool_id,
            topic=task.entry.topic_id,
            digest__in=[docno.removeprefix(ANSWER) for docno in docnos],
        )
        sentences = {ANSWER + answer.digest: answer.sentences for answer in answers}
        cited = {docno for of_answer in sentences.values() for _, own in of_answer for docno in own}
        documents = Document.objects.filter(collection=task.batch.pool.track.collection_id, docno__in=cited)
        texts = {
            docno: (plain(title), plain(body))
            for docno, title, body in documents.values_list("docno", "title", "body")
        }
        return cls._of_answers(task, rules, docnos, sentences, texts)

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        task.entry.docno, task.entry.document = f"{ANSWER}1|{ANSWER}2", None
        sentences = {f"{ANSWER}{n}": [(f"A sample answer, number {n}.", ["d1"])] for n in (1, 2)}
        return cls._of_answers(task, rules, sides_of(task) or (), sentences, {"d1": ("", "A sample source.")})

    @classmethod
    def _of_answers(
        cls,
        task: Task,
        rules: JudgingRules,
        docnos: Sequence[str],
        sentences: Mapping[str, Sentences],
        texts: Texts,
    ) -> "Battle":
        is_in_markdown = is_markdown(task.batch.pool.protocol.parsed)
        sides = [
            _side(name, docno, sentences.get(docno, ()), texts)._replace(is_markdown=is_in_markdown)
            for name, docno in zip((gettext_noop("Left"), gettext_noop("Right")), docnos, strict=True)
        ]
        return cls(task=task, rules=on_sides(rules, *docnos), sides=sides)

    @property
    def words(self) -> str:
        return self.task.entry.passage

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        return super().as_unit(is_html=is_html) | {"text": ""}


def _side(name: str, docno: str, sentences: Sentences, texts: Texts) -> AnswerSide:
    number_of: dict[str, int] = {}
    shown = []
    for text, cited in sentences:
        numbers = [number_of.setdefault(source, len(number_of) + 1) for source in cited]
        shown.append((text, numbers))
    sources = [Source(n, source, *texts.get(source, ("", ""))) for source, n in number_of.items()]
    return AnswerSide(name, docno, shown, sources)
