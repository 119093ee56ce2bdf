"""URLs of the pooling app."""

from django.urls import include, path
from django.utils.translation import gettext_noop

from pooling.checklist import counts_of
from pooling.models import Pool
from pooling.pools import views as pools
from pooling.runs import views as runs
from tracks.tabs import Page, Section, register, rows_of_track
from tracks.tracks.selectors import is_member

app_name = "pooling"

track_urls = [
    path("runs/", runs.runs_page, name="runs"),
    path("runs/submit/", runs.submit, name="submit"),
    path("runs/programs/", runs.programs, name="programs"),
    path("runs/submit/start/", runs.read_start, name="read_start"),
    path("teams/<int:team_id>/runs/", runs.team_runs, name="team_runs"),
    path("pools/", pools.pools, name="pools"),
    path("pools/new/", pools.new_pool, name="new_pool"),
    path("pools/preview/", pools.preview, name="preview"),
    path("pools/preview/compute/", pools.compute_preview, name="compute_preview"),
    path("pools/visual-ids/", pools.make_ids, name="make_ids"),
    path("runs/remind/", runs.remind, name="remind"),
]
run_urls = [
    path("", runs.run_page, name="run"),
    path("file/", runs.run_file, name="run_file"),
    path("withdraw/", runs.withdraw, name="withdraw"),
    path("description/", runs.describe, name="describe"),
    path("move/", runs.move, name="move"),
    path("disqualify/", runs.disqualify, name="disqualify"),
    path("reinstate/", runs.reinstate, name="reinstate"),
    path("compare/", runs.choose_other, name="choose_run"),
    path("compare/<int:other_id>/", runs.compare, name="compare_runs"),
]
pool_urls = [
    path("", pools.pool_page, name="pool"),
    path("delete/", pools.delete, name="delete_pool"),
    path("pool.tsv", pools.pool_file, name="pool_file"),
    path("pool.xml", pools.pool_citations, name="pool_citations"),
    path("contributions.tsv", pools.pool_contributions, name="pool_contributions"),
    path("members.tsv", pools.pool_members, name="pool_members"),
    path("member-contributions.tsv", pools.pool_member_contributions, name="pool_member_contributions"),
    path("record.json", pools.pool_record, name="pool_record"),
    path("depths/", pools.pool_depths, name="pool_depths"),
    path("overlap/", pools.pool_overlap, name="pool_overlap"),
    path("overlap.tsv", pools.pool_overlap_file, name="pool_overlap_file"),
    path("topics/<path:code>/", pools.pool_topic, name="pool_topic"),
    path("entries/<int:entry_id>/", pools.pool_entry, name="pool_entry"),
]
urlpatterns = [
    path("tracks/<slug:slug>/", include(track_urls)),
    path("runs/<int:run_id>/", include(run_urls)),
    path("pools/<int:pool_id>/", include(pool_urls)),
]

register(
    Page(
        gettext_noop("Runs"),
        "pooling:runs",
        Section.RUNS,
        1,
        "submit programs team_runs run describe move withdraw disqualify reinstate choose_run compare_runs remind "
        "publishing:publication publishing:documents publishing:change_document",
        n=lambda campaign: campaign.once(counts_of).runs,
        is_in=lambda track: track.protocol.parsed.takes_runs,
        tab=4,
        tab_label=gettext_noop("Your runs"),
        is_for=lambda visitor: not visitor.judges and is_member(visitor.user, visitor.track),
    ),
    Page(
        "Pools",
        "pooling:pools",
        Section.RUNS,
        4,
        "new_pool preview compute_preview pool delete_pool pool_depths pool_overlap pool_topic pool_entry",
        rows_of_track(Pool.objects.all()),
    ),
)
