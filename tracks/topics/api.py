"""Topics for programs."""

from typing import Any

from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from assay.formats.documents.batch import MAX_NAME, Unusable
from assay.formats.topics.reader import MAX_CODE, MAX_FORMULA_ID, split_of
from assay.formats.topics.subtopics import MAX_CHARACTERS, NUMBER, subtopics_of
from tracks.models import Topic
from tracks.topics import selectors, services
from tracks.topics.forms import MAX_BODY, MAX_TEXT
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, delete, get, patch, post


class SubtopicSerializer(serializers.Serializer[Any]):
    """A part or meaning of a topic."""

    number = serializers.RegexField(
        NUMBER, help_text="As in qrels: letters, digits, hyphens and underscores."
    )
    text = serializers.CharField(required=False, allow_blank=True, default="", max_length=MAX_CHARACTERS)
    type = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_NAME, help_text="Such as inf or nav."
    )


TopicSerializer = answer(
    Topic,
    "Topic",
    "code title body narrative scenario criteria tags labels subtopics split formula_id latex known_item",
    "An information need. What you may not see is empty.",
    title="HTML, sanitized.",
    body="HTML, sanitized.",
    narrative="What is relevant and what is not, as sanitized HTML.",
    scenario="Who asks, and what for: plain text, LaTeX between dollars.",
    criteria="What makes a document relevant: plain text, LaTeX between dollars.",
    labels=serializers.DictField(help_text="Properties of the topic, such as its category."),
    subtopics=SubtopicSerializer(many=True, help_text="Its parts or meanings."),
    known_item="Of a known-item task, for organizers: the relevant document.",
)


class TopicTextSerializer(Strict):
    """The texts and labels of a topic that can change in every state of its track."""

    scenario = serializers.CharField(required=False, allow_blank=True, max_length=MAX_TEXT)
    criteria = serializers.CharField(required=False, allow_blank=True, max_length=MAX_TEXT)
    known_item = serializers.RegexField(r"^\S*$", required=False, allow_blank=True, max_length=MAX_NAME)
    split = serializers.CharField(required=False, allow_blank=True, max_length=MAX_NAME)
    labels = serializers.DictField(
        child=serializers.CharField(max_length=MAX_NAME), required=False, help_text="All labels of the topic."
    )

    subtopics = SubtopicSerializer(many=True, required=False, help_text="All subtopics of the topic.")

    def validate_split(self, split: str) -> str:
        return split_of(split)

    def validate_subtopics(self, subtopics: list[dict[str, str]]) -> list[dict[str, str]]:
        try:
            return list(subtopics_of(subtopics))
        except Unusable as reason:
            raise serializers.ValidationError(f"{str(reason)[0].upper()}{str(reason)[1:]}.") from None


class TopicContentSerializer(TopicTextSerializer):
    """A topic. Its title, body and tags can change in a draft only."""

    title = serializers.CharField(required=False, allow_blank=True, max_length=MAX_TEXT)
    body = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_BODY, help_text="HTML, with LaTeX between dollars."
    )
    narrative = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_BODY, help_text="HTML."
    )
    tags = serializers.ListField(child=serializers.CharField(max_length=MAX_NAME), required=False)
    latex = serializers.CharField(required=False, allow_blank=True, max_length=MAX_TEXT)
    formula_id = serializers.CharField(required=False, allow_blank=True, max_length=MAX_FORMULA_ID)


class TopicChangeSerializer(TopicContentSerializer):
    """The parts of a topic that change."""

    reason = serializers.CharField(
        required=False,
        max_length=2_000,
        help_text="In a track that was opened: why title, body or narrative are corrected. Everybody reads it.",
    )


class NewTopicSerializer(TopicContentSerializer):
    """A new topic of a draft."""

    code = serializers.CharField(max_length=MAX_CODE, help_text="As in runs and qrels.")


class TopicFileSerializer(Strict):
    """A file of topics, or of labels or known items for existing topics."""

    file = serializers.FileField(
        help_text="XML, TREC's text, JSON, lines of JSON, CSV or TSV; may be compressed."
    )
    holds = serializers.ChoiceField(
        ["topics", "all topics", "labels", "known items", "rows"],
        required=False,
        default="topics",
        help_text="`all topics` removes topics that are missing from the file; `rows` are those that a form shows.",
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """The numbers of an import; those of labels, known items and rows are only `n_topics`."""

    n_topics = serializers.IntegerField(help_text="Topics of the track that the file has.")
    n_new = serializers.IntegerField(default=None, allow_null=True)
    n_changed = serializers.IntegerField(default=None, allow_null=True)
    n_unchanged = serializers.IntegerField(default=None, allow_null=True)
    n_removed = serializers.IntegerField(default=None, allow_null=True)
    unmatched = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text="Topics without a thread in the topic collection.",
    )
    result = serializers.CharField(source="__str__", help_text="All of it in a sentence.")


TOPIC = ("tracks/<slug:slug>/topics/<path:code>/", "topic")


class Topics(Endpoints):
    tag = "Topics"
    permission_classes = [Everyone]

    @post(
        "tracks/<slug:slug>/import-topics/",
        "import_topics",
        ImportedSerializer,
        takes=TopicFileSerializer,
        who=[Organizer],
        parsers=[MultiPartParser],
        stores_files=True,
    )
    def import_topics(self, request: Request, slug: str) -> object:
        """Import topics, labels or known items for them, or the rows of a table.

        A topic that exists already is updated. A file with errors changes nothing.
        """
        track = track_of(request, slug)
        data = self.validated(request)
        result = services.import_upload(
            track=track,
            upload=data["file"],
            holds=data["holds"],
            on_stored=lambda report: self.keep_answer(Response(ImportedSerializer(report).data)),
        )
        return Response(ImportedSerializer(result).data)

    @get(
        "tracks/<slug:slug>/topics/",
        "topics",
        TopicSerializer,
        ordering=("code",),
        filters=[Filter("split")],
        orders=["code"],
        searches=("code",),
    )
    def list_topics(self, request: Request, slug: str) -> object:
        """List the topics of a track, in the byte order of their codes.

        Organizers and assessors see every part of a topic, others those that the protocol lists.
        """
        user = user_of(request)
        track = track_of(request, slug)
        page = self.paginate_queryset(selectors.topics_for(user, track)) or []
        topics = selectors.hide_fields(user, track, page)
        return self.get_paginated_response(TopicSerializer(topics, many=True).data)

    @post(
        "tracks/<slug:slug>/topics/",
        "topics",
        TopicSerializer,
        takes=NewTopicSerializer,
        status=201,
        who=[Organizer],
    )
    def create_topic(self, request: Request, slug: str) -> object:
        """Write a topic of a draft."""
        track = track_of(request, slug)
        return services.write(track=track, by=person_of(request), **self.validated(request))

    @get(*TOPIC, TopicSerializer)
    def get_topic(self, request: Request, slug: str, code: str) -> object:
        """Read a topic."""
        user = user_of(request)
        track = track_of(request, slug)
        topic = selectors.topic_or_404(user, track, code)
        [visible] = selectors.hide_fields(user, track, [topic])
        return visible

    @delete(*TOPIC, who=[Organizer])
    def delete_topic(self, request: Request, slug: str, code: str) -> None:
        """Delete a topic of a draft."""
        user = person_of(request)
        track = track_of(request, slug)
        topic = selectors.topic_or_404(user, track, code)
        services.delete(topic=topic, by=user)

    @patch(*TOPIC, TopicSerializer, takes=TopicChangeSerializer, who=[Organizer])
    def update_topic(self, request: Request, slug: str, code: str) -> object:
        """Change a topic. In a track that was opened, only scenario, criteria, known item, split, labels and the
        texts of subtopics can change; title, body and narrative with a reason, which is announced.

        Fields that are left out stay.
        """
        user = person_of(request)
        track = track_of(request, slug)
        topic = selectors.topic_or_404(user, track, code)
        return services.edit(topic=topic, by=user, **self.validated(request))


urlpatterns = Topics.urls()
