from tracks.models.agreements import AgreementAcceptance, AgreementVersion
from tracks.models.assessors import Assessor, Machine, Organizer
from tracks.models.candidates import (
    Candidate,
    CandidateChooser,
    CandidateDecision,
    CandidateFile,
    CandidateSample,
    SampledCandidate,
    Seat,
)
from tracks.models.deadlines import Deadline, Milestone
from tracks.models.downloads import Download, Fetch
from tracks.models.guidelines import GuidelinesDraft, GuidelinesReading, GuidelinesVersion
from tracks.models.leaks import LeakCheck
from tracks.models.pages import SitePage
from tracks.models.protocols import StoredProtocol
from tracks.models.rows import Row
from tracks.models.topics import Topic, TopicImport, natural_order
from tracks.models.tracks import Track
from tracks.models.webhooks import Delivery, Webhook

__all__ = [
    "AgreementAcceptance",
    "AgreementVersion",
    "Assessor",
    "Candidate",
    "CandidateChooser",
    "CandidateDecision",
    "CandidateFile",
    "CandidateSample",
    "Deadline",
    "Delivery",
    "Download",
    "Fetch",
    "GuidelinesDraft",
    "GuidelinesReading",
    "GuidelinesVersion",
    "LeakCheck",
    "Machine",
    "Milestone",
    "Organizer",
    "Row",
    "SampledCandidate",
    "Seat",
    "SitePage",
    "StoredProtocol",
    "Topic",
    "TopicImport",
    "Track",
    "Webhook",
    "natural_order",
]
