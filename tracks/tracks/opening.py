"""The pages that ask before a track is opened for runs, closed early, or made a draft again."""

from collections.abc import Iterator
from functools import partial

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tracks.markdown import plain_html
from tracks.models import Track
from tracks.tracks import services
from tracks.tracks.selectors import said_before
from web import times
from web.confirmation import Check, Confirmation, by_mail, refusals
from web.pages import counted


def opening_page(track: Track) -> Confirmation:
    """The question before a track is opened: the public view, what is fixed then, and what is missing."""
    checks = [
        check._replace(state="skip", detail="Skipped.", address="") if check.skip in track.skipped else check
        for check in (*_own_checks(track), *said_before("opening", track))
    ]
    place, link = (
        ("tracks:topics", "Go to the topics")
        if track.topics.exists()
        else ("tracks:import_topics", "Import topics")
    )
    own = refusals(
        partial(services.check_opening, track), address=reverse(place, args=[track.slug]), link=link
    )
    labels = {check.label for check in checks}
    checks += [check for check in own if check.label not in labels]
    is_draft = track.status == Track.Status.DRAFT
    fixed = ["Topics", f"Protocol {track.protocol.slug}", "Collection", f"Address /tracks/{track.slug}/"]
    text = (
        "From this moment everybody sees the track, and teams can submit runs. You can go back to a draft only while "
        "nobody has downloaded a file or submitted a run."
    )
    return Confirmation(
        act="Open for runs",
        lead="Check what everybody will see." + (" A part of this cannot be undone." if is_draft else ""),
        button="Open for runs",
        keep="Not yet",
        back=track.get_absolute_url(),
        text=text if is_draft else "Teams can submit and withdraw runs again.",
        checks=checks,
        fixed=fixed if is_draft else (),
        changeable=[
            "Deadlines and dates",
            "People, teams and roles",
            "Data, guidelines, description",
            "Closing and opening again",
        ]
        if is_draft
        else (),
        notified=_notified(track, "the opening"),
        preview="tracks/tracks/_opening.html",
        context={
            "n_topics": track.topics.count(),
            "closing": _closing(track),
            "description": SafeString(plain_html(track.description)),
        },
    )


def _own_checks(track: Track) -> Iterator[Check]:
    address = partial(reverse, args=[track.slug])
    codes = list(track.topics.values_list("code", flat=True))
    if codes:
        named = codes[0] if len(codes) == 1 else f"{codes[0]} to {codes[-1]}"
        yield Check("ok", counted(len(codes), "topic"), f"{named}. No topic is added or removed afterwards.")
    collection = track.collection
    if collection is None:
        reads = "" if track.protocol.parsed.has_own_texts else "Assessors will see no text. "
        detail = f"{reads}Runs are accepted whatever documents they name."
        link = f"{address('tracks:edit_track')}?first=collection", "Choose the collection"
        yield Check("look", "No collection", detail, *link, skip="collection")
    elif collection.status != collection.Status.READY:
        yield Check(
            "look",
            f"The collection {collection} is {collection.get_status_display()}",
            "",
            collection.get_absolute_url(),
            "See the collection",
        )
    else:
        yield Check("ok", f"Collection {collection}")
    if closing := _closing(track):
        yield Check("ok", f"Runs close {closing}")
    else:
        detail = "The track stays open until you close it by hand."
        yield Check("look", "No deadline", detail, address("tracks:deadlines"), "Set a deadline", "deadlines")


def _closing(track: Track) -> str:
    """The first closing time of a track, in words."""
    row = track.deadlines.exclude(closes_at=None).order_by("closes_at").first()
    return times.in_words(row.closes_at, row.zone) if row and row.closes_at else ""


def closing_page(track: Track) -> Confirmation:
    """The question before a track is closed."""
    is_open = partial(services.check_closing, track)
    opening = reverse("tracks:open_track", args=[track.slug])
    checks = list(refusals(is_open, address=opening, link="Open for runs"))
    if not checks:
        checks = [*said_before("closing", track), _deadline_ahead(track)]
    return Confirmation(
        act="Close for runs",
        button="Close for runs",
        keep="Not yet",
        back=track.get_absolute_url(),
        text="From this moment teams cannot submit or withdraw runs. A run that is being checked is not accepted.",
        checks=checks,
        changeable=["You can open the track again"],
        notified=_notified(track, "the closing"),
    )


def _deadline_ahead(track: Track) -> Check:
    """Closing before an announced time is a remark."""
    row = track.deadlines.filter(closes_at__gt=times.now()).order_by("closes_at").last()
    if row is None or row.closes_at is None:
        return Check("ok", "No announced deadline is ahead")
    left = times.time_left((row.closes_at - times.now()).total_seconds())
    announced = times.in_words(row.closes_at, row.zone)
    detail = f"The announced deadline is {announced}. Teams can no longer submit runs."
    address = reverse("tracks:deadlines", args=[track.slug])
    return Check("look", f"Runs are due in {left}", detail, address, "Move the deadline")


def _notified(track: Track, event: str) -> str:
    by_this_step = by_mail("No e-mail is sent by this step.", "People read announcements on it.")
    announce = reverse("participation:new_announcement", args=[track.slug])
    return format_html('{} <a href="{}">Announce {}</a> afterwards.', by_this_step, announce, event)


def draft_page(track: Track) -> Confirmation:
    """The question before an opened track is made a draft again."""
    return Confirmation(
        act="Make the track a draft again",
        button="Back to draft",
        back=track.get_absolute_url(),
        text="Only organizers see a draft. Its topics, protocol, collection and address can change again.",
        checks=list(refusals(partial(services.check_draft, track))),
        instead=(reverse("tracks:topics", args=[track.slug]), "Go to the topics"),
        notified="Nobody. Links to the track lead to “Page not found” until you open it again.",
    )
