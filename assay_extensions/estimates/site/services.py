"""Draw samples for people from what a machine judged, and estimate values of runs from both."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import InputError
from assay.formats.qrels.columns import documents
from assay.protocols.measures import parse_measures
from assay.tables import plain
from assay_extensions.estimates import designs, results
from assay_extensions.estimates.next_units import expected_errors, expected_half_widths
from assay_extensions.estimates.reading import Drawn, Machine
from assay_extensions.estimates.site import inputs
from assay_extensions.estimates.site.inputs import estimate_refused
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.estimates.strata import USUAL, spread_of, strata_of, weights_together
from assay_extensions.estimates.value_tables import next_tables
from assay_extensions.estimates.weights import gains
from assessment.batches import services as batches
from jobs import services as jobs
from pooling.models import Pool, PoolEntry
from scoring.qrels.frozen import grades_of
from scoring.qrels.selectors import runs_to_score
from tracks.models import Machine as MachineOfTrack
from web.pages import counted

Computed = tuple[results.Result, list[list[object]]]  # with `Estimate.units`
MOST_RUNS, LEAST_KNOWN = 60, 30  # of a preview: runs, and units that people judged
DRAW, ESTIMATE = "estimates.draw", "estimates.estimate"

batches.PARTS.add("estimates.Sample")  # a draft goes with the sample that drew its units


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sample that is wanted.

    Args:
        share: of the units of each topic; for designs by weight and uniform.
        n_units: number of units; for strata and for those that come next.
        strata: what makes the strata, see `STRATA`.
        measures: for whose runs the weights are; of those that come next, the first one.
        has_fit: whether half of the topics are for fitting thresholds and prompts, and not for estimates.
        after: the sample to which the next units are added.
    """

    design: str
    share: float = 0.05
    n_units: int = 0
    strata: Sequence[str] = ()
    measures: Sequence[str] = ()
    has_fit: bool = False
    after: Sample | None = None


@transaction.atomic
def request_sample(
    *, machine: MachineOfTrack, pool: Pool, name: str, plan: Plan, by: User, seed: int | None = None
) -> Sample:
    """Queue the job that draws a sample and makes a batch of it, as a draft.

    Raises:
        Refused: The pool has a batch of this name; the track has no estimates; or the plan lacks something.
    """
    _check(machine, pool)
    batches.check_name(pool=pool, name=name)
    is_next = plan.design == Sample.Design.NEXT
    measures = parsed(plan.measures, of_sample=True)
    if is_next and (plan.after is None or plan.after.batch is None or not measures):
        raise estimate_refused(
            "Name the sample to which units are added, and the measure whose intervals shall narrow."
        )
    if plan.after is not None and (plan.after.machine_id, plan.after.pool_id) != (machine.pk, pool.pk):
        raise estimate_refused(f"The sample “{plan.after}” is of another machine or pool.")
    sample = _planned(machine, pool, plan, measures)
    sample.name, sample.created_by = name, by
    sample.seed = secrets.randbelow(10**9) if seed is None else seed
    sample.save()
    title = f"Draw the sample {name} of {machine}"
    jobs.request_for(sample, "sample_id", kind=DRAW, title=title, by=by, subject=sample)
    details = {"machine": str(machine), "pool": pool.name, "seed": sample.seed} | sample.arguments
    audit.record(action="estimate-sample.requested", subject=sample, track=pool.track, details=details, by=by)
    return sample


def _planned(machine: MachineOfTrack, pool: Pool, plan: Plan, measures: list[str]) -> Sample:
    """The sample of a plan, not saved yet."""
    arguments: dict[str, Any] = {"measures": measures}
    if plan.design in {Sample.Design.WEIGHT, Sample.Design.UNIFORM}:
        arguments["share"] = plan.share
    else:
        arguments["n_units"] = plan.n_units
    if plan.design == Sample.Design.STRATA:
        arguments["strata"] = list(plan.strata or USUAL)
    is_next = plan.design == Sample.Design.NEXT
    return Sample(
        track=pool.track,
        machine=machine,
        pool=pool,
        design=plan.design,
        arguments=arguments | ({"has_fit": True} if plan.has_fit and not is_next else {}),
        seed=1,
        after=plan.after if is_next else None,
    )


class Expected(NamedTuple):
    """Halves of the 95 % intervals of the runs: the narrowest and the widest that are expected.

    `whole` has those of people who judge everything, and `n_known` is the number of units that people judged already,
    which say how wrong the machine is; both are of a first sample only. `now` has the intervals of the sample to which
    units are added.
    """

    measure: str
    least: float
    most: float
    whole: tuple[float, float] | None = None
    now: tuple[float, float] | None = None
    n_known: int = 0


def expected_of(machine: MachineOfTrack, pool: Pool, plan: Plan) -> Expected | None:
    """The intervals that a sample is expected to give. It reads the runs, so it takes a second for ten of them.

    None if there are no runs, too many of them, or too few units that people judged.

    Raises:
        Refused: The plan cannot be drawn.
    """
    measures = parsed(plan.measures, of_sample=True) or inputs.usual_measures(pool.track.protocol.parsed)
    if not measures or not 0 < runs_to_score(pool.track).count() <= MOST_RUNS:
        return None
    sample = _planned(machine, pool, plan, measures)
    if sample.after is not None:
        drawn_machine, drawn, _ = _judged_sample(sample.after, measures, _silent)
        measure = drawn_machine.inputs.measures[0]
        _, chosen = next_tables(drawn_machine, drawn, measure, plan.n_units)
        now = (float(chosen.half_width.min()), float(chosen.half_width.max()))
        return Expected(str(measure), float(chosen.expected.min()), float(chosen.expected.max()), now=now)
    drawing, drawn_machine, _ = _drawn(sample, _silent)
    if not drawn_machine.inputs.measures:  # of a uniform sample
        drawn_machine = inputs.library_machine(
            pool.track, inputs.judged_columns(pool, machine), machine, measures, _silent
        )
    people = grades_of(pool)
    known = {
        drawn_machine.row_of[unit]: grade
        for unit, grade in zip(documents(people), people.grade.tolist(), strict=True)
        if grade >= 0 and unit in drawn_machine.row_of
    }
    if len(known) < LEAST_KNOWN or len(drawn_machine.judged.topics) < 2:
        return None
    rows, measure = np.array(sorted(known)), drawn_machine.inputs.measures[0]
    units, gain = (
        drawn_machine.units(measure),
        gains(measure, np.array([known[row] for row in rows.tolist()])),
    )
    judged = drawn_machine.judged.grade
    errors = expected_errors(units, judged, rows, np.ones(len(judged)), gain)
    sampled, whole = expected_half_widths(units, errors, drawing.probability)
    return Expected(
        str(measure), float(sampled.min()), float(sampled.max()), (float(whole.min()), float(whole.max())),
        n_known=len(known),
    )  # fmt: skip


def _silent(_done: int, _total: int, _step: str) -> None:
    """Nobody waits for a job."""


def parsed(names: Sequence[str], *, of_sample: bool) -> list[str]:
    try:
        return inputs.parsed_measures(names, of_sample=of_sample)
    except InputError as error:
        raise estimate_refused(f"{error}.") from None


def _check(machine: MachineOfTrack, pool: Pool) -> None:
    if problem := inputs.problem_of(pool.protocol.parsed):
        raise estimate_refused(problem)
    if machine.assessor.track_id != pool.track_id:
        raise estimate_refused(f"{machine} judges for another track.")
    if pool.tops_up_id:
        raise estimate_refused(
            f"The pool “{pool}” has only what earlier pools lack. Choose the first of them."
        )


@jobs.handler(DRAW, words=lambda result: f"The sample is drawn: {counted(result['units'], 'unit')}.")
def draw(progress: jobs.Progress, *, sample_id: int) -> dict[str, Any]:
    """Draw a sample, and store its batch and its probabilities in one transaction."""
    sample = Sample.objects.select_related(
        "track", "pool__protocol", "machine__assessor", "after__batch"
    ).get(pk=sample_id)
    report = progress.update
    drawing, machine, fit = _drawn_next(sample, report) if sample.after else _drawn(sample, report)
    judged = set() if sample.after is None else {tuple(row[:2]) for row in sample.after.units if row[3]}
    rows = inputs.as_rows(machine, drawing, sample.after)
    wanted = {(row[0], row[1]) for row in rows if row[3]} - judged
    entries = PoolEntry.objects.filter(pool=sample.pool).values_list("pk", "topic__code", "docno")
    chosen = [pk for pk, topic, docno in entries.iterator(chunk_size=5_000) if (topic, docno) in wanted]
    with progress.storing():
        sample = Sample.objects.select_for_update(of=("self",)).get(pk=sample_id)
        if sample.batch_id is None:
            batch = batches.create(pool=sample.pool, name=sample.name, by=sample.created_by)
            sample.batch = batches.select_entries(batch=batch, entries=chosen)
            sample.units, sample.fit = rows, fit
            sample.save(update_fields=["batch", "units", "fit"])
    return {"batch": sample.batch_id, "units": len(chosen)}


Drawing = tuple[designs.Sample, Machine, list[str]]


def _drawn(sample: Sample, report: inputs.Report) -> Drawing:
    columns = inputs.judged_columns(sample.pool, sample.machine)
    needs_runs = sample.design != Sample.Design.UNIFORM
    measures = sample.arguments["measures"] or inputs.usual_measures(sample.track.protocol.parsed)
    machine = inputs.library_machine(
        sample.track, columns, sample.machine, measures if needs_runs else [], report
    )
    topic, n_topics = machine.judged.topic, machine.n_topics
    if sample.design == Sample.Design.STRATA:
        stratum = strata_of(machine, sample.arguments["strata"])
        spread = spread_of(machine, stratum, None)
        try:
            drawing = designs.stratified(stratum, spread, sample.arguments["n_units"], seed=sample.seed)
        except InputError as error:
            raise estimate_refused(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    else:
        is_by_weight = needs_runs and machine.runs
        weight = weights_together(machine) if is_by_weight else np.zeros((1, len(topic)))
        share = sample.arguments["share"]
        drawing = designs.by_weight(weight, topic, n_topics, share=share, seed=sample.seed)
    fit: list[str] = []
    if sample.arguments.get("has_fit"):
        is_for_fit = designs.split(n_topics, seed=sample.seed)
        fit = machine.judged.topics[is_for_fit].tolist()
    return drawing, machine, fit


def _drawn_next(sample: Sample, report: inputs.Report) -> Drawing:
    before = sample.after
    assert before is not None  # of this design
    machine, drawn, _ = _judged_sample(before, sample.arguments["measures"], report)
    measure = parse_measures(sample.arguments["measures"])[0]
    _, chosen = next_tables(machine, drawn, measure, sample.arguments["n_units"])
    drawing = designs.Sample(np.union1d(drawn.units, chosen.order), chosen.probability)
    return drawing, machine, list(before.fit)


def _judged_sample(
    sample: Sample, measures: Sequence[str], report: inputs.Report
) -> tuple[Machine, Drawn, int]:
    """The machine's grades, people's of a sample, and the number of units that people could not grade."""
    columns = inputs.judged_columns(sample.pool, sample.machine, inputs.frame_of(sample))
    machine = inputs.library_machine(sample.track, columns, sample.machine, measures, report)
    drawn, n_missing = inputs.drawn_of(sample, machine, grades_of(sample.pool))
    return machine, drawn, n_missing


@transaction.atomic
def request_estimate(
    *, machine: MachineOfTrack, pool: Pool, sample: Sample | None, measures: Sequence[str], by: User
) -> Estimate:
    """Queue the job that estimates values from a sample, or without one from topics of which people judged all.

    Raises:
        Refused: The track has no estimates, the sample is not drawn yet, or a measure cannot be estimated.
    """
    _check(machine, pool)
    if sample is not None and sample.batch_id is None:
        raise estimate_refused(f"The sample “{sample}” is not drawn yet.")
    protocol = pool.track.protocol.parsed
    names = parsed(measures, of_sample=sample is not None) or (
        inputs.usual_measures(protocol) if sample else list(protocol.scoring.measures_of(""))
    )
    estimate = Estimate.objects.create(
        track=pool.track, machine=machine, pool=pool, sample=sample, measures=names, created_by=by
    )
    title = f"Estimate values from {machine} and people"
    jobs.request_for(estimate, "estimate_id", kind=ESTIMATE, title=title, by=by, subject=estimate)
    details = {"machine": str(machine), "sample": sample.name if sample else "", "measures": names}
    audit.record(action="estimate.requested", subject=pool.track, track=pool.track, details=details, by=by)
    return estimate


@jobs.handler(ESTIMATE, words=lambda _: "The estimate is computed.")
def compute(progress: jobs.Progress, *, estimate_id: int) -> dict[str, Any]:
    """Compute an estimate, and store its tables."""
    estimate = Estimate.objects.select_related(
        "track__protocol", "pool__protocol", "machine__assessor", "sample__batch", "sample__after"
    ).get(pk=estimate_id)
    result, units = _from_sample(estimate, progress) if estimate.sample else _from_topics(estimate, progress)
    with progress.storing():
        Estimate.objects.filter(pk=estimate_id).update(result=plain(result), units=units)
    return {"estimate": estimate_id}


def _from_sample(estimate: Estimate, progress: jobs.Progress) -> Computed:
    sample = estimate.sample
    assert sample is not None  # of this kind
    machine, drawn, n_missing = _judged_sample(sample, estimate.measures, progress.update)
    result = results.of_sample(
        machine,
        drawn,
        seed=sample.seed,
        is_uniform=sample.design == Sample.Design.UNIFORM,
        n_next=inputs.hour_of(estimate.track),
        n_missing=n_missing,
        attributes=inputs.attributes_of(estimate.track, machine, drawn.units.tolist()),
    )
    return result, inputs.both_grades(machine, drawn)


def _from_topics(estimate: Estimate, progress: jobs.Progress) -> Computed:
    columns = inputs.judged_columns(estimate.pool, estimate.machine)
    measures = estimate.measures if estimate.track.protocol.parsed.takes_runs else []
    machine = inputs.library_machine(estimate.track, columns, estimate.machine, measures, progress.update)
    people = inputs.whole_topics(machine, grades_of(estimate.pool))
    drawn = machine.drawn_by(people)
    attributes = inputs.attributes_of(estimate.track, machine, drawn.units.tolist())
    return results.of_topics(machine, people, attributes=attributes), inputs.both_grades(machine, drawn)
