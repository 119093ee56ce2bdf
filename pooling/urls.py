"""URLs of the pooling app."""

from django.urls import path
from django.utils.translation import gettext_noop

from pooling.checklist import counts_of
from pooling.models import Pool
from pooling.pools import views as pools
from pooling.runs import views as runs
from tracks.tabs import Page, Section, register, rows_of_track
from tracks.tracks.selectors import is_member

app_name = "pooling"

urlpatterns = [
    path("tracks/<slug:slug>/runs/", runs.runs_page, name="runs"),
    path("tracks/<slug:slug>/runs/submit/", runs.submit, name="submit"),
    path("tracks/<slug:slug>/runs/programs/", runs.programs, name="programs"),
    path("tracks/<slug:slug>/runs/submit/start/", runs.read_start, name="read_start"),
    path("tracks/<slug:slug>/teams/<int:team_id>/runs/", runs.team_runs, name="team_runs"),
    path("runs/<int:run_id>/", runs.run_page, name="run"),
    path("runs/<int:run_id>/file/", runs.run_file, name="run_file"),
    path("runs/<int:run_id>/withdraw/", runs.withdraw, name="withdraw"),
    path("runs/<int:run_id>/description/", runs.describe, name="describe"),
    path("runs/<int:run_id>/move/", runs.move, name="move"),
    path("runs/<int:run_id>/disqualify/", runs.disqualify, name="disqualify"),
    path("runs/<int:run_id>/reinstate/", runs.reinstate, name="reinstate"),
    path("runs/<int:run_id>/compare/", runs.choose_other, name="choose_run"),
    path("runs/<int:run_id>/compare/<int:other_id>/", runs.compare, name="compare_runs"),
    path("tracks/<slug:slug>/pools/", pools.pools, name="pools"),
    path("tracks/<slug:slug>/pools/new/", pools.new_pool, name="new_pool"),
    path("tracks/<slug:slug>/pools/preview/", pools.preview, name="preview"),
    path("tracks/<slug:slug>/pools/preview/compute/", pools.compute_preview, name="compute_preview"),
    path("tracks/<slug:slug>/pools/visual-ids/", pools.make_ids, name="make_ids"),
    path("pools/<int:pool_id>/", pools.pool_page, name="pool"),
    path("pools/<int:pool_id>/delete/", pools.delete, name="delete_pool"),
    path("pools/<int:pool_id>/pool.tsv", pools.pool_file, name="pool_file"),
    path("tracks/<slug:slug>/runs/remind/", runs.remind, name="remind"),
    path("pools/<int:pool_id>/pool.xml", pools.pool_citations, name="pool_citations"),
    path("pools/<int:pool_id>/contributions.tsv", pools.pool_contributions, name="pool_contributions"),
    path("pools/<int:pool_id>/members.tsv", pools.pool_members, name="pool_members"),
    path(
        "pools/<int:pool_id>/member-contributions.tsv",
        pools.pool_member_contributions,
        name="pool_member_contributions",
    ),
    path("pools/<int:pool_id>/record.json", pools.pool_record, name="pool_record"),
    path("pools/<int:pool_id>/depths/", pools.pool_depths, name="pool_depths"),
    path("pools/<int:pool_id>/overlap/", pools.pool_overlap, name="pool_overlap"),
    path("pools/<int:pool_id>/overlap.tsv", pools.pool_overlap_file, name="pool_overlap_file"),
    path("pools/<int:pool_id>/topics/<path:code>/", pools.pool_topic, name="pool_topic"),
    path("pools/<int:pool_id>/entries/<int:entry_id>/", pools.pool_entry, name="pool_entry"),
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
