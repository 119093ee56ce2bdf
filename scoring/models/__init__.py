from scoring.models.evaluations import WELL_JUDGED, Analysis, Evaluation, Score
from scoring.models.leaderboards import LaterRun, Leaderboard, MeasureStatistics, ScheduledRelease
from scoring.models.phases import PhaseBoard, PhaseScore
from scoring.models.qrels import Qrels, QrelsEntry

__all__ = [
    "WELL_JUDGED",
    "Analysis",
    "Evaluation",
    "LaterRun",
    "Leaderboard",
    "MeasureStatistics",
    "PhaseBoard",
    "PhaseScore",
    "Qrels",
    "QrelsEntry",
    "ScheduledRelease",
    "Score",
]
