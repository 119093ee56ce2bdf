"""Keeps what an assessor submits from a judging page after their session has ended, until they log in again.

A judging page contains a proof that the server signed it for a task and its assessor. A submission of a visitor without
a valid proof stores nothing.
"""

from typing import Any

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest

from accounts.access import AuthenticatedRequest
from assessment.models import Task
from assessment.tasks import selectors

SALT = "assessment.tasks.unsent"
KEY = "assessment_unsent"
FIELDS = ("choice", "comment", "follow")  # the beginnings of the names of the fields
MAX_CHARACTERS = 10_000  # of a field
MAX_FIELDS = 200
MAX_AGE_SECONDS = 14 * 24 * 3600  # of a page


def proof_of(task: Task) -> str:
    """A signed text that a judging page sends back: it was made for this task and its assessor."""
    return signing.dumps([task.pk, task.assessor_id], salt=SALT)


def entered(request: HttpRequest) -> dict[str, str]:
    """The submitted choices, comments and answers to follow-up questions."""
    names = [name for name in request.POST if name.partition("-")[0] in FIELDS]
    return {name: request.POST.get(name, "")[:MAX_CHARACTERS] for name in names}


def keep(request: HttpRequest, task_id: int) -> None:
    """Keep a visitor's submission in their session if its proof is valid."""
    try:
        signed = signing.loads(request.POST.get("proof", ""), salt=SALT, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature:
        return
    if signed[0] == task_id and selectors.is_active_assessor_of(*signed):
        fields = dict(list(entered(request).items())[:MAX_FIELDS])
        request.session[KEY] = fields | {"task": task_id}


def take(request: AuthenticatedRequest, task: Task) -> dict[str, Any]:
    """What the assessor submitted while logged out; the session forgets it."""
    kept = request.session.get(KEY, {})
    if kept.get("task") != task.pk:
        return {}
    del request.session[KEY]
    messages.info(request, "You were logged out before this was saved. Check your choice, and submit it.")
    return {name: value for name, value in kept.items() if name != "task"}
