"""Tags that show the scores of runs on the pages of runs, which are in an app below this one."""

from typing import Any

from django import template

from participation.models import Team
from pooling.models import Run
from scoring.evaluations.selectors import scores_of

register = template.Library()


@register.inclusion_tag("scoring/evaluations/_own_scores.html", takes_context=True)
def scores_of_team(context: template.Context, team: Team) -> dict[str, Any]:
    """The scores of a team's runs on the leaderboards that the user may see; nothing before a release."""
    return {"boards": scores_of(context["request"].user, team.runs.all())}


@register.inclusion_tag("scoring/evaluations/_own_scores.html", takes_context=True)
def scores_of_run(context: template.Context, run: Run) -> dict[str, Any]:
    """The scores of one run on the leaderboards that the user may see; nothing before a release."""
    return {"boards": scores_of(context["request"].user, Run.objects.filter(pk=run.pk))}
