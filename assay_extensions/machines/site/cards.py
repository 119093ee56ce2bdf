"""Judge cards: what a machine is, on what it was tested, where it fails, what it cost, and who answers for it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser
from accounts.audit import services as audit
from accounts.models import User
from assay.statistics.agreement_report import Pair
from assay.tables import Undefinable
from assay_extensions.machines.site.corrections import n_corrected
from assay_extensions.machines.site.evidence import Weight, weight_of
from assay_extensions.machines.site.models import JudgeRecord, ProbeReport, ReplyEvidence
from assay_extensions.machines.site.selectors import ShownMachine, machines, shown_machines
from assessment.agreement.machines import MachineBias, bias_of
from assessment.judgments.selectors import current_judgments
from assessment.models import Batch
from scoring.models import Leaderboard
from scoring.selectors import board_or_404
from tracks.models import Machine

PRIVATE = ("address", "key_variable")  # of the network of its owner


class GradeByPeople(NamedTuple):
    """The grades of the machine for the units to which people gave one grade."""

    grade: int
    n_units: int
    n_equal: int
    n_higher: int
    n_lower: int
    mean: float


class TestedOn(NamedTuple):
    """The units that a machine judged: how many, of how many topics, and how many of them people graded too."""

    n_units: int
    n_topics: int
    n_shared: int


class AgreementWithPeople(NamedTuple):
    """Kappa with people, with weights and of two classes, the share of equal grades, and the mean difference of grades.

    `leniency` is the machine's grade minus people's.
    """

    equal: Undefinable
    kappa: Undefinable
    linear: Undefinable
    quadratic: Undefinable
    two_way: Undefinable
    leniency: Undefinable


class Replies(NamedTuple):
    """The replies of a model, how many of them had no grade, and the tokens that they took."""

    n: int
    n_unreadable: int
    n_refused: int
    n_without_tokens: int
    tokens_in: int
    tokens_out: int


class Cost(NamedTuple):
    """The cost of the replies in one currency."""

    amount: str
    currency: str


@dataclass(frozen=True)
class JudgeCard:
    """The facts that the site has about a machine as a judge."""

    machine: Machine
    judge: dict[str, Any] | None
    tested_on: TestedOn
    agreement: AgreementWithPeople | None
    by_grade: list[GradeByPeople]
    bias: MachineBias | None
    replies: Replies
    costs: list[Cost]
    probes: dict[str, Any] | None
    probed_at: datetime | None
    n_corrected: int
    shown: ShownMachine

    @property
    def found(self) -> list[str]:
        """The titles of the probes that found a weakness."""
        return [probe["title"] for probe in (self.probes or {}).get("probes", []) if probe["is_weakness"]]


def machine_of_board(user: AnyUser, board_id: int) -> tuple[Leaderboard, Machine]:
    """A leaderboard that the user may see, and the machine whose grades score its runs.

    Raises Http404: people judged.
    """
    board = board_or_404(user, board_id)
    return board, get_object_or_404(machines(), pk=board.qrels.machine_id)


def card_of(machine: Machine) -> JudgeCard:
    """Assemble the card of a machine, in a fixed number of queries."""
    track = machine.assessor.track
    shown = next(row for row in shown_machines(track) if row.machine == machine)
    judged = current_judgments(track, Batch.Kind.MACHINE).filter(assessor=machine.assessor.user_id)
    units = judged.aggregate(n_units=Count("task", distinct=True), n_topics=Count("topic", distinct=True))
    pair, weight = shown.comparison.pair, weight_of(machine)
    stored = JudgeRecord.objects.filter(machine=machine).first()
    report = ProbeReport.objects.filter(machine=machine).first()
    return JudgeCard(
        machine=machine,
        judge=_shown(stored.record) | {"family": machine.family} if stored else None,
        tested_on=TestedOn(**units, n_shared=pair.kappa.n if pair else 0),
        agreement=_agreement(pair) if pair else None,
        by_grade=_by_grade(pair) if pair else [],
        bias=bias_of(machine),
        replies=_replies(machine, weight),
        costs=[Cost(f"{cost:f}", currency) for cost, currency in weight.costs],
        probes=report.report if report else None,
        probed_at=report.created_at if report else None,
        n_corrected=n_corrected(machine),
        shown=shown,
    )


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    """The facts of a judge that everyone may see who sees its card."""
    return {name: value for name, value in record.items() if name not in PRIVATE}


def _agreement(pair: Pair) -> AgreementWithPeople:
    differences = pair.grades[None, :] - pair.grades[:, None]
    leniency = float((pair.confusion * differences).sum() / pair.confusion.sum())
    kappas = (pair.kappa.value, pair.linear.value, pair.quadratic.value, pair.two_way.value)
    return AgreementWithPeople(pair.kappa.observed, *kappas, leniency)


def _by_grade(pair: Pair) -> list[GradeByPeople]:
    rows = []
    for n, grade in enumerate(pair.grades.tolist()):
        counts = pair.confusion[n]
        if total := int(counts.sum()):
            mean = float(counts @ pair.grades) / total
            above, below = int(counts[n + 1 :].sum()), int(counts[:n].sum())
            rows.append(GradeByPeople(grade, total, int(counts[n]), above, below, mean))
    return rows


def _replies(machine: Machine, weight: Weight) -> Replies:
    rows = ReplyEvidence.objects.filter(machine=machine).order_by().values_list("parse_status")
    counts = dict(rows.annotate(n=Count("pk")))
    unread = (counts.get(ReplyEvidence.Status.UNREADABLE, 0), counts.get(ReplyEvidence.Status.REFUSED, 0))
    return Replies(weight.n, *unread, weight.n_without_tokens, weight.tokens_in, weight.tokens_out)


@transaction.atomic
def store_probes(*, machine: Machine, report: dict[str, Any], by: User) -> ProbeReport:
    """Store the report of probes of a machine, in place of an earlier one."""
    row, _ = ProbeReport.objects.update_or_create(
        machine=machine, defaults={"report": report, "created_by": by}
    )
    weak = [probe["probe"] for probe in report["probes"] if probe["is_weakness"]]
    audit.record(
        action="machine.probes",
        subject=machine,
        track=machine.assessor.track,
        details={"units": report["n_units"], "found": weak},
        by=by,
    )
    return row
