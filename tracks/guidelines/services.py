"""Write and publish guidelines. A published version is never changed; each publication makes a new one.

Decision: ADR 23.
"""

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from tracks.guidelines.rendering import rendered
from tracks.markdown import TextChanged
from tracks.models import GuidelinesDraft, GuidelinesReading, GuidelinesVersion, Track
from tracks.tracks.services import lock

NOT_PUBLISHED = "The guidelines were not published"


@transaction.atomic
def save_draft(*, track: Track, text: str, revision: int, by: User) -> GuidelinesDraft:
    """Save the text of the next version. `revision` is that of the draft that the page showed.

    Raises:
        TextChanged: Somebody else saved another text meanwhile.
    """
    draft = _locked_draft(track)
    if draft.revision != revision and draft.text != text:
        raise TextChanged(
            f"{draft.edited_by or 'Somebody'} saved another text at {draft.edited_at:%H:%M:%S} UTC. Your text is kept "
            "on this page. Open the editor in another tab to compare; save again to replace the other text.",
            revision=draft.revision,
            code="draft-changed",
            title="The draft was changed meanwhile",
        )
    draft.text, draft.revision, draft.edited_by = text, draft.revision + 1, by
    draft.save()
    return draft


@transaction.atomic
def add_example(
    *, track: Track, topic: str, docno: str, choice: str, explanation: str, by: User
) -> GuidelinesDraft:
    """Add a worked example at the end of the draft."""
    draft = _locked_draft(track)
    block = f"::: example {topic} {docno} {choice}\n{explanation.strip()}\n:::\n"
    text = f"{draft.text.rstrip()}\n\n{block}" if draft.text.strip() else block
    return save_draft(track=track, text=text, revision=draft.revision, by=by)


def _locked_draft(track: Track) -> GuidelinesDraft:
    """The draft of a track, locked. A track without a draft gets one with the text of its version in force."""
    lock(track.pk)
    first = {"text": track.guidelines.text if track.guidelines else ""}
    return GuidelinesDraft.objects.get_or_create(track=track, defaults=first)[0]


@transaction.atomic
def publish(*, track: Track, text: str, revision: int, summary: str = "", by: User) -> GuidelinesVersion:
    """Save the draft and make it the version in force, for all judgments from now on.

    Raises:
        TextChanged: Somebody else saved the draft meanwhile.
        Refused: The text is empty or that of the version in force, or a worked example of it names something
            that the track does not have.
    """
    if not text.strip():
        raise Refused(
            "The guidelines are empty. Write them, then publish.", code="no-text", title=NOT_PUBLISHED
        )
    current = lock(track.pk)
    if current.guidelines is not None and current.guidelines.text == text:
        raise Refused(
            f"The text is the same as that of version {current.guidelines.number}. Change it, then publish.",
            code="nothing-changed",
            title=NOT_PUBLISHED,
        )
    html, problems = rendered(current, text)
    if problems:
        raise Refused(" ".join(problems), code="bad-examples", title=NOT_PUBLISHED)
    save_draft(track=current, text=text, revision=revision, by=by)
    number = current.guidelines.number + 1 if current.guidelines else 1
    version = GuidelinesVersion.objects.create(
        track=current, number=number, text=text, html=html, summary=summary.strip(), published_by=by
    )
    current.guidelines = version
    current.save(update_fields=["guidelines"])
    details = {"what changed": version.summary}
    audit.record(action="guidelines.published", subject=version, track=current, details=details, by=by)
    return version


def mark_read(*, version: GuidelinesVersion, user: User) -> None:
    """Record that a user has opened a version."""
    GuidelinesReading.objects.bulk_create(
        [GuidelinesReading(version=version, user=user)], ignore_conflicts=True
    )
