"""URLs of the tracks app."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.utils.translation import gettext_noop

from tracks import history
from tracks.agreements import views as agreements
from tracks.candidates import views as candidates
from tracks.candidates.selectors import samples_of
from tracks.checklist import views as checklist
from tracks.choosing import views as choosing
from tracks.deadlines import views as deadlines
from tracks.downloads import views as downloads
from tracks.drafts import views as drafts
from tracks.guidelines import views as guidelines
from tracks.models import Download, SitePage, Topic
from tracks.pages import views as pages
from tracks.protocols import views as protocols
from tracks.rows import views as rows
from tracks.tabs import Page, Section, register, rows_of_track
from tracks.topics import views as topics
from tracks.tracks import views as tracks
from tracks.webhooks import views as webhooks
from web.links import address_of
from web.slots import fill


class PageName(StringConverter):
    regex = "|".join(SitePage.Name.values)


register_converter(PageName, "site_page")

app_name = "tracks"

urlpatterns = [
    path("tracks/<slug:slug>/deadlines/", deadlines.deadlines, name="deadlines"),
    path("tracks/<slug:slug>/calendar.ics", deadlines.calendar, name="calendar"),
    path("tracks/<slug:slug>/downloads/", downloads.downloads, name="downloads"),
    path("tracks/<slug:slug>/downloads/SHA256SUMS", downloads.checksums, name="checksums"),
    path("tracks/<slug:slug>/downloads/attach/", downloads.attach, name="attach"),
    path("tracks/<slug:slug>/downloads/export/", downloads.export_collection, name="export_collection"),
    path("tracks/<slug:slug>/downloads/log/", downloads.log, name="fetches"),
    path("tracks/<slug:slug>/downloads/log.csv", downloads.log_csv, name="fetches_csv"),
    path("tracks/<slug:slug>/downloads/files/<str:file>", downloads.download_file, name="download"),
    path("tracks/<slug:slug>/downloads/<slug:key>/edit/", downloads.edit, name="edit_download"),
    path("tracks/<slug:slug>/downloads/<slug:key>/remove/", downloads.remove, name="remove_download"),
    path("tracks/<slug:slug>/candidates/", candidates.candidates, name="candidates"),
    path("tracks/<slug:slug>/candidates/import/", candidates.import_candidates, name="import_candidates"),
    path("tracks/<slug:slug>/candidates/draw/", candidates.new_sample, name="new_sample"),
    path("tracks/<slug:slug>/samples/<int:sample>/", choosing.sample_page, name="candidate_sample"),
    path("tracks/<slug:slug>/samples/<int:sample>/people/", choosing.name_people, name="name_people"),
    path(
        "tracks/<slug:slug>/samples/<int:sample>/files/<str:file>", choosing.sample_file, name="sample_file"
    ),
    path("tracks/<slug:slug>/samples/<int:sample>/decide/", choosing.decide, name="decide"),
    path("tracks/<slug:slug>/samples/<int:sample>/undo/", choosing.undo_decision, name="undo_decision"),
    path("tracks/<slug:slug>/samples/<int:sample>/settle/<path:docno>/", choosing.settle, name="settle"),
    path("tracks/<slug:slug>/samples/<int:sample>/topics/", choosing.make_topics, name="make_topics"),
    path("tracks/<slug:slug>/candidate/<path:docno>/", candidates.candidate, name="candidate"),
    path("tracks/<slug:slug>/import-topics/", topics.import_topics, name="import_topics"),
    path("tracks/<slug:slug>/derive-topics/", choosing.derive, name="derive_topics"),
    path("tracks/<slug:slug>/new-topic/", topics.new_topic, name="new_topic"),
    path("tracks/<slug:slug>/correct-topic/<path:code>/", topics.correct, name="correct_topic"),
    path("tracks/<slug:slug>/delete-topic/<path:code>/", topics.delete_topic, name="delete_topic"),
    path("tracks/<slug:slug>/edit-topic/<path:code>/", topics.edit, name="edit_topic"),
    path("tracks/<slug:slug>/rows/", rows.rows, name="rows"),
    path("tracks/<slug:slug>/rows/<int:row_id>/frame/", rows.frame, name="row_frame"),
    path("tracks/<slug:slug>/topics/", topics.topics, name="topics"),
    path("tracks/<slug:slug>/topics/<path:code>/", topics.topic_page, name="topic"),
    path("tracks/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("tracks/<slug:slug>/guidelines/edit/", guidelines.edit, name="edit_guidelines"),
    path("tracks/<slug:slug>/guidelines/versions/", guidelines.versions, name="guidelines_versions"),
    path(
        "tracks/<slug:slug>/guidelines/versions/<int:number>/",
        guidelines.version_page,
        name="guidelines_version",
    ),
    path(
        "tracks/<slug:slug>/guidelines/changes/<int:old>/<int:new>/",
        guidelines.changes,
        name="guidelines_changes",
    ),
    path("tracks/<slug:slug>/data-agreement/", agreements.agreement, name="agreement"),
    path("tracks/<slug:slug>/data-agreement/accept/", agreements.accept, name="accept_agreement"),
    path("tracks/<slug:slug>/data-agreement/edit/", agreements.edit, name="edit_agreement"),
    path(
        "tracks/<slug:slug>/data-agreement/<int:number>/", agreements.version_page, name="agreement_version"
    ),
    path("tracks/<slug:slug>/webhooks/", webhooks.webhooks, name="webhooks"),
    path("tracks/<slug:slug>/webhooks/<int:webhook_id>/", webhooks.webhook_page, name="webhook"),
    path("tracks/<slug:slug>/webhooks/<int:webhook_id>/test/", webhooks.test, name="test_webhook"),
    path("tracks/<slug:slug>/webhooks/<int:webhook_id>/secret/", webhooks.renew_secret, name="renew_secret"),
    path(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/deliveries/<uuid:delivery_key>/again/",
        webhooks.send_again,
        name="send_again",
    ),
    path("tracks/<slug:slug>/webhooks/<int:webhook_id>/remove/", webhooks.remove, name="remove_webhook"),
    path("audit-log/", history.site_history, name="site_history"),
    path("audit-log/events.csv", history.site_history_csv, name="site_history_csv"),
    path("tracks/<slug:slug>/audit-log/", history.history, name="history"),
    path("tracks/<slug:slug>/audit-log/events.csv", history.history_csv, name="history_csv"),
    path("tracks/new/", topics.new_track, name="new_track"),
    path("tracks/<slug:slug>/edit/", tracks.edit_track, name="edit_track"),
    path("<site_page:name>/", pages.site_page, name="site_page"),
    path("<site_page:name>/edit/", pages.edit, name="edit_site_page"),
    path("tracks/<slug:slug>/", tracks.track_page, name="track"),
    path("tracks/<slug:slug>/open/", tracks.open_track, name="open_track"),
    path("tracks/<slug:slug>/close/", tracks.close_track, name="close_track"),
    path("tracks/<slug:slug>/draft/", tracks.back_to_draft, name="back_to_draft"),
    path("tracks/<slug:slug>/delete/", tracks.delete_track, name="delete_track"),
    path("tracks/<slug:slug>/skip/", checklist.skip, name="skip"),
    path("protocols/", protocols.protocols, name="protocols"),
    path("protocol/new/", drafts.new_protocol, name="new_protocol"),
    path("protocol/drafts/<int:draft_id>/", drafts.draft, name="draft"),
    path("protocol/drafts/<int:draft_id>/change/", drafts.change, name="change_draft"),
    path("protocol/drafts/<int:draft_id>/text/", drafts.change_text, name="change_text"),
    path("protocol/drafts/<int:draft_id>/add/", drafts.add_protocol, name="add_draft"),
    path("protocol/drafts/<int:draft_id>/discard/", drafts.discard, name="discard_draft"),
    path("protocols/<slug:slug>/", protocols.protocol, name="protocol"),
    path("protocols/<slug:slug>/delete/", protocols.delete_protocol, name="delete_protocol"),
]

register(
    Page(
        gettext_noop("Home"),
        "tracks:track",
        Section.HOME,
        1,
        "open_track close_track back_to_draft delete_track skip",
        tab=1,
        tab_label=gettext_noop("Overview"),
    ),
    Page(
        gettext_noop("Topics"),
        "tracks:topics",
        Section.SET_UP,
        1,
        "topic new_topic edit_topic correct_topic delete_topic import_topics derive_topics building:leaks candidates "
        "import_candidates new_sample candidate_sample name_people decide settle make_topics candidate rows",
        rows_of_track(Topic.objects.all()),
        tab=2,
    ),
    Page(
        gettext_noop("Data"),
        "tracks:downloads",
        Section.SET_UP,
        2,
        "attach export_collection edit_download fetches",
        rows_of_track(Download.objects.all()),
        tab=3,
        is_for=lambda visitor: not visitor.judges,
    ),
    Page(
        gettext_noop("Guidelines"),
        "tracks:guidelines",
        Section.SET_UP,
        3,
        "edit_guidelines guidelines_versions guidelines_version guidelines_changes "
        "assessment:examples scoring:judged_examples",
        tab=7,
        is_for=lambda visitor: visitor.judges,
    ),
    Page("Dates", "tracks:deadlines", Section.SET_UP, 5),
    Page(
        "Protocol",
        "tracks:protocol",
        Section.SET_UP,
        6,
        address=lambda track: address_of("tracks:protocol", track.protocol.slug),
    ),
    Page("General", "tracks:edit_track", Section.SETTINGS, 1),
    Page(
        "Data agreement",
        "tracks:agreement",
        Section.SETTINGS,
        2,
        "accept_agreement edit_agreement agreement_version",
    ),
    Page(
        "Webhooks", "tracks:webhooks", Section.SETTINGS, 4, "webhook test_webhook renew_secret remove_webhook"
    ),
    Page("Audit log", "tracks:history", Section.SETTINGS, 7),
)

fill("desk-notes", "tracks/candidates/_to_decide.html", lambda user: {"samples": samples_of(user)})
