"""Pages of estimates. Organizers only: they show what runs contributed."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from assay_extensions.estimates.site import alt_tests, inputs, selectors, services
from assay_extensions.estimates.site.forms import (
    USUAL_PERCENT,
    AltTestForm,
    EstimateForm,
    NextForm,
    SampleForm,
)
from assay_extensions.estimates.site.models import Sample
from assay_extensions.estimates.site.services import Plan
from assay_extensions.estimates.strata import USUAL
from assay_extensions.metaevaluation.alt_test import EPSILON
from assessment.agreement.machines import machines_of
from pooling.models import Pool
from tracks.models import Machine, Track
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import StyledForm, refusals_in
from web.pages import context_of, number_in
from web.tables import file_of, shown_table


@organizer_page
def alt_test(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Test whether a machine may take the place of people. Organizers only."""
    machine = alt_tests.machine_or_404(machine_id)
    form = AltTestForm(request.GET or None)
    options = form.options if form.is_bound and form.is_valid() else {}
    test = alt_tests.alt_test_of(machine, **options) if not form.errors else None
    context = {
        "track": machine.assessor.track,
        "machine": machine,
        "form": form if form.is_bound else AltTestForm(initial={"epsilon": EPSILON}),
        "test": test,
        "tables": [shown_table(table) for table in test.tables] if test else [],
        "query": request.GET.dict(),
    }
    return render(request, "estimates/alt_test.html", context, status=422 if form.errors else 200)


@organizer_page
def alt_test_file(request: AuthenticatedRequest, machine_id: int, name: str, kind: str) -> HttpResponseBase:
    """A table of the test as TSV or CSV. Organizers only."""
    machine = alt_tests.machine_or_404(machine_id)
    form = AltTestForm(request.GET)
    test = alt_tests.alt_test_of(machine, **form.options) if form.is_valid() else None
    content = file_of(test.tables, name, kind) if test else None
    if content is None:
        raise Http404
    return download(content, f"{machine.assessor.track.slug}-alt-test-{machine.pk}-{name}.{kind}")


@organizer_page
def estimates(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The samples of a machine, and what they say about the runs. Organizers only."""
    track = track_or_404(request.user, slug)
    page = selectors.estimates_page(track, number_in(request.GET.get("machine", ""), 0))
    return _answer(request, page)


def _answer(
    request: AuthenticatedRequest, page: selectors.EstimatesPage, form: EstimateForm | None = None
) -> HttpResponse:
    if form is None and page.machine is not None:
        form = _estimate_form(page.machine, page.track)
    context = context_of(page) | {"form": form}
    return render(request, "estimates/estimates.html", context, status=422 if form and form.errors else 200)


def _estimate_form(machine: Machine, track: Track, data: object = None) -> EstimateForm:
    samples = list(selectors.samples_of(track).filter(machine=machine))
    return EstimateForm(data, samples=samples, pools=list(selectors.judged_pools(machine)))


def _machine(track: Track, text: str | None) -> Machine:
    """The machine of an address; the first one of the track without it."""
    machines = machines_of(track)
    wanted = number_in(text or "", 0)
    machine = next((each for each in machines if wanted in {0, each.pk}), None)
    if machine is None:
        raise Http404
    return machine


@organizer_action
def compute(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Estimate values in a job. Organizers only."""
    track = track_or_404(request.user, slug)
    machine = _machine(track, request.POST.get("machine"))
    form = _estimate_form(machine, track, request.POST)
    with refusals_in(form):
        if form.is_valid():
            kind, _, number = form.cleaned_data["source"].partition("-")
            sample = selectors.samples_of(track).get(pk=number) if kind == "sample" else None
            pool = sample.pool if sample else selectors.judged_pools(machine).get(pk=number)
            services.request_estimate(
                machine=machine,
                pool=pool,
                sample=sample,
                measures=form.cleaned_data["measures"].split(),
                by=request.user,
            )
            return redirect(f"{reverse('estimates:estimates', args=[slug])}?machine={machine.pk}")
    return _answer(request, selectors.estimates_page(track, machine.pk), form)


@organizer_form
def new_sample(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Draw a sample for people from what a machine judged. Organizers only."""
    track = track_or_404(request.user, slug)
    machine = _machine(track, request.GET.get("machine"))
    initial = {
        "name": f"Sample of {machine}"[:100],
        "percent": USUAL_PERCENT,
        "measures": " ".join(inputs.usual_measures(track.protocol.parsed)),
        "strata": list(USUAL),
    }
    form = SampleForm(request.POST or None, machine=machine, initial=initial)
    cost = expected = None
    with refusals_in(form):
        if form.is_valid():
            plan, pool = form.plan, form.cleaned_data["pool"]
            if "preview" not in request.POST:
                sample = services.request_sample(
                    machine=machine, pool=pool, name=form.cleaned_data["name"], plan=plan, by=request.user,
                    seed=form.cleaned_data["seed"],
                )  # fmt: skip
                return _requested(request, sample)
            cost, expected = _cost(pool, machine, plan), services.expected_of(machine, pool, plan)
        elif not form.is_bound and (newest := selectors.judged_pools(machine).first()):
            cost = selectors.cost_of(newest, machine, share=USUAL_PERCENT / 100)
    return _sample_page(request, track, machine, form, cost, expected, "Draw a sample")


def _cost(pool: Pool, machine: Machine, plan: Plan) -> selectors.Cost:
    services.parsed(plan.measures, of_sample=True)
    is_number = plan.design == Sample.Design.STRATA
    size: dict[str, Any] = {"n_units": plan.n_units} if is_number else {"share": plan.share}
    return selectors.cost_of(pool, machine, **size)


@organizer_form
def next_sample(request: AuthenticatedRequest, slug: str, sample_id: int) -> HttpResponse:
    """Add the most useful units to a sample. Organizers only."""
    track = track_or_404(request.user, slug)
    sample = get_object_or_404(selectors.samples_of(track), pk=sample_id)
    machine = sample.machine
    initial = {
        "name": f"More of {sample}"[:100],
        "n_units": inputs.hour_of(track),
        "measure": request.GET.get("measure", next(iter(sample.arguments["measures"]), "")),
    }
    form = NextForm(request.POST or None, initial=initial)
    cost = expected = None
    with refusals_in(form):
        if form.is_valid():
            given = form.cleaned_data
            plan = Plan(
                design=Sample.Design.NEXT,
                n_units=given["n_units"],
                measures=[given["measure"]],
                after=sample,
            )
            if "preview" not in request.POST:
                added = services.request_sample(
                    machine=machine, pool=sample.pool, name=given["name"], plan=plan, by=request.user
                )
                return _requested(request, added)
            services.parsed([given["measure"]], of_sample=True)
            cost = selectors.cost_of(sample.pool, machine, n_units=given["n_units"])
            expected = services.expected_of(machine, sample.pool, plan)
    return _sample_page(request, track, machine, form, cost, expected, f"Add units to {sample}")


def _requested(request: AuthenticatedRequest, sample: Sample) -> HttpResponse:
    messages.success(
        request, "The sample is being drawn. Its batch will be a draft: assign its topics and open it."
    )
    return redirect(f"{sample.get_absolute_url()}?machine={sample.machine_id}")


def _sample_page(
    request: AuthenticatedRequest,
    track: Track,
    machine: Machine,
    form: StyledForm,
    cost: selectors.Cost | None,
    expected: services.Expected | None,
    heading: str,
) -> HttpResponse:
    context = {"track": track, "machine": machine, "form": form, "cost": cost, "heading": heading}
    context |= {"expected": expected}
    return render(request, "estimates/sample.html", context, status=422 if form.errors else 200)


@organizer_page
def sample_file(request: AuthenticatedRequest, slug: str, sample_id: int) -> HttpResponseBase:
    """A sample with its probabilities, as `assay estimate` reads it. Organizers only."""
    track = track_or_404(request.user, slug)
    sample = get_object_or_404(Sample.objects.filter(track=track).exclude(batch=None), pk=sample_id)
    return download(selectors.sample_file(sample), f"{slug}-sample-{sample.pk}.tsv")


@organizer_page
def table_file(
    request: AuthenticatedRequest, slug: str, estimate_id: int, name: str, kind: str
) -> HttpResponseBase:
    """A table of an estimate as TSV or CSV. Organizers only."""
    track = track_or_404(request.user, slug)
    estimate = get_object_or_404(selectors.estimates_of(track), pk=estimate_id)
    content = file_of(selectors.tables_of(estimate), name, kind)
    if content is None:
        raise Http404
    return download(content, f"{slug}-estimate-{estimate.pk}-{name}.{kind}")
