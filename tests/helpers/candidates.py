"""A draft track with candidates, a sample of them, and the two people who decide on it."""

from typing import NamedTuple

from django.core.files.base import ContentFile

from accounts.models import User
from assay.candidates.reader import Candidate as Row
from assay.candidates.samples import Settings, Stratum, as_record, draw, parse_stratum
from assay.samples import path
from jobs import services as jobs
from tests.helpers.factories import make_assessor, make_organizer, make_track
from tests.helpers.remembered import remembered
from tracks.candidates import jobs as candidate_jobs
from tracks.candidates import services
from tracks.candidates.selectors import label_words
from tracks.models import Candidate, CandidateSample, Track

CANDIDATES = path("candidates.jsonl").read_bytes()
LABELS = {"category": "proof", "difficulty": "easy", "dependence": "both"}


class Choice(NamedTuple):
    """`first` is an organizer, `second` an assessor of the track."""

    track: Track
    sample: CandidateSample
    first: User
    second: User


def import_candidates(
    track: Track, by: User, content: bytes = CANDIDATES, name: str = "candidates.jsonl"
) -> None:
    """Import candidates and run the job."""
    job = candidate_jobs.request_import(track=track, upload=ContentFile(content, name=name), by=by)
    jobs.run(job.pk)


def make_sample(
    track: Track, people: list[User], quotas: tuple[str, ...] = ("5: duplicates=1..", "2"), seed: int = 7
) -> CandidateSample:
    """A sample of the candidates of a track. By default, all of them are in it."""
    strata = tuple(parse_stratum(text, ("decision", *label_words(track))) for text in quotas)
    return services.draw_sample(
        track=track,
        settings=Settings(seed, strata, per_topic=10),
        labels=label_words(track),
        people=people,
        by=people[0],
    )


@remembered
def make_choice(slug: str = "lab", protocol: str = "arqmath-2020-task1") -> Choice:
    """A draft with the sample candidates, all of them drawn."""
    track = make_track(slug, protocol=protocol, status=Track.Status.DRAFT)
    first, second = make_organizer("ines"), make_assessor(track, "marek")
    import_candidates(track, first)
    return Choice(track, make_sample(track, [first, second]), first, second)


def make_candidate(track: Track, *people: User, docno: str = "9") -> CandidateSample:
    """A sample of a single candidate, in a track of any state, which these two people may see."""
    candidate = Candidate.objects.create(
        **dict.fromkeys(("score", "answers", "formulas", "reputation", "length"), 0),
        **{name: [] for name in ("tags", "duplicates", "related")},
        track=track,
        docno=docno,
        title="A question",
        body="<p>Why?</p>",
        text="why?",
    )
    row = Row(id=docno)
    content = as_record(draw([row], Settings(1, (Stratum(1),)), {}), sha256="0" * 64).decode()
    sample = CandidateSample.objects.create(track=track, number=1, content=content, created_by=people[0])
    sample.rows.create(candidate=candidate, position=1, stratum=1)
    for seat, user in enumerate(people, 1):
        sample.choosers.create(user=user, seat=seat)
    return sample
