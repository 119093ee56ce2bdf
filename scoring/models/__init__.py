from scoring.models.evaluations import Analysis, Evaluation, Score
from scoring.models.leaderboards import LaterRun, Leaderboard, MeasureStatistics, ScheduledRelease
from scoring.models.phases import PhaseBoard, PhaseScore
from scoring.models.qrels import Qrels, QrelsEntry

__all__ = [
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
