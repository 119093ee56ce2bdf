"""The downloads that are made when they are fetched: topics in Assay's formats, and a sample run.

They are what participants see of the track, for everyone alike, so that everyone has the same checksums.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from assay.digests import sha256_of
from assay.formats.topics import writer
from corpus.models import FormulaMathML
from tracks.models import Download, Topic, TopicImport, Track
from tracks.topics.selectors import participants_view
from web.downloads import safe_name

DESCRIPTIONS = {
    "topics.jsonl": gettext_noop("Topics, one JSON object per line, with every field."),
    "topics.xml": gettext_noop("Topics in XML."),
    "bolt-topics.xml": gettext_noop("Topics in XML, as in BOLT."),
    "topics.tsv": gettext_noop("Topics as plain text."),
    "topic-formulas.tsv": gettext_noop("The formulas of the topics in LaTeX."),
}
WITH_FORMULAS = {
    "topics.xml": gettext_noop("Topics in XML, as in ARQMath."),
    "topics.tsv": gettext_noop("Topics as plain text, with LaTeX between dollars."),
}


@dataclass(frozen=True)
class Item:
    """A file or a link. A file is stored in the storage as `stored`, or is its `content`."""

    kind: str
    name: str
    description: str
    n_bytes: int | None
    sha256: str
    stored: str = ""
    content: bytes | None = None
    url: str = ""
    row: Download | None = None

    @classmethod
    def generated(cls, kind: Download.Kind, name: str, description: str, content: bytes) -> "Item":
        """A file that is made from rows of the database."""
        return cls(kind, name, description, len(content), sha256_of(content), content=content)

    @property
    def is_file(self) -> bool:
        return not self.url


SampleMaker = Callable[[Track], Item | None]
_sample_makers: list[SampleMaker] = []


def makes_samples(maker: SampleMaker) -> SampleMaker:
    """Register a function of an app above this one that makes the sample run of a track."""
    _sample_makers.append(maker)
    return maker


def sample_runs(track: Track) -> list[Item]:
    """The sample run of a track; empty if its protocol or its topics do not allow one."""
    return [made for maker in _sample_makers if (made := maker(track)) is not None]


def topic_files(track: Track) -> Iterator[Item]:
    """The topics in each format, with their formulas, and with their labels if the track shows these. Two queries."""
    topics = participants_view(track, track.topics.order_by("code"))
    if not topics:
        return
    rows = [topic.facts for topic in topics]
    described = DESCRIPTIONS | (WITH_FORMULAS if writer.formula_ids(rows) else {})
    for ending, write in writer.FORMS.items():
        content = write(rows)
        is_empty = not content or (ending == "topic-formulas.tsv" and content.count(b"\n") == 1)
        if not is_empty:
            yield Item.generated(Download.Kind.TOPICS, f"{track.slug}-{ending}", described[ending], content)
    yield from mathml_indexes(track, topics)
    if any(topic.labels or topic.split for topic in topics):
        name, about = f"{track.slug}-topic-labels.csv", gettext_noop("The labels of the topics.")
        yield Item.generated(Download.Kind.TOPICS, name, about, writer.labels(rows))


def mathml_indexes(track: Track, topics: list[Topic]) -> Iterator[Item]:
    """The formulas of the topics as MathML, in each form in which an index of the topics was imported. One query."""
    collection, rows = track.topic_collection or track.collection, [topic.facts for topic in topics]
    by_form: dict[str, dict[str, str]] = {}
    if collection is not None and (ids := writer.formula_ids(rows)):
        stored = collection.mathml.filter(code__in=ids).order_by("form", "pk")
        for form, code, markup in stored.values_list("form", "code", "content"):
            by_form.setdefault(form, {})[code] = markup
    for form, mathml in by_form.items():
        name = f"{track.slug}-topic-formulas-{form}.tsv"
        about = gettext("The formulas of the topics as {form}.").format(form=FormulaMathML.Form(form).label)
        index = writer.formulas_as_mathml(rows, form, mathml)
        yield Item.generated(Download.Kind.TOPICS, name, about, index)


def originals(track: Track, *, with_private: bool = False) -> list[TopicImport]:
    """The topic files as they were imported, oldest first, unless they have what participants do not see. One query.

    `with_private` adds these files. Imports of earlier versions did not keep the file.
    """
    stored = track.topic_imports.filter(format="topics", is_replaced=False).exclude(file="").order_by("pk")
    return [original for original in stored if with_private or not is_private(original)]


def is_private(topic_import: TopicImport) -> bool:
    """Return whether the file has what participants do not see."""
    return topic_import.has_private_parts or bool(topic_import.track.protocol.parsed.topics.participants_see)


def original_name(topic_import: TopicImport) -> str:
    """The name under which participants get an imported file."""
    return safe_name(topic_import.name)
