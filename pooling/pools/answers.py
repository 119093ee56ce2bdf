"""Pools of generated answers: the frozen nuggets that they are judged against, and the texts that assessors see."""

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.answers import ANSWER, Answer, CitationUnit, NuggetUnit, unit_of
from assay.errors import InputError
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import read_answers
from assay.html.sanitize import beginning, without_controls
from assay.pools.strategies import BuiltPool, ByTopic
from assay.protocols.schema import Protocol
from pooling.errors import pool_refused
from pooling.models import Nugget, NuggetVersion, Pool, PooledAnswer, Run
from pooling.pools.rows import unit_texts
from pooling.runs.units import document_ids
from tracks.models import Topic, Track

SNIPPET = 120  # characters of each answer of a battle


def latest_versions(track: Track) -> dict[str, int]:
    """The latest frozen nuggets of the topics of a track: topic and version. A topic without any is left out."""
    if not track.protocol.parsed.judged.has_nuggets:
        return {}
    versions = NuggetVersion.objects.filter(topic__track=track).order_by("version")
    return dict(versions.values_list("topic__code", "version"))


def frozen_versions(track: Track) -> dict[str, int]:
    """The `latest_versions`, with which a pool can be built.

    Raises Refused: a topic has nuggets that nobody froze yet.
    """
    latest = latest_versions(track)
    if not track.protocol.parsed.judged.has_nuggets:
        return {}
    nuggets = Nugget.objects.filter(topic__track=track, is_removed=False, replaced_by=None)
    unfrozen = set(nuggets.order_by().values_list("topic__code", flat=True)) - set(latest)
    if unfrozen:
        raise pool_refused(
            f"The nuggets of topic {', '.join(sorted(unfrozen)[:5])} are not frozen. Freeze them first: answers are "
            "judged against lists that no longer change."
        )
    return latest


def nuggets_of(track: Track, chosen: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """The nuggets of some versions by topic: the text of each by its key, in the order of the list."""
    if not chosen:
        return {}
    versions = NuggetVersion.objects.filter(topic__track=track, topic__code__in=chosen)
    return {
        code: {nugget["key"]: nugget["shown"] for nugget in nuggets}
        for code, version, nuggets in versions.values_list("topic__code", "version", "nuggets")
        if chosen[code] == version
    }


def keys_of(nuggets: Mapping[str, Mapping[str, str]]) -> ByTopic:
    """The keys of nuggets by topic, as `build_pool` takes them."""
    return {code: list(texts) for code, texts in nuggets.items()}


class AnswerTexts(NamedTuple):
    """The distinct answers of a pool by topic and digest, and of each of its units the judged text and its answer."""

    answers: dict[tuple[str, str], Answer]
    passages: list[str]
    of_units: list[tuple[str, str]]

    def store(self, pool: Pool) -> list[int]:
        """Store the answers; returns for each unit the primary key of its answer."""
        topics = dict(Topic.objects.filter(track=pool.track_id).values_list("code", "pk"))
        rows = [
            PooledAnswer(
                pool=pool,
                topic_id=topics[code],
                digest=digest,
                sentences=[
                    [without_controls(sentence.text), list(sentence.citations)]
                    for sentence in answer.sentences
                ],
            )
            for (code, digest), answer in self.answers.items()
        ]
        stored = PooledAnswer.objects.bulk_create(rows, batch_size=1_000)
        pks = {key: row.pk for key, row in zip(self.answers, stored, strict=True)}
        return [pks[key] for key in self.of_units]


def texts_of(
    built: BuiltPool,
    protocol: Protocol,
    runs: Sequence[Run],
    nuggets: Mapping[str, Mapping[str, str]],
    columns: Sequence[RunColumns],
) -> AnswerTexts:
    """The texts of a pool that was built: of answers from the files of its runs, of others from their columns.

    Control characters of answers, which no page shows and the database does not accept, are left out. The text of a
    battle has the beginnings of both answers.
    """
    if not protocol.is_of_answers:
        return AnswerTexts({}, unit_texts(protocol, built, columns), [])
    answers: dict[tuple[str, str], Answer] = {}
    cited: dict[tuple[str, str], tuple[tuple[str, str], str]] = {}
    for answer in answers_in(protocol, runs):
        key = (answer.topic, answer.digest)
        if answers.setdefault(key, answer) is answer:
            for sentence in answer.sentences:
                for citation in sentence.units(protocol.runs.answers.citations):
                    cited.setdefault((answer.topic, str(citation)), (key, sentence.text))
    judged, of_units = [], []
    codes = built.units.topics[built.units.topic_index].tolist()
    used: set[tuple[str, str]] = set()
    for code, name in zip(codes, built.units.docno.tolist(), strict=True):
        docno = name.decode()
        if protocol.judged.has_votes:
            keys = [(code, answer.removeprefix(ANSWER)) for answer in protocol.judged.documents(docno)]
            used.update(keys)
            judged.append(" · ".join(beginning(without_controls(answers[key].text), SNIPPET) for key in keys))
            continue
        unit = unit_of(docno)
        if isinstance(unit, NuggetUnit):
            key, text = (code, unit.answer), nuggets[code][unit.nugget]
        else:
            key, text = cited[code, docno]
        judged.append(without_controls(text))
        of_units.append(key)
    used.update(of_units)
    return AnswerTexts({key: answer for key, answer in answers.items() if key in used}, judged, of_units)


def answers_in(protocol: Protocol, runs: Iterable[Run]) -> Iterable[Answer]:
    """The answers of some runs, from their files.

    Raises Refused: a file cannot be read.
    """
    for run in runs:
        try:
            with run.original.open("rb") as stored:
                yield from read_answers(cast(BinaryIO, stored), protocol, name=run.file_name).values()
        except (OSError, InputError) as error:
            raise pool_refused(f"The answers of the run {run.tag} cannot be read: {error}.") from error


def cited_segments(collection_id: int, docnos: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of the documents that some citations cite, by unit, for those that the collection has."""
    units = {docno.decode(): unit_of(docno.decode()) for docno in docnos.tolist()}
    cited = {name: unit.docno for name, unit in units.items() if isinstance(unit, CitationUnit)}
    if not cited:
        return {}
    names = np.unique(np.array([docno.encode() for docno in cited.values()]))
    known = document_ids(collection_id, names)
    return {name: known[docno] for name, docno in cited.items() if docno in known}
