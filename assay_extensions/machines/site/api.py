"""Machines for programs: add one, let it judge a pool, register its judge, and judge with leases."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.access import person_of, user_of
from accounts.api import CreatedTokenSerializer, KnownTokenSerializer, NewTokenSerializer, created_token
from accounts.selectors import tokens_of, user_named
from accounts.tokens import MAX_DAYS
from assay.structure import WrongStructure
from assay_extensions.machines.model.evidence import evidence_of
from assay_extensions.machines.site import cards, corrections, jobs, judges, leases, selectors, services
from assay_extensions.machines.site import evidence as evidences
from assay_extensions.machines.site.cards import (
    AgreementWithPeople,
    Cost,
    GradeByPeople,
    JudgeCard,
    Replies,
    TestedOn,
)
from assay_extensions.machines.site.examples import GradedExample, examples_for
from assay_extensions.machines.site.leases import MOST, MOST_SECONDS, Item, Result
from assay_extensions.machines.site.models import JudgeRecord, Lease
from assessment.agreement.machines import BiasRow, MachineBias
from assessment.batches.selectors import batches_of, pools_to_plan
from assessment.judging.api import SubmissionSerializer, TaskSerializer, submit_task
from assessment.judging.units import ShownTask, shown_task
from assessment.judgments.api import FullJudgmentSerializer
from assessment.planning.api import BatchSerializer
from jobs.api import JobSerializer
from tracks.assessors import machines as machine_services
from tracks.models import Machine
from tracks.tracks.api import track_of
from web.addresses import enter
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Everyone, LoggedIn, Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, accepted, created, delete, get, get_file, parameter, post, put
from web.downloads import download
from web.models import Scope

FIRST = "judging"  # name of the first token, as the page of the machine proposes


MACHINE = (
    "id url track=assessor.track.slug name version family description account=assessor.user.username "
    "owner=owner.username created_at"
)
OF_MACHINE = {
    "url": Address("api:machine", help_text="The address of this machine in the API."),
    "account": "The assessor of its judgments.",
}
MachineSerializer = answer(
    Machine, "Machine", MACHINE, "A program or a model that judges for a track.", **OF_MACHINE
)


class NewMachineSerializer(Strict):
    """A new machine. None of this can be changed later."""

    name = serializers.CharField(max_length=60)
    version = serializers.CharField(max_length=60)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True, default="")
    family = serializers.CharField(
        max_length=60,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of its model. Runs that declare a model of the same family are marked.",
    )
    owner = serializers.CharField(
        max_length=150,
        required=False,
        default="",
        help_text="User name of the person who answers for it; yours.",
    )
    days = serializers.IntegerField(
        min_value=1, max_value=MAX_DAYS, default=30, help_text="Until its first token expires."
    )


CreatedMachineSerializer = answer(
    Machine,
    "CreatedMachine",
    f"{MACHINE} token",
    "A new machine with its first token.",
    **OF_MACHINE,
    token=CreatedTokenSerializer(
        allow_null=True,
        help_text="With it, the program judges as this machine. Null if the request was repeated.",
    ),
)


class StartSerializer(Strict):
    """The pool that the machine judges."""

    pool = serializers.IntegerField(min_value=1, help_text="The id of a pool that is ready.")


MACHINES = ("tracks/<slug:slug>/machines/", "machines")
MACHINE_EVIDENCE = ("machines/<int:machine_id>/evidence/", "machine_evidence")
MACHINE_TOKENS = ("machines/<int:machine_id>/tokens/", "machine_tokens")


class JudgedBatchSerializer(Strict):
    """The batch that the site judges."""

    batch = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class CorrectedGradeSerializer(Strict):
    """A document with the grade that it gets."""

    docno = serializers.CharField(max_length=1_000)
    choice = serializers.CharField(max_length=50, help_text="Key of a grade or a non-answer, or the grade.")


class CorrectionsSerializer(Strict):
    """Grades of a machine in a topic that change."""

    batch = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    topic = serializers.CharField(max_length=200)
    grades = serializers.ListField(child=CorrectedGradeSerializer(), min_length=1, max_length=10_000)
    reason = serializers.CharField(max_length=500, help_text="The comment of the new judgments.")


class Machines(Endpoints):
    tag = "Machines"
    permission_classes = [Organizer]

    @get(*MACHINES, MachineSerializer, ordering=("pk",), filters=[Filter("name")])
    def list_machines(self, request: Request, slug: str) -> object:
        """List the programs and models that judge for a track, oldest first."""
        track = track_of(request, slug)
        return selectors.machines().filter(assessor__track=track)

    @post(*MACHINES, CreatedMachineSerializer, takes=NewMachineSerializer, status=201, secrets=("token",))
    def create_machine(self, request: Request, slug: str) -> object:
        """Add a machine to a track. The answer has the token of its program."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = data.pop("owner")
        owner = user_named(named) if named else user
        if owner is None:
            raise serializers.ValidationError({"owner": f"There is no user {named}."})
        days = timedelta(days=data.pop("days"))
        machine = machine_services.add(track=track, owner=owner, by=user, **data)
        new = machine_services.create_token(machine=machine, name=FIRST, expires_at=timezone.now() + days)
        shown = {**MachineSerializer(machine).data, "token": created_token(new)}
        return created(shown, shown["url"])

    @get("machines/<int:machine_id>/", "machine", MachineSerializer)
    def get_machine(self, request: Request, machine_id: int) -> object:
        """Read a machine."""
        return get_object_or_404(selectors.machines(), pk=machine_id)

    @post(
        "machines/<int:machine_id>/start/",
        "start_machine",
        BatchSerializer,
        takes=StartSerializer,
        status=201,
    )
    def start_machine(self, request: Request, machine_id: int) -> object:
        """Let a machine judge a pool: it gets an open batch with all topics."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        pools = pools_to_plan().filter(track=machine.assessor.track_id)
        pool = get_object_or_404(pools, pk=self.validated(request)["pool"])
        return services.start(machine=machine, pool=pool, by=person_of(request))

    @get(*MACHINE_TOKENS, KnownTokenSerializer, ordering=("-pk",), filters=[Filter("name")])
    def list_machine_tokens(self, request: Request, machine_id: int) -> object:
        """List the tokens of a machine, newest first, without their texts."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        return tokens_of(machine.assessor.user)

    @post(*MACHINE_TOKENS, CreatedTokenSerializer, takes=NewTokenSerializer, status=201, secrets=("token",))
    def create_machine_token(self, request: Request, machine_id: int) -> object:
        """Create another token of a machine, for example before the first one ends."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        data = self.validated(request)
        expires_at = timezone.now() + timedelta(days=data["days"])
        new = machine_services.create_token(machine=machine, name=data["name"], expires_at=expires_at)
        return created(created_token(new), reverse("api:machine_tokens", args=[machine.pk]))

    @post(
        "machines/<int:machine_id>/tokens/<int:token_id>/revoke/",
        "revoke_machine_token",
        KnownTokenSerializer,
    )
    def revoke_machine_token(self, request: Request, machine_id: int, token_id: int) -> object:
        """End the validity of a token of a machine."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        token = get_object_or_404(tokens_of(machine.assessor.user), pk=token_id)
        machine_services.revoke_token(machine=machine, token=token)
        token.refresh_from_db()
        return token

    @get_file(*MACHINE_EVIDENCE)
    def download_machine_evidence(self, request: Request, machine_id: int) -> object:
        """Download the evidence of a machine as JSON Lines."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        if request.method == "GET":
            evidences.note_export(machine=machine)
        name = f"evidence-machine-{machine.pk}.jsonl"
        return download(evidences.lines_of(machine), name, is_checked=False)

    @delete(*MACHINE_EVIDENCE)
    def delete_machine_evidence(self, request: Request, machine_id: int) -> object:
        """Erase the evidence of a machine. Its judgments stay."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        return evidences.erase(machine=machine, by=person_of(request))

    @post(
        "machines/<int:machine_id>/run/",
        "run_machine",
        JobSerializer,
        takes=JudgedBatchSerializer,
        status=202,
    )
    def run_machine(self, request: Request, machine_id: int) -> object:
        """Let the site judge a batch of a machine in a job."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        own = batches_of(machine.assessor.user)
        batch = get_object_or_404(own, pk=self.validated(request)["batch"])
        job = jobs.request(machine=machine, batch=batch, by=person_of(request))
        return accepted(JobSerializer(job).data, job.pk)

    @post(
        "machines/<int:machine_id>/correct/",
        "correct_machine",
        FullJudgmentSerializer(many=True),
        takes=CorrectionsSerializer,
        status=201,
    )
    def correct_machine(self, request: Request, machine_id: int) -> object:
        """Correct grades of a machine in a topic: all of them, or none. The answer has the new judgments.

        Documents that have the grade already are skipped. What is replaced is kept, and no longer counts.
        """
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        given = self.validated(request)
        batch = get_object_or_404(batches_of(machine.assessor.user), pk=given["batch"])
        topics = {topic.code: topic for topic in corrections.topics_of(machine, batch)}
        if given["topic"] not in topics:
            raise serializers.ValidationError({"topic": f"Use one of {', '.join(topics) or 'none'}."})
        of_topic = {"machine": machine, "batch": batch, "reason": given["reason"]}
        plan = corrections.plan_grades(**of_topic, topic=topics[given["topic"]], grades=given["grades"])
        new = corrections.correct(**of_topic, plan=plan, by=person_of(request))
        for judgment in new:  # or their names would be read one by one
            judgment.topic, judgment.assessor = plan.topic, machine.assessor.user
        return new


class RecordSerializer(Strict):
    """The record of a judge, as `Judge.record` of the library writes it: facts, and never a key."""

    name = serializers.CharField(max_length=60)
    version = serializers.CharField(max_length=60)
    model = serializers.CharField(max_length=240)
    revision = serializers.CharField(max_length=200, allow_blank=True)
    provider = serializers.CharField(max_length=200, allow_blank=True)
    family = serializers.CharField(max_length=200, allow_blank=True)
    address = serializers.CharField(max_length=1_000, allow_blank=True)
    template = serializers.CharField(max_length=1_000, allow_blank=True)
    answer = serializers.CharField(max_length=50)
    decoding = serializers.DictField(help_text="Parameters of a request that are sent.")
    prices = serializers.DictField(help_text="Of a million tokens: input, output, currency.")
    key_variable = serializers.CharField(
        max_length=200, allow_blank=True, help_text="The name of the environment variable of the key."
    )
    template_version = serializers.CharField(max_length=200, allow_blank=True)
    template_sha256 = serializers.RegexField(r"^([0-9a-f]{64})?\Z", allow_blank=True)
    parser = serializers.CharField(max_length=200, allow_blank=True)


JudgeSerializer = answer(
    JudgeRecord,
    "MachineJudge",
    "machine=machine_id record created_at",
    "The judge of a machine: model, template with its digest, decoding and prices.",
    record=serializers.JSONField(help_text="The facts of its judge file, and those of its template."),
)


class ProbeSerializer(Strict):
    """The verdicts on units under one probe."""

    probe = serializers.CharField(max_length=20, help_text="Such as words, orders, empty or repeat.")
    title = serializers.CharField(max_length=200, help_text="What was changed.")
    n = serializers.IntegerField(min_value=0)
    higher = serializers.IntegerField(min_value=0, help_text="Answers above the expected one.")
    lower = serializers.IntegerField(min_value=0, help_text="Answers below the expected one.")
    unanswered = serializers.IntegerField(min_value=0)
    is_weakness = serializers.BooleanField(help_text="Whether answers changed in a wrong direction.")


class ProbesSerializer(Strict):
    """The report of `assay probe`, without the units."""

    protocol = serializers.CharField(max_length=300)
    n_units = serializers.IntegerField(min_value=0)
    probes = serializers.ListField(child=ProbeSerializer(), max_length=20)


answer(TestedOn, "JudgeTestedOn", "n_units n_topics n_shared")
answer(AgreementWithPeople, "JudgeAgreement", "equal kappa linear quadratic two_way leniency")
answer(GradeByPeople, "JudgeGrades", "grade n_units n_equal n_higher n_lower mean")
answer(
    BiasRow,
    "JudgeBiasRow",
    "of kind n_units value low high is_found",
    of="All units, a grade, or an attribute of units.",
    kind=serializers.ChoiceField(
        ["leniency", "slope", "preference"],
        help_text="leniency: the mean of its grade minus people's; slope: its change if the attribute grows by 1; "
        "preference: leniency on runs of its family minus that on others.",
    ),
    is_found="Whether the interval leaves out 0.",
)
answer(MachineBias, "JudgeBias", "computed_at n_people rows", n_people="Units that people judged.")
answer(
    Replies,
    "JudgeReplies",
    "n n_unreadable n_refused n_without_tokens tokens_in tokens_out",
    n_without_tokens="Replies that do not report their tokens, which are not in the sums.",
)
answer(Cost, "JudgeCost", "amount currency")
CARD = (
    "machine=machine.id name=machine.name version=machine.version description=machine.description "
    "owner=machine.owner.username track=machine.assessor.track.slug judge tested_on n_corrected agreement by_grade "
    "bias replies costs probes probed_at"
)
CardSerializer = answer(
    JudgeCard,
    "JudgeCard",
    CARD,
    "What a machine is, on what it was tested, where it fails, what it cost, and who answers for it.",
    judge=serializers.JSONField(
        allow_null=True, help_text="The facts of its judge file; null if not registered."
    ),
    n_corrected="Its grades that organizers corrected. They count as its own.",
    agreement="With people, on the units that both graded; null if there are none.",
    by_grade="By people's grade: what the machine gave.",
    bias="In the newest estimate from it and people; null without one.",
    probes=ProbesSerializer(allow_null=True, help_text="Null if nobody sent a report."),
    owner="Who answers for it.",
)
JUDGE = ("machines/<int:machine_id>/judge/", "machine_judge")


class Judges(Endpoints):
    tag = "Machines"
    permission_classes = [LoggedIn]
    write_scopes = (Scope.JUDGE, Scope.MANAGE)
    read_scopes = (Scope.READ,)

    def machine(self, request: Request, machine_id: int) -> Machine:
        """The machine itself may call it, and those who may call `Organizer`."""
        user, machines = person_of(request), selectors.machines()
        if user.is_machine:
            machines = machines.filter(assessor__user=user)
        elif request.resolver_match is not None:
            enter(user, request.resolver_match, is_reading=request.method in SAFE_METHODS)
        return get_object_or_404(machines, pk=machine_id)

    @get(*JUDGE, JudgeSerializer)
    def get_machine_judge(self, request: Request, machine_id: int) -> object:
        """Read the judge of a machine."""
        return get_object_or_404(JudgeRecord, machine=self.machine(request, machine_id))

    @put(*JUDGE, JudgeSerializer, takes=RecordSerializer)
    def update_machine_judge(self, request: Request, machine_id: int) -> object:
        """Register the judge of a machine. Once the machine has judged, another record is refused."""
        machine = self.machine(request, machine_id)
        return judges.register(machine=machine, record=self.validated(request), by=person_of(request))

    @get("machines/<int:machine_id>/card/", "machine_card", CardSerializer)
    def get_machine_card(self, request: Request, machine_id: int) -> object:
        """Read the judge card of a machine."""
        return cards.card_of(self.machine(request, machine_id))

    @put("machines/<int:machine_id>/probes/", "machine_probes", CardSerializer, takes=ProbesSerializer)
    def update_machine_probes(self, request: Request, machine_id: int) -> object:
        """Store the report of `assay probe` on the judge card of a machine, in place of an earlier one."""
        machine = self.machine(request, machine_id)
        cards.store_probes(machine=machine, report=self.validated(request), by=person_of(request))
        return cards.card_of(machine)


class JudgeCards(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Everyone]

    @get("leaderboards/<int:board_id>/judge/", "leaderboard_judge", CardSerializer)
    def get_leaderboard_judge(self, request: Request, board_id: int) -> object:
        """Read the judge card of the machine whose grades score the runs. 404 if people judged."""
        return cards.card_of(cards.machine_of_board(user_of(request), board_id)[1])


class ShownLease(NamedTuple):
    """A lease with its tasks and examples."""

    lease: Lease
    tasks: list[ShownTask]
    examples: list[GradedExample]


class NewLeaseSerializer(Strict):
    """The number of tasks that a process takes, and for how long."""

    n = serializers.IntegerField(min_value=1, max_value=MOST)
    seconds = serializers.IntegerField(min_value=1, max_value=MOST_SECONDS)


class RenewalSerializer(Strict):
    """The time for which the tasks are held, from now."""

    seconds = serializers.IntegerField(min_value=1, max_value=MOST_SECONDS)


class EvidenceField(serializers.JSONField):
    """Evidence, as the library writes it."""

    def to_internal_value(self, data: object) -> Any:
        try:
            return evidence_of(data)
        except WrongStructure as error:
            raise serializers.ValidationError(str(error)) from None


class LeasedJudgmentSerializer(SubmissionSerializer):
    """A judgment of a task of a lease, with its evidence."""

    task = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    request_id = serializers.UUIDField(help_text="A repeat with it is answered with `already-stored`.")
    evidence = EvidenceField(required=False, allow_null=True, default=None)


class LeasedSkipSerializer(Strict):
    """A task of a lease that is put aside."""

    task = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    reason = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    evidence = EvidenceField(required=False, allow_null=True, default=None)


class LeaseJudgmentsSerializer(Strict):
    """Judgments and skips of tasks of a lease."""

    judgments = serializers.ListField(child=LeasedJudgmentSerializer(), max_length=MOST, default=list)
    skips = serializers.ListField(child=LeasedSkipSerializer(), max_length=MOST, default=list)


answer(GradedExample, "GradedExample", " ".join(GradedExample._fields))
LeaseSerializer = answer(
    ShownLease,
    "Lease",
    "id=lease.id expires_at=lease.expires_at tasks examples",
    "Tasks that one process of a machine holds.",
    tasks=TaskSerializer(many=True),
    examples="What people agreed on after training rounds that are closed, of topics that nobody judges now.",
)
RenewedSerializer = answer(
    Lease,
    "RenewedLease",
    "id expires_at tasks",
    "A lease with the ids of the tasks that it still holds.",
    tasks=serializers.ListField(child=serializers.IntegerField()),
)
ResultSerializer = answer(
    Result,
    "LeaseResult",
    "task status code reason",
    "What became of a judgment or a skip.",
    status="stored, already-stored or refused.",
    code="Why it was refused, for programs.",
    reason="Why it was refused.",
)


class Leases(Endpoints):
    tag = "Machines"
    write_scopes = (Scope.JUDGE,)

    def lease(self, request: Request, lease_id: int) -> Lease:
        return get_object_or_404(Lease, pk=lease_id, assessor=person_of(request))

    @post(
        "batches/<int:batch_id>/leases/",
        "leases",
        {201: LeaseSerializer, 204: None},
        takes=NewLeaseSerializer,
        status=201,
        parameters=[parameter("texts", "Plain without it.", values=("plain", "html"))],
    )
    def create_lease(self, request: Request, batch_id: int) -> object:
        """Take the next tasks of a batch that no process of the machine holds. 204 if there are none.

        What was skipped comes last.
        """
        user = person_of(request)
        batch = get_object_or_404(batches_of(user), pk=batch_id)
        machine = leases.machine_of(user)
        taken = leases.take(batch=batch, machine=machine, **self.validated(request))
        if taken is None:
            return None
        is_html = request.query_params.get("texts") == "html"
        tasks = [shown_task(task, is_html=is_html) for task in taken.tasks]
        return ShownLease(taken.lease, tasks, examples_for(batch, is_html=is_html))

    @post("leases/<int:lease_id>/renew/", "renew_lease", RenewedSerializer, takes=RenewalSerializer)
    def renew_lease(self, request: Request, lease_id: int) -> object:
        """Hold the tasks of a lease until another time. Refused if it no longer holds a task."""
        lease = leases.renew(lease=self.lease(request, lease_id), **self.validated(request))
        return {"id": lease.pk, "expires_at": lease.expires_at, "tasks": leases.tasks_of(lease)}

    @post("leases/<int:lease_id>/release/", "release_lease")
    def release_lease(self, request: Request, lease_id: int) -> object:
        """Give back the tasks of a lease that are not judged."""
        return leases.release(lease=self.lease(request, lease_id))

    @post(
        "leases/<int:lease_id>/judgments/",
        "lease_judgments",
        ResultSerializer(many=True),
        takes=LeaseJudgmentsSerializer,
    )
    def submit_lease_judgments(self, request: Request, lease_id: int) -> object:
        """Store judgments and skips of tasks of a lease: one result for each, judgments first.

        A repeat changes nothing. A unit that another process holds, or that is judged, is refused.
        """
        lease = self.lease(request, lease_id)
        machine = leases.machine_of(person_of(request))
        data = self.validated(request)
        items = [_judgment(row) for row in data["judgments"]]
        items += [Item(row["task"], reason=row["reason"], evidence=row["evidence"]) for row in data["skips"]]
        return leases.judge(lease=lease, machine=machine, items=items)


def _judgment(row: Mapping[str, Any]) -> Item:
    return Item(
        row["task"],
        submit=lambda task: submit_task(task, {"shown": 0, **row}),
        request_id=row["request_id"],
        evidence=row["evidence"],
    )


urlpatterns = Machines.urls() + Judges.urls() + JudgeCards.urls() + Leases.urls()
