"""Candidates for topics, and samples of them, for programs."""

from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from accounts.models import User
from assay.candidates.conditions import parse_conditions
from assay.candidates.samples import MOST_PER_TOPIC, Settings, parse_stratum
from assay.errors import InputError
from jobs.api import JobSerializer
from tracks.candidates import jobs, selectors, services
from tracks.candidates.forms import MAX_SEED, ImportForm
from tracks.models import Candidate, CandidateSample, Track
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.parsers import JSONParser
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict, named, require_valid
from web.api.views import Endpoints, accepted, get, parameter, post

CandidateSerializer = answer(
    Candidate,
    "Candidate",
    "docno published_at=date title body tags score n_answers=answers n_formulas=formulas duplicates related "
    "reputation length",
    "A question that may become a topic.",
    title="HTML, sanitized.",
    body="HTML, sanitized.",
)


class CandidateFileSerializer(Strict):
    """A file of candidates, which replaces earlier ones."""

    file = serializers.FileField(required=False, help_text="Lines of JSON; may be compressed.")
    path = serializers.CharField(required=False, default="", help_text="Or a file in the import folder.")
    questions = serializers.SlugField(
        required=False, default="", help_text="Or a collection, whose questions become candidates."
    )


class SampleSerializer(serializers.ModelSerializer[CandidateSample]):
    """Candidates that were drawn by quotas."""

    content = serializers.CharField(
        help_text="The file of the sample, as `assay candidates sample` writes it."
    )
    labels = serializers.DictField(help_text="The labels that people give, each with its values.")
    people = serializers.SerializerMethodField()

    class Meta:
        model = CandidateSample
        fields = ["number", "content", "sha256", "labels", "people", "created_at"]

    def get_people(self, sample: CandidateSample) -> list[str]:
        """The user names of the two people who decide on it."""
        return [chooser.user.username for chooser in sample.choosers.select_related("user")]


class PeopleSerializer(Strict):
    """The two people who decide on a sample, each without seeing the other's decision."""

    people = serializers.ListField(
        child=serializers.CharField(), min_length=2, max_length=2, help_text="Two user names."
    )


class NewSampleSerializer(PeopleSerializer):
    """The rule of a sample."""

    seed = serializers.IntegerField(min_value=0, max_value=MAX_SEED)
    where = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only candidates that meet these conditions."
    )
    quotas = serializers.ListField(
        child=serializers.CharField(),
        allow_empty=False,
        help_text="Of each stratum, such as `89: duplicates=1..`; a number alone is for all others.",
    )
    per_topic = serializers.IntegerField(
        required=False, default=1, min_value=1, max_value=MOST_PER_TOPIC, help_text="Candidates per topic."
    )
    labels = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=100), allow_empty=False),
        required=False,
        help_text="The labels to give, each with its values; by default those of the protocol.",
    )


def people_of(track: Track, names: list[str]) -> list[User]:
    """The people that a request names.

    Raises:
        ValidationError: One of them may not choose topics of the track.
    """
    allowed = {user.username: user for user in selectors.people_who_may_choose(track)}
    return [named(allowed, name, "people") for name in names]


class Candidates(Endpoints):
    tag = "Topics"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/candidates/",
        "candidates",
        CandidateSerializer,
        ordering=("docno",),
        parameters=[parameter("where", "Only candidates that meet these conditions, such as `score=5..`.")],
    )
    def list_candidates(self, request: Request, slug: str) -> object:
        """List the candidates for the topics of a track."""
        track = track_of(request, slug)
        try:
            conditions = parse_conditions(request.query_params.get("where", ""))
        except InputError as error:
            raise serializers.ValidationError({"where": str(error)}) from None
        return selectors.meeting(track.candidates.all(), conditions)

    @post(
        "tracks/<slug:slug>/candidates/import/",
        "import_candidates",
        JobSerializer,
        takes=CandidateFileSerializer,
        status=202,
        parsers=[MultiPartParser, JSONParser],
        stores_files=True,
    )
    def import_candidates(self, request: Request, slug: str) -> object:
        """Import the candidates of a file in a job. They replace those of an earlier file."""
        track, data = track_of(request, slug), self.validated(request)
        files = {"upload": data["file"]} if "file" in data else {}
        given = {name: data[name] for name in ("path", "questions")}
        form = ImportForm(given, files, track=track, user=person_of(request))
        require_valid(form)
        job = jobs.request_import(track=track, **form.cleaned_data, by=person_of(request))
        response = accepted(JobSerializer(job).data, job.pk)
        self.keep_answer(response)
        return response

    @get(
        "tracks/<slug:slug>/candidate-samples/",
        "candidate_samples",
        SampleSerializer,
        ordering=("number",),
        who=[LoggedIn],
    )
    def list_candidate_samples(self, request: Request, slug: str) -> object:
        """List the samples of candidates: organizers all, others those that they decide on."""
        return selectors.samples_for(person_of(request)).filter(track__slug=slug)

    @post(
        "tracks/<slug:slug>/candidate-samples/",
        "candidate_samples",
        SampleSerializer,
        takes=NewSampleSerializer,
        status=201,
    )
    def create_candidate_sample(self, request: Request, slug: str) -> object:
        """Draw a sample of candidates by quotas. Quotas that cannot be met are refused with the counts."""
        track, data = track_of(request, slug), self.validated(request)
        words = selectors.label_words(track)
        labels = (selectors.DECISION, *words)
        try:
            strata = tuple(parse_stratum(text, labels) for text in data["quotas"])
            where = parse_conditions(data["where"], labels)
        except InputError as error:
            raise serializers.ValidationError({"quotas": str(error)}) from None
        return services.draw_sample(
            track=track,
            settings=Settings(data["seed"], strata, where, data["per_topic"]),
            labels=data.get("labels") or words,
            people=people_of(track, data["people"]),
            by=person_of(request),
        )


urlpatterns = Candidates.urls()
