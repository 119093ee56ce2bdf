"""URLs of the tracks app."""

from django.urls import include, path, register_converter
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

track_urls = [
    path("deadlines/", deadlines.deadlines, name="deadlines"),
    path("calendar.ics", deadlines.calendar, name="calendar"),
    path("downloads/", downloads.downloads, name="downloads"),
    path("downloads/SHA256SUMS", downloads.checksums, name="checksums"),
    path("downloads/attach/", downloads.attach, name="attach"),
    path("downloads/export/", downloads.export_collection, name="export_collection"),
    path("downloads/log/", downloads.log, name="fetches"),
    path("downloads/log.csv", downloads.log_csv, name="fetches_csv"),
    path("downloads/files/<str:file>", downloads.download_file, name="download"),
    path("downloads/<slug:key>/edit/", downloads.edit, name="edit_download"),
    path("downloads/<slug:key>/remove/", downloads.remove, name="remove_download"),
    path("candidates/", candidates.candidates, name="candidates"),
    path("candidates/import/", candidates.import_candidates, name="import_candidates"),
    path("candidates/draw/", candidates.new_sample, name="new_sample"),
    path("samples/<int:sample>/", choosing.sample_page, name="candidate_sample"),
    path("samples/<int:sample>/people/", choosing.name_people, name="name_people"),
    path("samples/<int:sample>/files/<str:file>", choosing.sample_file, name="sample_file"),
    path("samples/<int:sample>/decide/", choosing.decide, name="decide"),
    path("samples/<int:sample>/undo/", choosing.undo_decision, name="undo_decision"),
    path("samples/<int:sample>/settle/<path:docno>/", choosing.settle, name="settle"),
    path("samples/<int:sample>/topics/", choosing.make_topics, name="make_topics"),
    path("candidate/<path:docno>/", candidates.candidate, name="candidate"),
    path("import-topics/", topics.import_topics, name="import_topics"),
    path("derive-topics/", choosing.derive, name="derive_topics"),
    path("new-topic/", topics.new_topic, name="new_topic"),
    path("correct-topic/<path:code>/", topics.correct, name="correct_topic"),
    path("delete-topic/<path:code>/", topics.delete_topic, name="delete_topic"),
    path("edit-topic/<path:code>/", topics.edit, name="edit_topic"),
    path("rows/", rows.rows, name="rows"),
    path("rows/<int:row_id>/frame/", rows.frame, name="row_frame"),
    path("topics/", topics.topics, name="topics"),
    path("topics/<path:code>/", topics.topic_page, name="topic"),
    path("guidelines/", guidelines.guidelines, name="guidelines"),
    path("guidelines/edit/", guidelines.edit, name="edit_guidelines"),
    path("guidelines/versions/", guidelines.versions, name="guidelines_versions"),
    path("guidelines/versions/<int:number>/", guidelines.version_page, name="guidelines_version"),
    path("guidelines/changes/<int:old>/<int:new>/", guidelines.changes, name="guidelines_changes"),
    path("data-agreement/", agreements.agreement, name="agreement"),
    path("data-agreement/accept/", agreements.accept, name="accept_agreement"),
    path("data-agreement/edit/", agreements.edit, name="edit_agreement"),
    path("data-agreement/<int:number>/", agreements.version_page, name="agreement_version"),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/<int:webhook_id>/", webhooks.webhook_page, name="webhook"),
    path("webhooks/<int:webhook_id>/test/", webhooks.test, name="test_webhook"),
    path("webhooks/<int:webhook_id>/secret/", webhooks.renew_secret, name="renew_secret"),
    path(
        "webhooks/<int:webhook_id>/deliveries/<uuid:delivery_key>/again/",
        webhooks.send_again,
        name="send_again",
    ),
    path("webhooks/<int:webhook_id>/remove/", webhooks.remove, name="remove_webhook"),
    path("audit-log/", history.history, name="history"),
    path("audit-log/events.csv", history.history_csv, name="history_csv"),
    path("edit/", tracks.edit_track, name="edit_track"),
    path("", tracks.track_page, name="track"),
    path("open/", tracks.open_track, name="open_track"),
    path("close/", tracks.close_track, name="close_track"),
    path("draft/", tracks.back_to_draft, name="back_to_draft"),
    path("delete/", tracks.delete_track, name="delete_track"),
    path("skip/", checklist.skip, name="skip"),
]
draft_urls = [
    path("", drafts.draft, name="draft"),
    path("change/", drafts.change, name="change_draft"),
    path("text/", drafts.change_text, name="change_text"),
    path("add/", drafts.add_protocol, name="add_draft"),
    path("discard/", drafts.discard, name="discard_draft"),
]
urlpatterns = [
    path("audit-log/", history.site_history, name="site_history"),
    path("audit-log/events.csv", history.site_history_csv, name="site_history_csv"),
    path("tracks/new/", topics.new_track, name="new_track"),
    path("<site_page:name>/", pages.site_page, name="site_page"),
    path("<site_page:name>/edit/", pages.edit, name="edit_site_page"),
    path("protocols/", protocols.protocols, name="protocols"),
    path("protocol/new/", drafts.new_protocol, name="new_protocol"),
    path("protocols/<slug:slug>/", protocols.protocol, name="protocol"),
    path("protocols/<slug:slug>/delete/", protocols.delete_protocol, name="delete_protocol"),
    path("tracks/<slug:slug>/", include(track_urls)),
    path("protocol/drafts/<int:draft_id>/", include(draft_urls)),
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
