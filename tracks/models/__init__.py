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
from tracks.models.texts import (
    AgreementAcceptance,
    AgreementVersion,
    GuidelinesDraft,
    GuidelinesReading,
    GuidelinesVersion,
    SitePage,
)
from tracks.models.topics import LeakCheck, Row, Topic, TopicCorrection, TopicImport, natural_order
from tracks.models.tracks import ProtocolDraft, StoredProtocol, Track
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
    "ProtocolDraft",
    "Row",
    "SampledCandidate",
    "Seat",
    "SitePage",
    "StoredProtocol",
    "Topic",
    "TopicCorrection",
    "TopicImport",
    "Track",
    "Webhook",
    "natural_order",
]
