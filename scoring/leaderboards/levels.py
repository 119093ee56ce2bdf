"""From which grade a document counts as relevant: another one in the qrels of a single group of assessors."""

from assay.protocols.measures import Measure, parse_measures, with_level
from assay.protocols.schema import ScoringRules
from scoring.models import Qrels


def relevant_from(rules: ScoringRules, qrels: Qrels) -> int:
    """The grade from which a document of a version is relevant."""
    return rules.level_of(qrels.report)


def measures_for(rules: ScoringRules, qrels: Qrels) -> list[Measure]:
    """The measures of the protocol, with the level of relevance of a version."""
    measures = parse_measures(rules.measures)
    level = relevant_from(rules, qrels)
    return measures if level == rules.relevant_from else with_level(measures, rules.relevant_from, level)
