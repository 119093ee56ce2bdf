"""Grades that the developers of topics gave to citations, in the topics' own files."""

from collections.abc import Iterable

from assay.formats.topics.bolt import citations
from assay.protocols.schema import Protocol
from assay.qrels.freezing import Unit


def given_grades(sources: Iterable[tuple[str, str]], protocol: Protocol) -> dict[Unit, int]:
    """The graded citations of some topics, from their codes and sources; empty if the protocol does not use them.

    Raises
    ------
    Unusable
        A source is not the XML of a topic.
    """
    if not protocol.qrels.topic_citations:
        return {}
    grades = {grade.key: grade.value for grade in protocol.judging.grades}
    return {
        Unit(code, citation.docno): grades[citation.rel]
        for code, source in sources
        for citation in citations(source)
        if citation.rel in grades
    }
