from scoring.models.analyses import Analysis
from scoring.models.evaluations import Evaluation, Score
from scoring.models.later import LaterRun
from scoring.models.leaderboards import Leaderboard, MeasureStatistics, ScheduledRelease
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
