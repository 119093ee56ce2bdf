"""The assessor's pages. Thin: find through a selector, check the form, call the service, answer."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from assessment import selectors, services
from assessment.errors import JudgedElsewhere
from assessment.forms import JudgmentForm, MembersForm, first_answer
from assessment.models import Assignment, Batch, Judgment
from assessment.rules import has_members, judging_rules
from corpus.access import AuthenticatedRequest, person_required
from corpus.errors import Refused
from corpus.models import User

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
    return render(request, "assessment/mine.html", context)


@require_safe
@person_required
def back_again(request: AuthenticatedRequest) -> HttpResponse:
    """Where a new login made from a judging page leads: the other window goes on by itself. Logged in."""
    return render(request, "assessment/back.html")


@require_POST
@person_required
def accept(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Take or resume a task, and open it. Assessors of the batch."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    task = services.accept_next(batch=batch, assessor=request.user)
    return redirect(_address(batch, task))


def _address(batch: Batch, task: Assignment | None) -> str:
    return task.get_absolute_url() if task else reverse("assessment:done", args=[batch.pk])


AssignmentView = Callable[[AuthenticatedRequest, int], HttpResponse]


def keeping_answers(view: AssignmentView) -> Callable[[HttpRequest, int], HttpResponse]:
    """Visitors log in first; what they had just submitted waits for them, in the page or in their session."""

    @wraps(view)
    def guarded(request: HttpRequest, assignment_id: int) -> HttpResponse:
        if isinstance(request.user, User):
            return view(request, assignment_id)  # type: ignore[arg-type]
        if _wants_json(request):
            login = f"{reverse('login')}?next={reverse('assessment:back')}"
            detail = "You are logged out. Your judgment is kept on this page."
            return JsonResponse({"title": "You are logged out", "detail": detail, "login": login}, status=401)
        if request.method == "POST":
            kept = dict(list(_entered(request).items())[:MOST_FIELDS])
            request.session[UNSENT] = kept | {"assignment": assignment_id}
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
def assignment(request: AuthenticatedRequest, assignment_id: int) -> HttpResponse:
    """The judging page. The assessor who took the task only."""
    task = get_object_or_404(selectors.tasks_of(request.user), pk=assignment_id)
    if request.method == "POST":
        return _submit(request, task, _form(request, task))
    return _task_page(request, task, _kept(request, task))


def _form(request: AuthenticatedRequest, task: Assignment) -> JudgmentForm | MembersForm:
    """The form for what the protocol judges: a document, or the members of a unit."""
    rules = judging_rules(task.batch.pool.protocol)
    if not has_members(rules):
        return JudgmentForm(request.POST, rules=rules)
    return MembersForm(request.POST, rules=rules, members=selectors.members_to_judge(task))


def _kept(request: AuthenticatedRequest, task: Assignment) -> dict[str, Any]:
    """What was submitted without a login, to stand on the page again."""
    kept = request.session.get(UNSENT, {})
    if kept.get("assignment") != task.pk:
        return {}
    del request.session[UNSENT]
    messages.info(request, "You were logged out before this was saved. Check your choice, and submit it.")
    return {name: value for name, value in kept.items() if name != "assignment"}


def _submit(
    request: AuthenticatedRequest, task: Assignment, form: JudgmentForm | MembersForm
) -> HttpResponse:
    """Store a judgment and go to the next task; a refused one stays on the page with all that was entered."""
    if not form.is_valid():
        return _not_saved(request, task, form, status=422)
    try:
        judgment = _store(task, form)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _not_saved(request, task, form, status=409, refusal=refusal)
    return _saved(request, task, judgment)


def _store(task: Assignment, form: JudgmentForm | MembersForm) -> Judgment:
    """Of several judgments, the first."""
    if isinstance(form, MembersForm):
        return services.submit_members(assignment=task, **form.asked)[0]
    return services.submit_judgment(assignment=task, **form.cleaned_data)


def _saved(request: AuthenticatedRequest, task: Assignment, judgment: Judgment) -> HttpResponse:
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
    task: Assignment,
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
    task: Assignment,
    answer: dict[str, Any],
    *,
    form: JudgmentForm | MembersForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page with what stands, and over it what was entered and is not stored."""
    context = selectors.task_page(task, request.user)
    context |= {"form": form, "answer": first_answer(context["previous"]) | answer}
    context["members"] = selectors.filled_in(context["members"], answer)
    template = "assessment/members.html" if context["members"] else "assessment/assignment.html"
    return render(request, template, context, status=status)


@require_safe
@never_cache
@person_required
def done(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """What stands behind the last task. Assessors of the batch."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    return render(request, "assessment/done.html", {"item": selectors.desk_batch(batch, request.user)})


@require_safe
@never_cache
@person_required
def own_judgments(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """One's own judgments of a batch, the last first. Assessors of the batch, each their own."""
    batch = get_object_or_404(selectors.batches_of(request.user), pk=batch_id)
    page = Paginator(selectors.own_judgments(batch, request.user), 50).get_page(request.GET.get("page"))
    rules = judging_rules(batch.pool.protocol)
    labels = {choice.key: choice.label for choice in rules.choices}
    rows = [(judgment, labels.get(judgment.choice, judgment.choice)) for judgment in page]
    return render(request, "assessment/own_judgments.html", {"batch": batch, "page": page, "rows": rows})


@require_safe
@person_required
def guidelines(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """What each grade and other answer means. Assessors of the batch, and organizers."""
    own = selectors.batches_of(request.user)
    batches = selectors.batches_for_organizer() if request.user.is_organizer else own
    batch = get_object_or_404(batches, pk=batch_id)
    protocol = batch.pool.protocol
    context = {"batch": batch, "protocol": protocol, "choices": selectors.choices(judging_rules(protocol))}
    return render(request, "assessment/guidelines.html", context)
