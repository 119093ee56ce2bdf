"""The fields of a campaign that an archive brings to another installation, and the reasons to leave out the others.

All fields that are not named here are compared, so a new field must be in the archive or get its reason.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db.models import Model

from accounts.models import User
from assessment.models import Judgment, Task, TopicAssignment
from pooling.models import PoolEntry, Run
from scoring.models import Evaluation
from tracks.models import Assessor, Topic, Track

APPS = ("tracks", "participation", "pooling", "assessment", "scoring", "publishing")
# The models of an archive, with the way from a row to its track.
ARCHIVED = {
    "tracks.Track": "pk",
    "tracks.Assessor": "track",
    "tracks.Machine": "assessor__track",
    "tracks.GuidelinesVersion": "track",
    "tracks.Topic": "track",
    "tracks.Row": "topic__track",
    "participation.Team": "track",
    "participation.TeamDocument": "team__track",
    "participation.Nomination": "team__track",
    "pooling.Run": "track",
    "pooling.RunChange": "run__track",
    "pooling.Pool": "track",
    "pooling.PoolRun": "pool__track",
    "pooling.PoolEntry": "pool__track",
    "pooling.Contribution": "entry__pool__track",
    "pooling.PoolMember": "entry__pool__track",
    "pooling.MemberContribution": "member__entry__pool__track",
    "assessment.Batch": "pool__track",
    "assessment.TopicAssignment": "batch__pool__track",
    "assessment.Task": "batch__pool__track",
    "assessment.Judgment": "track",
    "scoring.Qrels": "track",
    "scoring.QrelsEntry": "qrels__track",
    "scoring.Leaderboard": "track",
    "scoring.MeasureStatistics": "leaderboard__track",
    "scoring.Analysis": "leaderboard__track",
    "scoring.Evaluation": "leaderboard__track",
    "scoring.Score": "evaluation__leaderboard__track",
}
SHARED = "it belongs to no single track; an archive has the texts of its protocols"
PEOPLE = "it is about participants, and no archive names any"
ACCOUNT = "accounts are not in archives; whoever loads one is named instead"
RUNNING = "it serves the running campaign, and a loaded track is closed"
FILES = "it gives out files, which stay where they are"
WORK = "it plans work; an archive has the judgments that came of it"
JOB = "jobs are of one installation"
IDS = "it has ids of rows; the tables of the equal archive and the pages of the track are compared"
CANDIDATES = "it led to the topics; an archive has these with their labels, and candidates are documents"
COLLECTION = "documents are not in archives"
PHASES = "boards of phases and answers about runs are compared in tests/scoring/phases/test_phases.py"
ANSWERS = "a campaign of generated answers is loaded and compared in tests/test_answers.py"
LEFT_OUT = {
    "tracks.StoredProtocol": SHARED,
    "tracks.SitePage": SHARED,
    "tracks.AgreementVersion": RUNNING,
    "tracks.AgreementAcceptance": PEOPLE,
    "tracks.Deadline": RUNNING,
    "tracks.Milestone": RUNNING,
    "tracks.LeakCheck": WORK,
    "scoring.LaterRun": "it came after the campaign, from a team of another track",
    "tracks.Download": FILES,
    "tracks.Fetch": PEOPLE,
    "tracks.Webhook": RUNNING,
    "tracks.Delivery": RUNNING,
    "tracks.GuidelinesDraft": WORK,
    "tracks.ProtocolDraft": WORK,
    "tracks.GuidelinesReading": WORK,
    "tracks.TopicImport": FILES,
    "tracks.TopicCorrection": "an archive has the texts in force",
    "tracks.Candidate": CANDIDATES,
    "tracks.CandidateFile": CANDIDATES,
    "tracks.CandidateSample": CANDIDATES,
    "tracks.CandidateChooser": PEOPLE,
    "tracks.CandidateDecision": CANDIDATES,
    "tracks.SampledCandidate": CANDIDATES,
    "participation.Announcement": RUNNING,
    "participation.AnnouncementMail": PEOPLE,
    "participation.Membership": PEOPLE,
    "participation.EndedMembership": PEOPLE,
    "participation.Interaction": PEOPLE,
    "tracks.Organizer": PEOPLE,
    "participation.Invitation": PEOPLE,
    "participation.InvitationUse": PEOPLE,
    "participation.JoinRequest": PEOPLE,
    "publishing.Consent": PEOPLE,
    "publishing.Archive": "an archive holds no archives",
    "publishing.LoadedArchive": "the upload of another installation",
    "publishing.Publication": FILES,
    "pooling.Nugget": "the frozen lists are in archives; whoever loads one edits the latest",
    "pooling.NuggetSources": RUNNING,
    "pooling.NuggetVersion": ANSWERS,
    "pooling.PooledAnswer": ANSWERS,
    "pooling.Pool.nuggets": ANSWERS,
    "pooling.Run.answers": PHASES,
    "scoring.PhaseBoard": PHASES,
    "scoring.PhaseScore": PHASES,
    "pooling.PoolEntry.answer": ANSWERS,
    "assessment.BatchEntry": WORK,
    "assessment.BatchLink": RUNNING,
    "assessment.ProjectImport": FILES,
    "assessment.GoldUnit": WORK,
    "assessment.Check": WORK,
    "assessment.DiscussionNote": WORK,
    "assessment.JudgmentImport": WORK,
    "scoring.ScheduledRelease": RUNNING,
    "tracks.Track.slug": "the test gives the loaded track another one",
    "tracks.Track.collection": COLLECTION,
    "tracks.Track.topic_collection": COLLECTION,
    "tracks.Track.is_closed_by_deadline": RUNNING,
    "tracks.Track.agreement": RUNNING,
    "tracks.Track.derived_from": "the other track has an archive of its own",
    "tracks.Track.shows_labels": RUNNING,
    "tracks.Track.skipped": RUNNING,
    "tracks.Track.created_at": "the index has it; the loaded track is a new one",
    "tracks.Assessor.user": ACCOUNT,
    "tracks.Machine.assessor": ACCOUNT,
    "tracks.Machine.owner": ACCOUNT,
    "tracks.Machine.created_by": ACCOUNT,
    "tracks.Machine.created_at": WORK,
    "tracks.GuidelinesVersion.published_by": ACCOUNT,
    "participation.TeamDocument.uploaded_by": ACCOUNT,
    "participation.TeamDocument.uploaded_at": RUNNING,
    "participation.Team.max_megabytes": RUNNING,
    "participation.Team.reminded_for": RUNNING,
    "participation.Team.created_at": RUNNING,
    "participation.Nomination.assessor": "the index has the seconds of a session, not whose it was",
    "participation.Nomination.opens_at": "the index has when a session was held, not when it was planned",
    "participation.Nomination.closes_at": "the index has when a session was held, not when it was planned",
    "participation.Nomination.practice_ends_at": "a practice is not measured",
    "participation.Nomination.started_at": "the index has the seconds of a session",
    "participation.Nomination.ended_at": "the index has the seconds of a session",
    "pooling.Run.original": "the names of files; the equal archive has the same bytes",
    "pooling.Run.columns": "the names of files; they are made from the same bytes",
    "pooling.Run.submitted_by": ACCOUNT,
    "pooling.Run.withdrawn_by": ACCOUNT,
    "pooling.RunChange.by": ACCOUNT,
    "pooling.RunChange.at": "the index says why a run was disqualified, not when",
    "pooling.Pool.statistics": IDS,
    "pooling.Pool.recount": IDS,
    "pooling.Pool.job": JOB,
    "pooling.Pool.left_out": IDS,
    "pooling.Pool.created_by": ACCOUNT,
    "pooling.PoolEntry.document": COLLECTION,
    "pooling.PoolMember.document": COLLECTION,
    "assessment.Batch.status": "the batches of a loaded track are closed",
    "assessment.Batch.closed_at": "the batches of a loaded track are closed",
    "assessment.Batch.minutes_allotted": WORK,
    "assessment.Batch.is_selective": WORK,
    "assessment.Batch.is_blind": WORK,
    "assessment.Batch.discussion": WORK,
    "assessment.Batch.gold_percent": WORK,
    "assessment.Batch.repeat_percent": WORK,
    "assessment.Batch.repeat_after": WORK,
    "assessment.Batch.has_checks": WORK,
    "assessment.Batch.created_by": ACCOUNT,
    "assessment.Batch.created_at": WORK,
    "assessment.TopicAssignment.cursor": WORK,
    "assessment.Task.expires_at": WORK,
    "assessment.Task.skipped_at": WORK,
    "assessment.Task.skip_reason": WORK,
    "assessment.Task.return_reason": WORK,
    "assessment.Judgment.request_id": "it names a submission of a browser",
    "assessment.Judgment.from_import": "loading imports the judgments of the file",
    "scoring.Qrels.created_by": ACCOUNT,
    "scoring.Qrels.archived_at": "the index says that a version was put aside, not when",
    "scoring.Leaderboard.statistics": IDS,
    "scoring.Leaderboard.release": "a loaded leaderboard is hidden until it is released",
    "scoring.Leaderboard.released_at": "a loaded leaderboard is hidden until it is released",
    "scoring.Leaderboard.released_by": ACCOUNT,
    "scoring.Leaderboard.mailed_at": PEOPLE,
    "scoring.Leaderboard.job": JOB,
    "scoring.Leaderboard.created_by": ACCOUNT,
    "scoring.Analysis.arguments": IDS,
    "scoring.Analysis.result": IDS,
    "scoring.Analysis.job": JOB,
    "scoring.Analysis.created_by": ACCOUNT,
}
# What the campaign of the tests does not have: formulas, documents of teams, checks, sums and kinds of qrels.
NOT_IN_THE_CAMPAIGN = {
    "participation.TeamDocument",  # see the test of BOLT
    "tracks.Row",  # see the test of rows
    "pooling.PoolMember",
    "pooling.MemberContribution",
    "tracks.Topic.source",
    "assessment.Batch.is_shared",  # see the test of batches to join
    "assessment.TopicAssignment.is_shared",
    "participation.Team.documents",  # see the test of BOLT
    "pooling.Run.pooled_as",
    "pooling.Pool.max_runs_per_team",
    "pooling.Pool.votes",  # see the test of pairs
    "pooling.PoolEntry.passage",
    "assessment.TopicAssignment.is_withdrawn",
    "assessment.Task.is_check",
    "assessment.Judgment.is_check",
    "assessment.Judgment.answers",
    "assessment.Judgment.left",
    "scoring.QrelsEntry.parts",
    "scoring.Qrels.machine",
    "scoring.Qrels.machine_name",
    "scoring.Qrels.supersedes",  # see the test of left-out topics and corrections
    "scoring.Qrels.supersedes_reason",
}


NAMES: dict[type[Model], Callable[[Any], str]] = {
    Topic: lambda topic: topic.code,
    Run: lambda run: run.tag,
    Evaluation: lambda evaluation: evaluation.run.tag,
}


def names_of_models() -> set[str]:
    return {model._meta.label for app in APPS for model in apps.get_app_config(app).get_models()}


def compared_fields(label: str) -> list[str]:
    """The names of the fields of an archived model that are the same in a loaded track."""
    fields = [field.name for field in apps.get_model(label)._meta.concrete_fields if not field.primary_key]
    return [name for name in fields if f"{label}.{name}" not in LEFT_OUT]


def differences(track: Track, loaded: Track) -> Iterator[str]:
    """The fields whose values in a loaded track are not those of the track, and those that nobody could compare."""
    sides = [_Side(track), _Side(loaded)]
    for label in ARCHIVED.keys() - NOT_IN_THE_CAMPAIGN:
        rows = [side.rows(label) for side in sides]
        for name in compared_fields(label):
            mine, other = (
                Counter(side.named(getattr(row, name)) for row in of_side)
                for side, of_side in zip(sides, rows, strict=True)
            )
            if mine != other:
                yield f"{label}.{name}: {dict(mine - other)} became {dict(other - mine)}"
            elif (
                mine.keys() <= {"None", "''", "[]", "{}", "False"}
                and f"{label}.{name}" not in NOT_IN_THE_CAMPAIGN
            ):
                yield f"{label}.{name}: no row has a value"


class _Side:
    """The rows of a track, with names for what has other ids elsewhere."""

    def __init__(self, track: Track) -> None:
        self.track = track
        assessors = Assessor.objects.filter(track=track)
        self.people = {each.user_id: str(each.pseudonym or "machine") for each in assessors}

    def rows(self, label: str) -> list[Any]:
        rows = list(apps.get_model(label)._default_manager.filter(**{ARCHIVED[label]: self.track.pk}))
        if (
            label == "assessment.TopicAssignment"
        ):  # a topic of which nothing was judged is not in the judgments
            return [row for row in rows if self._is_judged(row)]
        return rows

    def _is_judged(self, row: TopicAssignment) -> bool:
        own = Judgment.objects.filter(batch=row.batch_id, topic=row.topic_id, assessor=row.assessor_id)
        return own.exists()

    def named(self, value: Any) -> str:
        """A value, or the natural name of a row."""
        if isinstance(value, User):
            return self.people[value.pk]
        if isinstance(value, Task):
            return f"{self.named(value.entry)} {self.named(value.assessor)}"
        if isinstance(value, PoolEntry | Judgment):
            return f"{value.topic.code} {value.docno}"
        if isinstance(value, Model):
            return str(NAMES.get(type(value), str)(value))
        if isinstance(value, datetime):
            return value.isoformat(timespec="seconds")
        return bytes(value).hex() if isinstance(value, memoryview) else repr(value)
