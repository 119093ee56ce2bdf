"""The sample run of a track: real topics and real units, so that it is accepted when it is submitted."""

from assay.formats.runs.samples import N_UNITS, Unit, placeholders, sample_run
from assay.protocols.schema import Protocol
from corpus.models import Collection, Formula
from pooling.runs.units import KINDS, has_formulas, has_units
from tracks.downloads.contents import Made, makes_samples
from tracks.models import Download, Track


@makes_samples
def sample(track: Track) -> Made | None:
    """The sample run of a track; None while it has no topics, or its collection no units. Four queries at most."""
    protocol = track.protocol.parsed
    topics = list(track.topics.values_list("code", flat=True))
    units = _units(track, protocol)
    if not topics or not units:
        return None
    extension, content = sample_run(protocol, topics, units)
    about = f"A run that {track} accepts: {len(units)} lines for each topic. Replace them by yours."
    return Made(Download.Kind.SAMPLE_RUN, f"{track.slug}-sample-run.{extension}", about, content)


def _units(track: Track, protocol: Protocol) -> list[Unit]:
    """The first units of the collection by docno; placeholders if the docnos of runs are not looked up."""
    collection = track.collection
    if collection is not None and has_units(track, protocol):
        documents = collection.documents.order_by("docno")
        if kinds := KINDS[protocol.unit]:
            documents = documents.filter(kind__in=kinds)
        return [Unit(docno) for docno in documents.values_list("docno", flat=True)[:N_UNITS]]
    if collection is not None and has_formulas(track, protocol):
        return _formulas(collection)
    return placeholders(protocol)


def _formulas(collection: Collection) -> list[Unit]:
    posts = [Formula.Place.TITLE, Formula.Place.QUESTION, Formula.Place.ANSWER]
    formulas = collection.formulas.filter(place__in=posts).order_by("code")
    return [Unit(code, post) for code, post in formulas.values_list("code", "post")[:N_UNITS]]
