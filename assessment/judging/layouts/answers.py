"""A generated answer on the judging page: a nugget that it should state, or a sentence of it and what that cites."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop

from assay.answers import NUGGET, is_citation, normal
from assay.html.sanitize import plain
from assay.protocols.schema import JudgingRules
from assessment.judging.layouts.documents import Layout, rendered
from assessment.judging.markdown import answer_html, is_markdown
from assessment.models import Task
from pooling.models import PooledAnswer


class ShownSentence(NamedTuple):
    """A sentence of the answer; `is_judged` if the assessor judges what it cites."""

    text: str
    is_judged: bool


class UnitAnswer(NamedTuple):
    """A part of a generated answer as a program gets it."""

    judged: Literal["nugget", "citation"]
    text: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class GeneratedAnswer(Layout):
    """An answer with what is judged in it: the text of a nugget, or the sentence whose citation is judged.

    Nothing shows which run has the answer.
    """

    text = "assessment/judging/_generated.html"

    is_citation: bool
    sentences: Sequence[ShownSentence]

    @property
    def html(self) -> SafeString:
        """The answer, if it is Markdown, with the sentence highlighted whose citation is judged; else empty."""
        if not is_markdown(self.task.batch.pool.protocol.parsed):
            return SafeString()
        texts = [(sentence.text, ()) for sentence in self.sentences]
        judged = {n for n, sentence in enumerate(self.sentences) if sentence.is_judged}
        return answer_html(texts, first_heading=4, judged=judged)

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        """One query, and those of links."""
        entry = task.entry
        if entry.answer is None:
            return Layout.of(task, rules)
        cites = is_citation(entry.docno)
        nugget = gettext_noop("Criterion") if rules.judged.has_weights else gettext_noop("Nugget")
        noun = gettext_noop("Citation") if cites else nugget
        judged = normal(entry.passage)
        sentences = [
            ShownSentence(text, cites and normal(text) == judged) for text, _ in entry.answer.sentences
        ]
        document = rendered(task, rules)
        return cls(
            task=task, rules=rules, noun=noun, document=document, is_citation=cites, sentences=sentences
        )

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        entry = task.entry
        entry.docno = f"{NUGGET}sample:1"
        entry.answer = PooledAnswer(pool=entry.pool, topic=entry.topic, sentences=[[entry.passage, []]])
        return cls.of(task, rules)

    @property
    def words(self) -> str:
        return self.task.entry.passage

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        document, whole = self.task.entry.document, " ".join(sentence.text for sentence in self.sentences)
        text = "" if document is None else document.body if is_html else plain(document.body)
        part = UnitAnswer("citation" if self.is_citation else "nugget", self.words, whole)
        return super().as_unit(is_html=is_html) | {"text": text, "generated": part}
