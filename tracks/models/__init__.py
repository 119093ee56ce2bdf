from tracks.models.agreements import AgreementAcceptance, AgreementVersion
from tracks.models.assessors import Assessor
from tracks.models.guidelines import GuidelinesDraft, GuidelinesReading, GuidelinesVersion
from tracks.models.protocols import StoredProtocol
from tracks.models.topics import Topic, TopicImport
from tracks.models.tracks import Track

__all__ = [
    "AgreementAcceptance",
    "AgreementVersion",
    "Assessor",
    "GuidelinesDraft",
    "GuidelinesReading",
    "GuidelinesVersion",
    "StoredProtocol",
    "Topic",
    "TopicImport",
    "Track",
]
