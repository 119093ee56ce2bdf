"""URLs of the participation app."""

from django.urls import include, path
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

track_urls = [
    path("clone/", people.clone_track, name="clone_track"),
    path("join/", requests.ask, name="ask_to_join"),
    # announcements
    path("announcements/", announcements.announcements, name="announcements"),
    path("announcements/new/", announcements.new_announcement, name="new_announcement"),
    # people
    path("people/", people.people, name="people"),
    path("people/invitations.csv", people.links_csv, name="invitation_links"),
    path("people/add/", people.add, name="add_people"),
    path("people/invite/", people.invite, name="invite_person"),
    path("people/groups/", people.set_groups, name="set_groups"),
    path("people/<int:user_id>/remove/", people.remove_assessor, name="remove_assessor"),
    path("people/team/", people.create_team, name="create_team"),
    path("people/organizers/", people.set_organizer, name="set_organizer"),
    path("people/organizers/leave/", people.leave_organizers, name="leave_organizers"),
    path("people/<int:user_id>/link/", people.make_link, name="make_login_link"),
    # interaction
    path("interaction/", interaction.interaction, name="interaction"),
]
team_urls = [
    # teams
    path("", people.team_page, name="team"),
    path("edit/", people.edit_team, name="edit_team"),
    path("delete/", people.delete_team, name="delete_team"),
    path("invite/", people.invite_member, name="invite_member"),
    path("leave/", people.leave_team, name="leave_team"),
    path("members/<int:user_id>/", people.change_member, name="change_member"),
    path("members/<int:user_id>/remove/", people.remove_member, name="remove_member"),
    path("interaction/nominations/", interaction.nominate, name="nominate"),
    path("interaction/page/", interaction.set_address, name="set_address"),
    path("interaction/plan/", interaction.plan, name="plan_sessions"),
    path("interaction/log/", interaction.log, name="log_sessions"),
    path("interaction/data/", interaction.data, name="interaction_data"),
    path("interaction/data/file/", interaction.data_file, name="interaction_file"),
]
session_urls = [
    path("", interaction.session, name="session"),
    path("take-back/", interaction.take_back, name="take_back_session"),
    path("practice/", interaction.practice, name="practice_session"),
    path("start/", interaction.start, name="start_session"),
    path("end/", interaction.end, name="end_session"),
]
urlpatterns = [
    # invitations and requests
    path("join/", invitations.join, name="join"),
    path("join/<str:token>/", invitations.invitation_link, name="invitation_link"),
    path("invitations/<int:invitation_id>/revoke/", invitations.revoke, name="revoke_invitation"),
    path("requests/<int:request_id>/accept/", requests.accept, name="accept_request"),
    path("requests/<int:request_id>/refuse/", requests.refuse, name="refuse_request"),
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
    path("tracks/<slug:slug>/", include(track_urls)),
    path("teams/<int:team_id>/", include(team_urls)),
    path("sessions/<int:nomination_id>/", include(session_urls)),
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
