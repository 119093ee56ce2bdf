"""The assessor's pages. Thin: find through a selector, check the form, call the service, answer."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, person_required
from accounts.models import User
from assay.errors import Refused
from assessment.batches import selectors as batch_selectors
from assessment.judgments import services as judgment_services
from assessment.judgments.errors import JudgedElsewhere
from assessment.judgments.rules import has_members, judging_rules
from assessment.models import Batch, Judgment, Task
from assessment.tasks import members, selectors, services
from assessment.tasks.forms import JudgmentForm, MembersForm, first_answer

UNSENT = "assessment_unsent"
KEPT_FIELDS = ("choice", "comment")
MOST_KEPT = 10_000  # characters of a field
MOST_FIELDS = 50  # that a session keeps, whatever is sent


@require_safe
@never_cache
@person_required
def mine(request: AuthenticatedRequest) -> HttpResponse:
    """The assessor's desk: what is open for them. Everybody who has logged in, each their own."""
    context = {"desk": selectors.desk(request.user), "closed": selectors.closed_batches(request.user)}
    return render(request, "assessment/tasks/mine.html", context)


@require_safe
@person_required
def back_again(request: AuthenticatedRequest) -> HttpResponse:
    """Where a new login made from a judging page leads: the other window goes on by itself. Logged in."""
    return render(request, "assessment/tasks/back.html")


@require_POST
@person_required
def next_task(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Take or resume a task, and open it. Assessors of the batch."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    task = services.accept_next(batch=batch, assessor=request.user)
    return redirect(_address(batch, task))


def _address(batch: Batch, task: Task | None) -> str:
    return task.get_absolute_url() if task else reverse("assessment:done", args=[batch.pk])


TaskView = Callable[[AuthenticatedRequest, int], HttpResponse]


def keeping_answers(view: TaskView) -> Callable[[HttpRequest, int], HttpResponse]:
    """Visitors log in first; what they had just submitted waits for them, in the page or in their session."""

    @wraps(view)
    def guarded(request: HttpRequest, task_id: int) -> HttpResponse:
        if isinstance(request.user, User):
            return view(request, task_id)  # type: ignore[arg-type]
        if _wants_json(request):
            login = f"{reverse('login')}?next={reverse('assessment:back')}"
            detail = "You are logged out. Your judgment is kept on this page."
            return JsonResponse({"title": "You are logged out", "detail": detail, "login": login}, status=401)
        if request.method == "POST":
            kept = dict(list(_entered(request).items())[:MOST_FIELDS])
            request.session[UNSENT] = kept | {"task": task_id}
        return redirect_to_login(request.path)

    return guarded


def _entered(request: HttpRequest) -> dict[str, str]:
    """What somebody chose and wrote, for one thing or for several."""
    names = [name for name in request.POST if name.partition("-")[0] in KEPT_FIELDS]
    return {name: request.POST.get(name, "")[:MOST_KEPT] for name in names}


def _wants_json(request: HttpRequest) -> bool:
    return not request.accepts("text/html")


@never_cache
@keeping_answers
def task(request: AuthenticatedRequest, task_id: int) -> HttpResponse:
    """The judging page. The assessor who took the task only."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=task_id)
    if request.method == "POST":
        return _submit(request, task, _form(request, task))
    return _task_page(request, task, _kept(request, task))


def _form(request: AuthenticatedRequest, task: Task) -> JudgmentForm | MembersForm:
    """The form for what the protocol judges: a document, or the members of a unit."""
    rules = judging_rules(task.batch.pool.protocol)
    if not has_members(rules):
        return JudgmentForm(request.POST, rules=rules)
    return MembersForm(request.POST, rules=rules, members=members.members_to_judge(task))


def _kept(request: AuthenticatedRequest, task: Task) -> dict[str, Any]:
    """What was submitted without a login, to stand on the page again."""
    kept = request.session.get(UNSENT, {})
    if kept.get("task") != task.pk:
        return {}
    del request.session[UNSENT]
    messages.info(request, "You were logged out before this was saved. Check your choice, and submit it.")
    return {name: value for name, value in kept.items() if name != "task"}


def _submit(request: AuthenticatedRequest, task: Task, form: JudgmentForm | MembersForm) -> HttpResponse:
    """Store a judgment and go to the next task; a refused one stays on the page with all that was entered."""
    if not form.is_valid():
        return _not_saved(request, task, form, status=422)
    try:
        judgment = _store(task, form)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _not_saved(request, task, form, status=409, refusal=refusal)
    return _saved(request, task, judgment)


def _store(task: Task, form: JudgmentForm | MembersForm) -> Judgment:
    """Of several judgments, the first."""
    if isinstance(form, MembersForm):
        return judgment_services.submit_members(task=task, **form.asked)[0]
    return judgment_services.submit(task=task, **form.cleaned_data)


def _saved(request: AuthenticatedRequest, task: Task, judgment: Judgment) -> HttpResponse:
    """The judgment is stored whatever becomes of the next task."""
    try:
        following = services.accept_next(batch=task.batch, assessor=request.user)
        address = _address(task.batch, following)
    except Refused as refusal:
        messages.info(request, f"Your judgment is saved. {refusal.message}")
        address = reverse("assessment:mine")
    if _wants_json(request):
        return JsonResponse({"judgment": judgment.pk, "choice": judgment.choice, "next": address})
    return HttpResponseRedirect(address)


def _not_saved(
    request: AuthenticatedRequest,
    task: Task,
    form: JudgmentForm | MembersForm,
    *,
    status: int,
    refusal: Refused | None = None,
) -> HttpResponse:
    """What was wrong: as JSON for the page's script, or the page again with what was entered."""
    elsewhere = refusal.judgment if isinstance(refusal, JudgedElsewhere) else None
    if not _wants_json(request):
        return _task_page(request, task, _entered(request), form=form, status=status)
    problem: dict[str, Any] = {
        "title": refusal.title if refusal else "Not saved",
        "detail": " ".join(str(message) for errors in form.errors.values() for message in errors),
        "errors": form.errors,
    }
    if elsewhere is not None:
        problem["standing"] = {
            "judgment": elsewhere.pk,
            "docno": elsewhere.docno,
            "request_id": str(elsewhere.request_id),
        }
    return JsonResponse(problem, status=status)


def _task_page(
    request: AuthenticatedRequest,
    task: Task,
    answer: dict[str, Any],
    *,
    form: JudgmentForm | MembersForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page with what stands, and over it what was entered and is not stored."""
    context = selectors.task_page(task, request.user)
    context |= {"form": form, "answer": first_answer(context["previous"]) | answer}
    context["members"] = members.filled_in(context["members"], answer)
    template = "assessment/tasks/members.html" if context["members"] else "assessment/tasks/task.html"
    return render(request, template, context, status=status)


@require_safe
@never_cache
@person_required
def done(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """What stands behind the last task. Assessors of the batch."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    return render(request, "assessment/tasks/done.html", {"item": selectors.desk_batch(batch, request.user)})


@require_safe
@person_required
def guidelines(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """What each grade and other answer means. Assessors of the batch, and organizers."""
    own = selectors.batches_of(request.user)
    batches = batch_selectors.batches_for_organizer() if request.user.is_organizer else own
    batch = get_object_or_404(batches, pk=batch_id)
    protocol = batch.pool.protocol
    context = {"batch": batch, "protocol": protocol, "choices": selectors.choices(judging_rules(protocol))}
    return render(request, "assessment/tasks/guidelines.html", context)
