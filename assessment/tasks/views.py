"""The pages of assessors: the desk, the judging page, the guidelines."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts import services as account_services
from accounts.access import AuthenticatedRequest, login_required
from accounts.models import User
from assay.errors import Refused
from assessment.judgments import services as judgment_services
from assessment.judgments.errors import JudgedElsewhere
from assessment.judgments.follow_ups import languages_of
from assessment.judgments.rules import has_members, judging_rules
from assessment.models import Batch, Judgment, Task
from assessment.tasks import members, selectors, services, unsent
from assessment.tasks.forms import JudgmentForm, MembersForm, SkipForm
from pooling.interaction.selectors import tracks_with_sessions
from web.pages import context_of


@require_safe
@never_cache
@login_required
def mine(request: AuthenticatedRequest) -> HttpResponse:
    """The assessor's desk: their own open and closed batches. Every logged-in user."""
    context = {
        "desk": selectors.desk(request.user),
        "sessions": tracks_with_sessions(request.user),
        "closed": selectors.closed_batches(request.user),
    }
    return render(request, "assessment/tasks/mine.html", context)


@require_safe
@login_required
def back(request: AuthenticatedRequest) -> HttpResponse:
    """The page after a new login from a judging page, which continues by itself. Every logged-in user."""
    return render(request, "assessment/tasks/back.html")


@require_POST
@login_required
def next_task(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Take or resume a task, and open it. Assessors of the batch only."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    task = services.accept_next(batch=batch, assessor=request.user)
    return redirect(_address(batch, task))


def _address(batch: Batch, task: Task | None) -> str:
    return task.get_absolute_url() if task else reverse("assessment:done", args=[batch.pk])


TaskView = Callable[[AuthenticatedRequest, int], HttpResponse]


def keeping_answers(view: TaskView) -> Callable[[HttpRequest, int], HttpResponse]:
    """Let visitors log in first. The page or their session keeps what they have just submitted."""

    @wraps(view)
    def guarded(request: HttpRequest, task_id: int) -> HttpResponse:
        if isinstance(request.user, User):
            return view(request, task_id)  # type: ignore[arg-type]
        if _wants_json(request):
            problem = {
                "title": "You are logged out",
                "detail": "You are logged out. Your judgment is kept on this page.",
                "login": f"{reverse('login')}?next={reverse('assessment:back')}",
            }
            return JsonResponse(problem, status=401)
        if request.method == "POST":
            unsent.keep(request, task_id)
        return redirect_to_login(request.path)

    return guarded


def _wants_json(request: HttpRequest) -> bool:
    return not request.accepts("text/html")


@never_cache
@keeping_answers
def task(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """The judging page. Only the assessor who took the task."""
    if request.method == "POST":
        to_submit = selectors.task_to_submit(request.user, task_id)
        if to_submit is None:
            raise Http404
        return _submit(request, to_submit, _form(request, to_submit))
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    return _task_page(request, task, unsent.take(request, task))


def _form(request: AuthenticatedRequest, task: Task) -> JudgmentForm | MembersForm:
    """The form for what the protocol judges: a document, or the members of a unit."""
    rules = judging_rules(task.batch.pool.protocol)
    if not has_members(rules):
        language = languages_of(task, rules, [task.entry.docno]).get(task.entry.docno, "")
        return JudgmentForm(request.POST, rules=rules, language=language)
    to_judge = members.members_to_judge(task)
    languages = languages_of(task, rules, [member.docno for member in to_judge])
    return MembersForm(request.POST, rules=rules, members=to_judge, languages=languages)


def _submit(request: AuthenticatedRequest, task: Task, form: JudgmentForm | MembersForm) -> HttpResponse:
    """Store the judgment and go to the next task. If it is refused, the page keeps all that was entered."""
    if not form.is_valid():
        return _not_saved(request, task, form, status=422)
    try:
        judgment = _store(task, form)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _not_saved(request, task, form, status=409, refusal=refusal)
    return _saved(request, task, judgment)


def _store(task: Task, form: JudgmentForm | MembersForm) -> Judgment:
    """Store the judgments of the form; returns the first of them."""
    if isinstance(form, MembersForm):
        return judgment_services.submit_members(task=task, **form.submission)[0]
    return judgment_services.submit(task=task, **form.submission)


def _saved(request: AuthenticatedRequest, task: Task, judgment: Judgment) -> HttpResponse:
    """Go on. If there is a refusal, say that the judgment is saved nevertheless."""
    try:
        onward = _onward(request, task.batch)
    except Refused as refusal:
        messages.info(request, f"Your judgment is saved. {refusal.message}")
        onward = Onward(reverse("assessment:mine"))
    if not _wants_json(request):
        return HttpResponseRedirect(onward.address)
    answer = {"judgment": judgment.pk, "choice": judgment.choice, "next": onward.address}
    if onward.taken is not None and request.headers.get("Prefer") == "return=representation":
        answer["page"] = _fragment(request, onward.taken, task.batch)
    return JsonResponse(answer)


class Onward(NamedTuple):
    """Where the assessor goes after a task: to another one, or to a page without a task."""

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
        return _task_page(request, task, unsent.entered(request), form=form, status=status)
    problem: dict[str, Any] = {
        "title": refusal.title if refusal else "Not saved",
        "detail": " ".join(str(message) for errors in form.errors.values() for message in errors),
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
    following = selectors.following(task)
    page = selectors.task_page(task, request.user, entered=entered, following=following)
    context = _context(page) | {"form": form, "skip_form": skip_form}
    return render(request, _template(page), context, status=status)


def _fragment(request: AuthenticatedRequest, taken: services.Taken, batch: Batch) -> str:
    """The main element of the judging page, which the script shows in place of the task before in the same batch."""
    task = taken.task
    ahead = selectors.with_texts(task, taken.following, batch)
    entered = unsent.take(request, task)
    page = selectors.task_page(task, request.user, entered=entered, following=ahead, is_new=taken.is_new)
    context = _context(page) | {"frame": "assessment/tasks/_fragment.html"}
    return render_to_string(_template(page), context, request)


def _template(page: selectors.TaskPage) -> str:
    return "assessment/tasks/members.html" if page.members else "assessment/tasks/task.html"


def _context(page: selectors.TaskPage) -> dict[str, object]:
    return context_of(page) | {"proof": unsent.proof_of(page.task)}


@require_POST
@login_required
def skip(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Put the task aside, and go to the next one. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _task_page(request, task, {}, skip_form=form, status=422)
    services.skip(task=task, reason=form.cleaned_data["reason"])
    onward = _onward(request, task.batch)
    if onward.taken is not None and onward.taken.task == task:
        messages.info(request, "This is the only one that you have left, so you see it again.")
    return redirect(onward.address)


@require_POST
@login_required
def give_back(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Return the task to the queue, and leave. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    services.give_back(task=task)
    messages.success(request, f"The task of topic {task.entry.topic} is in your queue again.")
    return redirect("assessment:mine")


@require_POST
@login_required
def undo(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Take back the judgment of a task, or the one before an open task, and judge it again. Only its assessor."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    is_own = "own" in request.POST or task.status == Task.Status.SUBMITTED
    return redirect(services.undo(task=task) if is_own else services.undo_last(task=task))


@require_POST
@login_required
def extend(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """Start the task's time again. Only the assessor who took the task."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    extended = services.extend(task=task)
    if _wants_json(request):
        return JsonResponse({"expires": extended.expires_at.isoformat()})
    return redirect(task)


@require_POST
@login_required
def highlighting(request: AuthenticatedRequest) -> HttpResponse:
    """Choose whether the judging page highlights the words of the topic. Every logged-in user, for themselves."""
    account_services.set_highlighting(user=request.user, is_on="is_on" in request.POST)
    return HttpResponse(status=204)


@require_safe
@never_cache
@login_required
def stored(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The page between two tasks, for those who do not take the next one at once. Assessors of the batch only."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    page = selectors.stored_page(batch, request.user)
    if page.item.is_done:
        return redirect("assessment:done", batch.pk)
    return render(request, "assessment/tasks/stored.html", context_of(page))


@require_POST
@login_required
def accepting(request: AuthenticatedRequest) -> HttpResponse:
    """Choose whether the next task comes at once, and go back. Every logged-in user, for themselves."""
    account_services.set_accepts_next(user=request.user, is_on="accepts_next" in request.POST)
    if _wants_json(request):
        return JsonResponse({})
    back = request.POST.get("back", "")
    is_own = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return redirect(back if is_own else "assessment:mine")


@require_safe
@never_cache
@login_required
def done(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The page after the last task of a batch. Assessors of the batch only."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    return render(request, "assessment/tasks/done.html", {"item": selectors.desk_batch(batch, request.user)})
