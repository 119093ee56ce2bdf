"""Published runs of tracks for programs, and the consents of the teams."""

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of, user_of
from participation.teams.selectors import teams_for
from publishing.models import Consent, Publication
from publishing.published_runs import selectors, services
from publishing.published_runs.selectors import TeamConsent
from publishing.published_runs.views import archive_of
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Everyone, LoggedIn, Organizer
from web.api.serializers import JobAddress, Strict
from web.api.views import Endpoints, accepted, get, get_file, post, put
from web.models import Scope


class PublicationSerializer(serializers.ModelSerializer[Publication]):
    """The runs of a finished track in one archive."""

    status = serializers.CharField(help_text="building, ready or failed.")
    runs = serializers.ListField(child=serializers.DictField(), help_text="With the metadata of each.")
    left_out = serializers.DictField(help_text="Teams without consent, and disqualified runs.")
    file = serializers.SerializerMethodField(help_text="The address of the archive in the API.")
    job = JobAddress(help_text="The address of the job that makes it.")

    class Meta:
        model = Publication
        fields = ["status", "runs", "left_out", "n_bytes", "sha256", "file", "job", "created_at"]

    def get_file(self, publication: Publication) -> str | None:
        is_ready = publication.status == Publication.Status.READY
        return reverse("api:published_runs_file", args=[publication.track.slug]) if is_ready else None


ConsentSerializer = answer(
    TeamConsent,
    "Consent",
    "team=team.id name=team.name n_runs is_given",
    "The latest answer of a team with runs.",
    is_given=serializers.BooleanField(
        source="consent.is_given", allow_null=True, read_only=True, help_text="Null: it never answered."
    ),
)


PublishedRunsSerializer = answer(
    selectors.PublicationPage,
    "PublishedRuns",
    "publication unfinished consents",
    "The published archive, and the consents of the teams for which you may submit.",
    publication=PublicationSerializer(allow_null=True),
    unfinished=PublicationSerializer(
        allow_null=True, help_text="An archive that is being made or failed; for organizers."
    ),
)


class NewConsentSerializer(Strict):
    is_given = serializers.BooleanField(help_text="Whether the team agrees to the publication of its runs.")


RecordedConsentSerializer = answer(Consent, "RecordedConsent", "team is_given created_at=at")


class Publications(Endpoints):
    tag = "Runs"
    permission_classes = [Everyone]

    @get("tracks/<slug:slug>/published-runs/", "published_runs", PublishedRunsSerializer)
    def get_published_runs(self, request: Request, slug: str) -> object:
        """Read what is published of the runs of a track, and which teams agree."""
        return selectors.publication_page(user_of(request), track_of(request, slug))

    @get_file("tracks/<slug:slug>/published-runs/file/", "published_runs_file", "application/gzip")
    def download_published_runs(self, request: Request, slug: str) -> object:
        """Download the archive of the published runs."""
        return archive_of(request, track_of(request, slug))

    @post(
        "tracks/<slug:slug>/published-runs/publish/",
        "publish_runs",
        PublicationSerializer,
        status=202,
        who=[Organizer],
    )
    def publish_runs(self, request: Request, slug: str) -> object:
        """Publish the runs of a closed track, of the teams that agree, as one archive."""
        publication = services.request(track=track_of(request, slug), by=person_of(request))
        return accepted(PublicationSerializer(publication).data, publication.job_id)

    @post("tracks/<slug:slug>/published-runs/withdraw/", "withdraw_published_runs", who=[Organizer])
    def withdraw_published_runs(self, request: Request, slug: str) -> None:
        """Withdraw the published archive. Its record stays, its file is deleted."""
        services.withdraw(track=track_of(request, slug), by=person_of(request))

    @put(
        "teams/<int:team_id>/consent/",
        "consent",
        RecordedConsentSerializer,
        takes=NewConsentSerializer,
        who=[LoggedIn],
        write_scopes=(Scope.RUNS, Scope.MANAGE),
        tag="Teams",
    )
    def update_consent(self, request: Request, team_id: int) -> object:
        """Record whether a team agrees to the publication of its runs. Members who may submit, and organizers."""
        user = person_of(request)
        team = get_object_or_404(teams_for(user), pk=team_id)
        return services.record_consent(team=team, by=user, **self.validated(request))


urlpatterns = Publications.urls()
