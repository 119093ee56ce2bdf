"""URLs of the participation app."""

from django.urls import path
from django.utils.translation import gettext_noop

from participation.announcements import views as announcements
from participation.interaction import views as interaction
from participation.interaction.selectors import may_see as may_see_interaction
from participation.interaction.selectors import rules_of, tracks_with_sessions
from participation.invitations import views as invitations
from participation.people import views as people
from participation.requests import views as requests
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "participation"

urlpatterns = [
    path("tracks/<slug:slug>/clone/", people.clone_track, name="clone_track"),
    # teams
    path("teams/<int:team_id>/", people.team_page, name="team"),
    path("teams/<int:team_id>/edit/", people.edit_team, name="edit_team"),
    path("teams/<int:team_id>/delete/", people.delete_team, name="delete_team"),
    path("teams/<int:team_id>/invite/", people.invite_member, name="invite_member"),
    path("teams/<int:team_id>/leave/", people.leave_team, name="leave_team"),
    path("teams/<int:team_id>/members/<int:user_id>/", people.change_member, name="change_member"),
    path("teams/<int:team_id>/members/<int:user_id>/remove/", people.remove_member, name="remove_member"),
    # invitations and requests
    path("join/", invitations.join, name="join"),
    path("join/<str:token>/", invitations.invitation_link, name="invitation_link"),
    path("invitations/<int:invitation_id>/revoke/", invitations.revoke, name="revoke_invitation"),
    path("tracks/<slug:slug>/join/", requests.ask, name="ask_to_join"),
    path("requests/<int:request_id>/accept/", requests.accept, name="accept_request"),
    path("requests/<int:request_id>/refuse/", requests.refuse, name="refuse_request"),
    # announcements
    path("tracks/<slug:slug>/announcements/", announcements.announcements, name="announcements"),
    path("tracks/<slug:slug>/announcements/new/", announcements.new_announcement, name="new_announcement"),
    path(
        "announcements/<int:announcement_id>/edit/",
        announcements.edit_announcement,
        name="edit_announcement",
    ),
    path(
        "announcements/<int:announcement_id>/mails/",
        announcements.announcement_mails,
        name="announcement_mails",
    ),
    path(
        "announcements/<int:announcement_id>/withdraw/",
        announcements.withdraw_announcement,
        name="withdraw_announcement",
    ),
    # people
    path("tracks/<slug:slug>/people/", people.people, name="people"),
    path("tracks/<slug:slug>/people/invitations.csv", people.links_csv, name="invitation_links"),
    path("tracks/<slug:slug>/people/add/", people.add, name="add_people"),
    path("tracks/<slug:slug>/people/invite/", people.invite, name="invite_person"),
    path("tracks/<slug:slug>/people/groups/", people.set_groups, name="set_groups"),
    path("tracks/<slug:slug>/people/<int:user_id>/remove/", people.remove_assessor, name="remove_assessor"),
    path("tracks/<slug:slug>/people/team/", people.create_team, name="create_team"),
    path("tracks/<slug:slug>/people/organizers/", people.set_organizer, name="set_organizer"),
    path("tracks/<slug:slug>/people/organizers/leave/", people.leave_organizers, name="leave_organizers"),
    path("tracks/<slug:slug>/people/<int:user_id>/link/", people.make_link, name="make_login_link"),
    # interaction
    path("tracks/<slug:slug>/interaction/", interaction.interaction, name="interaction"),
    path("teams/<int:team_id>/interaction/nominations/", interaction.nominate, name="nominate"),
    path("teams/<int:team_id>/interaction/page/", interaction.set_address, name="set_address"),
    path("teams/<int:team_id>/interaction/plan/", interaction.plan, name="plan_sessions"),
    path("teams/<int:team_id>/interaction/log/", interaction.log, name="log_sessions"),
    path("teams/<int:team_id>/interaction/data/", interaction.data, name="interaction_data"),
    path("teams/<int:team_id>/interaction/data/file/", interaction.data_file, name="interaction_file"),
    path("sessions/<int:nomination_id>/", interaction.session, name="session"),
    path("sessions/<int:nomination_id>/take-back/", interaction.take_back, name="take_back_session"),
    path("sessions/<int:nomination_id>/practice/", interaction.practice, name="practice_session"),
    path("sessions/<int:nomination_id>/start/", interaction.start, name="start_session"),
    path("sessions/<int:nomination_id>/end/", interaction.end, name="end_session"),
]

register(
    Page(
        gettext_noop("People"),
        "participation:people",
        Section.SET_UP,
        4,
        "add_people invite_person set_groups create_team set_organizer make_login_link remove_assessor "
        "team edit_team delete_team leave_team remove_member leave_organizers ask_to_join "
        "publishing:upload_document publishing:remove_document",
        tab=8,
        is_for=lambda visitor: visitor.is_administrator,
    ),
    Page(
        gettext_noop("Interaction"),
        "participation:interaction",
        Section.RUNS,
        3,
        "session",
        is_in=lambda track: rules_of(track) is not None,
        tab=5,
        is_for=lambda visitor: may_see_interaction(visitor.user, visitor.track),
    ),
    Page(
        "Announcements",
        "participation:announcements",
        Section.SETTINGS,
        3,
        "new_announcement edit_announcement announcement_mails",
    ),
    Page("Clone", "participation:clone_track", Section.SETTINGS, 6),
)

fill(
    "desk-notes",
    "participation/interaction/_to_hold.html",
    lambda user: {"sessions": tracks_with_sessions(user)},
)
