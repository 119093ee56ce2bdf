"""The judging page of a task, and what its buttons do. Only the assessor who took the task.

A judging page keeps what a visitor submits after their session has ended, until they log in again: it contains a proof
that the server signed it for a task and its assessor. A submission of a visitor without a valid proof stores nothing.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, as_guest, guests_welcome
from accounts.models import User
from assay.errors import Refused
from assessment.batches.selectors import batches_of
from assessment.errors import JudgedElsewhere, UnitTaken
from assessment.judging import selectors, services
from assessment.judging.forms import JudgmentForm, MembersForm, SkipForm
from assessment.judging.page import TaskPage, following_entry, task_page, task_to_submit, with_texts
from assessment.judgments import selectors as members
from assessment.judgments import services as judgment_services
from assessment.judgments.answers import questions_of
from assessment.models import Batch, Judgment, Task
from tracks.rows.selectors import values_of
from tracks.rows.views import framed
from web.forms import errors_in
from web.pages import context_of
from web.translation import translated

SALT = "assessment.judging.unsent"
KEY = "assessment_unsent"
FIELDS = ("choice", "comment", "answer")  # the beginnings of the names of the fields
MAX_CHARACTERS = 10_000  # of a field
MAX_FIELDS = 200
MAX_AGE_SECONDS = 14 * 24 * 3600  # of a page


@translated
@require_POST
@guests_welcome
def next_task(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Take or resume a task, and open it. Assessors of the batch only."""
    batch = get_object_or_404(batches_of(request.user), pk=batch_id)
    task = services.accept_next(batch=batch, assessor=request.user)
    return redirect(_address(batch, task))


def _address(batch: Batch, task: Task | None) -> str:
    return task.get_absolute_url() if task else reverse("assessment:done", args=[batch.pk])


def keeping_answers(
    view: Callable[[AuthenticatedRequest, int], HttpResponse],
) -> Callable[[HttpRequest, int], HttpResponse]:
    """Let visitors log in first. The page or their session keeps what they have just submitted."""

    @wraps(view)
    def guarded(request: HttpRequest, task_id: int) -> HttpResponse:
        if isinstance(request.user, User) or as_guest(request):
            return view(request, task_id)  # type: ignore[arg-type]
        if _wants_json(request):
            problem = {
                "title": gettext("You are logged out"),
                "detail": gettext("You are logged out. Your judgment is kept on this page."),
                "login": f"{reverse('login')}?next={reverse('assessment:back')}",
            }
            return JsonResponse(problem, status=401)
        if request.method == "POST":
            keep_unsent(request, task_id)
        return redirect_to_login(request.path)

    return guarded


def _wants_json(request: HttpRequest) -> bool:
    return not request.accepts("text/html")


@translated
@keeping_answers
def judge_task(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """The judging page. Only the assessor who took the task."""
    if request.method == "POST":
        to_submit = task_to_submit(request.user, task_id)
        if to_submit is None:
            raise Http404
        return _submit(request, to_submit, _form(request, to_submit))
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    return _task_page(request, task, take_unsent(request, task))


def _form(request: AuthenticatedRequest, task: Task) -> JudgmentForm | MembersForm:
    """The form for what the protocol judges: a document, or the members of a unit."""
    rules = task.batch.pool.protocol.parsed.judging
    if not rules.judged.has_members:
        questions = questions_of(task, rules, [task.entry.docno])[task.entry.docno]
        return JudgmentForm(request.POST, rules=rules, questions=questions)
    to_judge = members.members_to_judge(task)
    by_member = questions_of(task, rules, [member.docno for member in to_judge])
    return MembersForm(request.POST, rules=rules, members=to_judge, questions=by_member)


def _submit(request: AuthenticatedRequest, task: Task, form: JudgmentForm | MembersForm) -> HttpResponse:
    """Store the judgment and go to the next task. If it is refused, the page keeps all that was entered."""
    if not form.is_valid():
        return _not_saved(request, task, form, status=422)
    try:
        if isinstance(form, MembersForm):
            judgment = judgment_services.submit_members(task=task, **form.submission)[0]
        else:
            judgment = judgment_services.submit(task=task, **form.submission)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _not_saved(request, task, form, status=409, refusal=refusal)
    return _saved(request, task, judgment)


def _saved(request: AuthenticatedRequest, task: Task, judgment: Judgment) -> HttpResponse:
    """Go on. If there is a refusal, say that the judgment is saved anyway."""
    try:
        onward = _onward(request, task.batch)
    except Refused as refusal:
        messages.info(request, f"{gettext('Your judgment is saved.')} {refusal.message}")
        onward = Onward(reverse("assessment:mine"))
    if not _wants_json(request):
        return HttpResponseRedirect(onward.address)
    answer = {"judgment": judgment.pk, "choice": judgment.choice, "next": onward.address}
    if onward.taken is not None and request.headers.get("Prefer") == "return=representation":
        answer["page"] = _fragment(request, onward.taken, task.batch)
    return JsonResponse(answer)


class Onward(NamedTuple):
    """The page after a task: another task, or a page without a task."""

    address: str
    taken: services.Taken | None = None


def _onward(request: AuthenticatedRequest, batch: Batch) -> Onward:
    """Take the next task, or go to the page that asks whether to take it."""
    if not request.user.accepts_next:
        return Onward(reverse("assessment:stored", args=[batch.pk]))
    taken = services.take_next(batch=batch, assessor=request.user)
    return Onward(_address(batch, taken and taken.task), taken)


def _not_saved(
    request: AuthenticatedRequest,
    task: Task,
    form: JudgmentForm | MembersForm,
    *,
    status: int,
    refusal: Refused | None = None,
) -> HttpResponse:
    """State what is wrong: as JSON for the page's script, or on the page with what was entered."""
    if not _wants_json(request):
        return _task_page(request, task, entered_fields(request), form=form, status=status)
    problem: dict[str, Any] = {
        "title": gettext(refusal.title if refusal else gettext_noop("Not saved")),
        "detail": " ".join(errors_in(form)),
        "errors": form.errors,
    }
    if isinstance(refusal, JudgedElsewhere):
        judgment = refusal.judgment
        problem["current"] = {
            "judgment": judgment.pk,
            "docno": judgment.docno,
            "request_id": str(judgment.request_id),
        }
    return JsonResponse(problem, status=status)


def _task_page(
    request: AuthenticatedRequest,
    task: Task,
    entered: dict[str, Any],
    *,
    form: JudgmentForm | MembersForm | None = None,
    skip_form: SkipForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The judging page with the stored answer, replaced by what was entered and is not stored."""
    page = task_page(task, request.user, entered=entered, following=following_entry(task))
    context = _context(page) | {"form": form, "skip_form": skip_form, "frame": "base.html"}
    return render(request, page.unit.template, context, status=status)


def _fragment(request: AuthenticatedRequest, taken: services.Taken, batch: Batch) -> str:
    """The main element of the judging page, which the script shows in place of the task before in the same batch."""
    task = taken.task
    ahead = with_texts(task, taken.following, batch)
    entered = take_unsent(request, task)
    page = task_page(task, request.user, entered=entered, following=ahead, is_new=taken.is_new)
    context = _context(page) | {"frame": "assessment/judging/_fragment.html"}
    return render_to_string(page.unit.template, context, request)


def _context(page: TaskPage) -> dict[str, object]:
    return context_of(page) | {"proof": proof_of(page.task)}


@translated
@require_safe
@xframe_options_exempt
@guests_welcome
def task_frame(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """The document of the frame of a form. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    form = task.batch.pool.protocol.parsed.judging.form
    if form is None or not form.frame:
        raise Http404
    return framed(request, form, values_of(task.entry.topic, task.entry.docno))


@translated
@require_POST
@guests_welcome
def skip(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Put the task aside, and go to the next one. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _task_page(request, task, {}, skip_form=form, status=422)
    services.skip(task=task, reason=form.cleaned_data["reason"])
    onward = _onward(request, task.batch)
    if onward.taken is not None and onward.taken.task == task:
        messages.info(request, gettext("This is the only one that you have left, so you see it again."))
    return redirect(onward.address)


@translated
@require_POST
@guests_welcome
def give_back(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Return the task to the queue, and leave. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    services.give_back(task=task)
    text = gettext("The task of topic {topic} is in your queue again.")
    messages.success(request, text.format(topic=task.entry.topic))
    return redirect("assessment:mine")


@translated
@require_POST
@guests_welcome
def undo(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Take back the judgment of a task, or the one before an open task, and judge it again. Only its assessor."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    is_own = "own" in request.POST or task.status == Task.Status.SUBMITTED
    return redirect(services.undo(task=task) if is_own else services.undo_last(task=task))


@translated
@require_POST
@guests_welcome
def extend(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Start the task's time again, or go to another if it is taken. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    try:
        extended = services.extend(task=task)
    except UnitTaken as taken:
        if _wants_json(request):
            raise
        messages.info(request, taken.message)
        return redirect(_address(task.batch, services.accept_next(batch=task.batch, assessor=request.user)))
    if _wants_json(request):
        return JsonResponse({"expires": extended.expires_at.isoformat()})
    return redirect(task)


def proof_of(task: Task) -> str:
    """A signed text that a judging page sends back: it was made for this task and its assessor."""
    return signing.dumps([task.pk, task.assessor_id], salt=SALT)


def entered_fields(request: HttpRequest) -> dict[str, str]:
    """The submitted choices, comments and answers to questions."""
    names = [name for name in request.POST if name.partition("-")[0] in FIELDS]
    return {name: ",".join(request.POST.getlist(name))[:MAX_CHARACTERS] for name in names}


def keep_unsent(request: HttpRequest, task_id: int) -> None:
    """Keep a visitor's submission in their session if its proof is valid."""
    try:
        signed = signing.loads(request.POST.get("proof", ""), salt=SALT, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature:
        return
    if signed[0] == task_id and selectors.is_active_assessor_of(*signed):
        fields = dict(list(entered_fields(request).items())[:MAX_FIELDS])
        request.session[KEY] = fields | {"task": task_id}


def take_unsent(request: AuthenticatedRequest, task: Task) -> dict[str, Any]:
    """Return what the assessor submitted while logged out; the session forgets it."""
    kept = request.session.get(KEY, {})
    if kept.get("task") != task.pk:
        return {}
    del request.session[KEY]
    text = gettext("You were logged out before this was saved. Check your choice, and submit it.")
    messages.info(request, text)
    return {name: value for name, value in kept.items() if name != "task"}
