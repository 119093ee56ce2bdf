from django.urls import path

from assay_extensions.estimates.site import views
from assay_extensions.estimates.site.inputs import problem_of
from assay_extensions.estimates.site.selectors import newest_bias
from assessment.agreement.machines import BIASES
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "estimates"
OF_TRACK = "tracks/<slug:slug>/estimates/"
urlpatterns = [
    path(OF_TRACK, views.estimates, name="estimates"),
    path(f"{OF_TRACK}compute/", views.compute, name="compute"),
    path(f"{OF_TRACK}samples/new/", views.new_sample, name="new_sample"),
    path(f"{OF_TRACK}samples/<int:sample_id>/next/", views.next_sample, name="next_sample"),
    path(f"{OF_TRACK}samples/<int:sample_id>/sample.tsv", views.sample_file, name="sample_file"),
    path(f"{OF_TRACK}<int:estimate_id>/<slug:name>.<table:kind>", views.table_file, name="table"),
    path("judge/machines/<int:machine_id>/alt-test/", views.alt_test, name="alt_test"),
    path(
        "judge/machines/<int:machine_id>/alt-test/<slug:name>.<table:kind>",
        views.alt_test_file,
        name="alt_test_file",
    ),
]

register(
    Page(
        "Estimates",
        "estimates:estimates",
        Section.RESULTS,
        3,
        "new_sample next_sample compute alt_test",
        is_in=lambda track: not problem_of(track.protocol.parsed),
    ),
)

fill("machine", "estimates/_machine.html")
fill("leaderboard-more", "estimates/_of_board.html")
BIASES.append(newest_bias)
