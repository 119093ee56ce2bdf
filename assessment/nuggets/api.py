"""Nuggets for programs: write, merge and freeze lists, and exchange them as files of nuggetizer and AutoJudge."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assay.formats.qrels.columns import MAX_WEIGHT
from assessment.nuggets import selectors, services
from assessment.nuggets.forms import ImportForm
from assessment.nuggets.services import MAX_KIND, MAX_TEXT
from pooling.models import Nugget, NuggetSources, NuggetVersion
from tracks.models import Topic, Track
from tracks.tracks.selectors import tracks_overseen_by
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, delete, get, get_file, patch, post, put
from web.downloads import download
from web.models import Scope

WRITING = (Scope.JUDGE, Scope.MANAGE)


NuggetSerializer = answer(
    Nugget,
    "Nugget",
    "id topic=topic.code key text importance sources creator question merged weight kind made_from more created_at",
    "A fact that a good answer to a topic states.",
    sources=serializers.ListField(
        child=serializers.CharField(), help_text="Docnos of segments that state it."
    ),
    question=serializers.DictField(help_text="Of a question: its answers, joined by AND or OR; else empty."),
    merged=serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the nuggets that it replaces."
    ),
    more=serializers.DictField(help_text="Keys of its file that Assay does not read, with their values."),
)

_WEIGHT = "Of a criterion; negative for what an answer must avoid. Only in tracks with rubrics."
_KIND = "Of a criterion: what it is about, such as references."
_MADE_FROM = "Of a criterion: the text of the nugget that it was made from."


class _Criterion(Strict):
    weight = serializers.FloatField(
        required=False, allow_null=True, min_value=-MAX_WEIGHT, max_value=MAX_WEIGHT, help_text=_WEIGHT
    )
    kind = serializers.CharField(required=False, allow_blank=True, max_length=MAX_KIND, help_text=_KIND)
    made_from = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_TEXT, help_text=_MADE_FROM
    )


class _Fields(_Criterion):
    text = serializers.CharField(max_length=MAX_TEXT)
    importance = serializers.ChoiceField(
        Nugget.Importance.choices,
        default=Nugget.Importance.VITAL,
        help_text="Of a criterion: vital is mandatory, okay is optional.",
    )


class NewNuggetSerializer(_Fields):
    """A nugget to add to the list of a topic."""

    topic = serializers.CharField(help_text="The code of the topic.")
    sources = serializers.ListField(
        child=serializers.CharField(max_length=500), default=list, max_length=1_000
    )
    creator = serializers.CharField(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="The program that wrote it; without it, your name.",
    )


class NuggetChangeSerializer(_Criterion):
    """A change of a nugget. Another text gives it another key, and it is judged as a new nugget."""

    text = serializers.CharField(max_length=MAX_TEXT, required=False)
    importance = serializers.ChoiceField(Nugget.Importance.choices, required=False)
    sources = serializers.ListField(
        child=serializers.CharField(max_length=500), required=False, max_length=1_000
    )


class MergedNuggetSerializer(_Fields):
    """Nuggets of one topic, and the nugget that replaces them."""

    topic = serializers.CharField(help_text="The code of the topic.")
    ids = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=1_000)


class TopicToFreezeSerializer(Strict):
    """The topic whose list is frozen."""

    topic = serializers.CharField(help_text="The code of the topic.")


NuggetVersionSerializer = answer(
    NuggetVersion,
    "NuggetVersion",
    "topic=topic.code version sha256 nuggets created_by=frozen_by.username created_at=frozen_at",
    "A frozen list, which never changes.",
    nuggets=serializers.ListField(child=serializers.DictField()),
)


class NuggetFileSerializer(Strict):
    """A file of nuggetizer, a nugget bank of AutoJudge or RAGTIME, or rubrics."""

    file = serializers.FileField(help_text="JSON lines, UTF-8.")


class ImportedNuggetsSerializer(serializers.Serializer[Any]):
    """The number of new nuggets."""

    n = serializers.IntegerField()


SegmentsSerializer = answer(
    NuggetSources,
    "Segments",
    "judged_in=judged_in.slug from_grade",
    "The track whose relevant documents people read while they write nuggets.",
)


class ChosenSegmentsSerializer(Strict):
    """A track that judged relevance for the same topics, and its lowest relevant grade."""

    judged_in = serializers.SlugField(max_length=100)
    from_grade = serializers.IntegerField(min_value=0, max_value=999)


def _topic(track: Track, code: str) -> Topic:
    return get_object_or_404(track.topics, code=code)


CHANGED = ("text", "importance", "sources", "weight", "kind", "made_from")
NUGGET = ("nuggets/<int:nugget_id>/", "nugget")


class Nuggets(Endpoints):
    tag = "Nuggets"
    permission_classes = [LoggedIn]

    @get(
        "tracks/<slug:slug>/nuggets/",
        "nuggets",
        NuggetSerializer,
        write_scopes=WRITING,
        ordering=("pk",),
        filters=[Filter("topic", "topic__code"), Filter("importance", values=Nugget.Importance.values)],
    )
    def list_nuggets(self, request: Request, slug: str) -> object:
        """List the nuggets of a track. Assessors of the track, and organizers."""
        return selectors.nuggets_of(selectors.track_or_404(person_of(request), slug))

    @post("tracks/<slug:slug>/nuggets/", "nuggets", NuggetSerializer, takes=NewNuggetSerializer, status=201)
    def create_nugget(self, request: Request, slug: str) -> object:
        """Add a nugget to the list of a topic."""
        user = person_of(request)
        track, data = selectors.track_or_404(user, slug), self.validated(request)
        return services.add(topic=_topic(track, data.pop("topic")), by=user, **data)

    @post(
        "tracks/<slug:slug>/nuggets/merge/",
        "merge_nuggets",
        NuggetSerializer,
        takes=MergedNuggetSerializer,
        status=201,
        write_scopes=WRITING,
    )
    def merge_nuggets(self, request: Request, slug: str) -> object:
        """Replace several nuggets of a topic by one, which has their sources and keeps their keys."""
        user = person_of(request)
        track, data = selectors.track_or_404(user, slug), self.validated(request)
        return services.merge(topic=_topic(track, data.pop("topic")), by=user, **data)

    @patch(*NUGGET, NuggetSerializer, takes=NuggetChangeSerializer, write_scopes=WRITING)
    def update_nugget(self, request: Request, nugget_id: int) -> object:
        """Change a nugget of a list. A frozen version keeps what it has."""
        user = person_of(request)
        nugget = selectors.nugget_or_404(user, nugget_id)
        require_match(request, NuggetSerializer(nugget).data)
        values = {name: getattr(nugget, name) for name in CHANGED}
        return services.change(nugget=nugget, shown=nugget.key, by=user, **values | self.validated(request))

    @delete(*NUGGET)
    def delete_nugget(self, request: Request, nugget_id: int) -> None:
        """Take a nugget from its list. It can be restored."""
        user = person_of(request)
        services.remove(nugget=selectors.nugget_or_404(user, nugget_id), by=user)

    @post("nuggets/<int:nugget_id>/restore/", "restore_nugget", NuggetSerializer, write_scopes=WRITING)
    def restore_nugget(self, request: Request, nugget_id: int) -> object:
        """Put a nugget that was removed or merged back into its list."""
        user = person_of(request)
        return services.restore(nugget=selectors.nugget_or_404(user, nugget_id), by=user)


NUGGET_VERSIONS = ("tracks/<slug:slug>/nugget-versions/", "nugget_versions", NuggetVersionSerializer)


class NuggetLists(Endpoints):
    tag = "Nuggets"
    permission_classes = [Organizer]

    @get(
        *NUGGET_VERSIONS,
        ordering=("-pk",),
        filters=[Filter("topic", "topic__code"), Filter("version", kind="whole number")],
    )
    def list_nugget_versions(self, request: Request, slug: str) -> object:
        """List the frozen lists of a track, newest first."""
        return selectors.versions_of(selectors.track_or_404(person_of(request), slug))

    @post(*NUGGET_VERSIONS, takes=TopicToFreezeSerializer, status=201)
    def create_nugget_version(self, request: Request, slug: str) -> object:
        """Freeze the list of a topic as its next version."""
        user = person_of(request)
        track = selectors.track_or_404(user, slug)
        return services.freeze(topic=_topic(track, self.validated(request)["topic"]), by=user)

    @post(
        "tracks/<slug:slug>/nuggets/import/",
        "import_nuggets",
        ImportedNuggetsSerializer,
        takes=NuggetFileSerializer,
        parsers=[MultiPartParser],
    )
    def import_nuggets(self, request: Request, slug: str) -> object:
        """Add the nuggets of a file to the lists of the track. Those that a list has are skipped."""
        user = person_of(request)
        track, form = (
            selectors.track_or_404(user, slug),
            ImportForm({}, MultiValueDict({"file": [self.validated(request)["file"]]})),
        )
        require_valid(form)
        file = form.cleaned_data["file"]
        return {"n": services.import_lists(track=track, data=file.read(), name=file.name, by=user)}

    @get("tracks/<slug:slug>/nugget-segments/", "nugget_segments", SegmentsSerializer)
    def get_nugget_segments(self, request: Request, slug: str) -> object:
        """Read which track's relevant documents are next to the lists."""
        return get_object_or_404(NuggetSources, track=selectors.track_or_404(person_of(request), slug))

    @put(
        "tracks/<slug:slug>/nugget-segments/",
        "nugget_segments",
        SegmentsSerializer,
        takes=ChosenSegmentsSerializer,
    )
    def update_nugget_segments(self, request: Request, slug: str) -> object:
        """Choose the track whose relevant documents are next to the lists."""
        user = person_of(request)
        track, data = selectors.track_or_404(user, slug), self.validated(request)
        judged_in = get_object_or_404(tracks_overseen_by(user), slug=data["judged_in"])
        return services.choose_sources(
            track=track, judged_in=judged_in, from_grade=data["from_grade"], by=user
        )

    @get_file(
        "tracks/<slug:slug>/nuggets/files/<slug:to>/",
        "nuggets_file",
        "application/octet-stream",
        "application/jsonl",
    )
    def download_nuggets(self, request: Request, slug: str, to: str) -> object:
        """Download the latest frozen lists: `nuggetizer`, `nugget-bank` or `ragtime`; rubrics as `ragdoll`, too."""
        return download(*selectors.frozen_file(selectors.track_or_404(person_of(request), slug), to))


urlpatterns = Nuggets.urls() + NuggetLists.urls()
