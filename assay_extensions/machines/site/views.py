"""The pages of machines. Organizers only."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import (
    AuthenticatedRequest,
    organizer_action,
    organizer_form,
    organizer_page,
    public_page,
)
from accounts.forms import DAYS, TokenForm
from accounts.models import IS_PERSON, User
from accounts.selectors import tokens_of
from assay.errors import InputError
from assay_extensions.machines.site import cards, jobs, judges, selectors, services
from assay_extensions.machines.site import evidence as evidences
from assay_extensions.machines.site.models import ReplyEvidence
from assay_extensions.machines.site.selectors import MachinePage
from assessment.batches.selectors import batches_of
from pooling.models import Pool
from scoring.selectors import shared_page
from tracks.assessors import machines as machine_services
from tracks.models import Machine
from tracks.tracks.selectors import track_or_404
from web.confirmation import Confirmation, confirmation_page
from web.downloads import download
from web.forms import StyledForm, refusals_in
from web.pages import context_of, counted, form_page, number_in, page_of, size

MAX_FILE = 256 << 10  # bytes of a judge file or a template


class MachineForm(StyledForm, forms.ModelForm[Machine]):
    class Meta:
        model = Machine
        fields = ["name", "version", "family", "description", "owner"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner = cast("forms.ModelChoiceField[User]", self.fields["owner"])
        owner.queryset = User.objects.filter(is_active=True, **IS_PERSON).order_by("username")
        owner.empty_label = None


class StartMachineForm(StyledForm):
    """The pool that a machine judges next."""

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)

    def __init__(self, *args: Any, pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        field.queryset = Pool.objects.filter(pk__in=[pool.pk for pool in pools])


class MachineTokenForm(TokenForm):
    """A token with which a machine judges, and nothing else."""

    scopes = track = None  # type: ignore[assignment]  # takes the fields of the base away
    name = forms.CharField(
        max_length=100, initial="judging", help_text="What will use it, such as “GPU server”."
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=30, label="It expires after")


class JudgeForm(StyledForm):
    """A judge file, and its template if Assay does not have it."""

    judge = forms.FileField(label="Judge file", help_text="TOML, as for “assay judge”.")
    template = forms.FileField(
        label="Template", required=False, help_text="If the file names a template of your own. TOML."
    )

    def clean(self) -> dict[str, Any]:
        """Read the files.

        Raises ValidationError: they have errors.
        """
        given = super().clean() or {}
        if "judge" in given:
            text = text_of(given.get("template"))
            try:
                given["record"] = judges.record_of_file(text_of(given["judge"]), given["judge"].name, text)
            except InputError as error:
                raise forms.ValidationError(str(error)) from None
            given["template_text"] = text if given["record"]["template_sha256"] else ""
        return given


def text_of(upload: Any) -> str:
    if upload is None:
        return ""
    if upload.size > MAX_FILE:
        raise forms.ValidationError(f"{upload.name} is larger than {MAX_FILE >> 10} kB.")
    try:
        return str(upload.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise forms.ValidationError(f"{upload.name} is not UTF-8.") from None


class EvidenceForm(StyledForm):
    """The filter of replies."""

    topic = forms.ChoiceField(required=False)
    status = forms.ChoiceField(
        required=False, label="Reply", choices=[("", "All"), *ReplyEvidence.Status.choices]
    )
    q = forms.CharField(required=False, max_length=200, label="Words in the reply")

    def __init__(self, *args: Any, topics: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ChoiceField", self.fields["topic"])
        field.choices = [("", "All"), *((code, code) for code in topics)]

    @property
    def wanted(self) -> dict[str, str]:
        return {name: self.cleaned_data.get(name, "") for name in ("topic", "status", "q")}


@organizer_page
def machines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The programs and models that judge for a track. Organizers only."""
    track = track_or_404(request.user, slug)
    context = {"track": track, "rows": selectors.shown_machines(track)}
    return render(request, "machines/machines.html", context)


@organizer_form
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Add a machine to a track. Organizers only."""
    track = track_or_404(request.user, slug)
    form = MachineForm(request.POST or None, initial={"owner": request.user})
    with refusals_in(form, "version"):
        if form.is_valid():
            return redirect(machine_services.add(track=track, by=request.user, **form.cleaned_data))
    return form_page(
        request,
        form,
        "Add a machine",
        "Add machine",
        layout="assessment/base.html",
        track=track,
        crumbs=[("Machines", reverse("machines:machines", args=[slug]))],
        note="A machine gets its own account. Nobody can log in with it: the program uses a token. What you enter here "
        "cannot be changed later, because judgments are published under it. For another model, prompt or version, add "
        "another machine.",
        style="narrow-form",
    )


@organizer_page
def show_machine(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """A machine: what it has judged, and how it agrees with people. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    return _answer(request, page, {})


def _answer(request: AuthenticatedRequest, page: MachinePage, more: dict[str, Any]) -> HttpResponse:
    empty = {"form": StartMachineForm(pools=page.pools), "token_form": MachineTokenForm()}
    status = 422 if any(form.errors for form in more.values() if isinstance(form, Form)) else 200
    context = context_of(page) | empty | more
    return render(request, "machines/machine.html", context, status=status)


@organizer_page
def card(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """The judge card of a machine. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    context = {
        "track": machine.assessor.track,
        "machine": machine,
        "card": cards.card_of(machine),
        "layout": "assessment/base.html",
        "json_address": reverse("api:machine_card", args=[machine.pk]),
    }
    return render(request, "machines/card.html", context)


@public_page
def board_card(request: HttpRequest, board_id: int) -> HttpResponse:
    """The judge card of the machine whose grades score a leaderboard. Everyone who may see the leaderboard."""
    board, machine = cards.machine_of_board(request.user, board_id)
    context = context_of(shared_page(request.user, board)) | {
        "card": cards.card_of(machine),
        "layout": "scoring/leaderboards/base.html",
        "json_address": reverse("api:leaderboard_judge", args=[board.pk]),
    }
    return render(request, "machines/card.html", context)


@organizer_action
def start(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Let a machine judge a pool. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    form = StartMachineForm(request.POST, pools=page.pools)
    if not form.is_valid():
        return _answer(request, page, {"form": form})
    batch = services.start(machine=page.machine, pool=form.cleaned_data["pool"], by=request.user)
    messages.success(request, f"The batch “{batch}” is open. The machine can take its tasks through the API.")
    return redirect(page.machine)


@organizer_action
def create_token(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Create a token of a machine. Its text is shown once. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    form = MachineTokenForm(request.POST)
    shown: dict[str, Any] = {"token_form": form}
    with refusals_in(form, "name"):
        if form.is_valid():
            name = form.cleaned_data["name"]
            token = machine_services.create_token(machine=machine, name=name, expires_at=form.expires_at)
            shown = {"new": token}
    return _answer(request, selectors.machine_page(machine), shown)


@organizer_action
def revoke_token(request: AuthenticatedRequest, machine_id: int, token_id: int) -> HttpResponse:
    """Revoke a token of a machine. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    token = get_object_or_404(tokens_of(machine.assessor.user), pk=token_id)
    machine_services.revoke_token(machine=machine, token=token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect(machine)


@organizer_action
def run(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Let the site judge a batch of a machine in a job. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    own = batches_of(machine.assessor.user)
    batch = get_object_or_404(own, pk=number_in(request.POST.get("batch", ""), 0))
    return redirect(jobs.request(machine=machine, batch=batch, by=request.user))


@organizer_form
def register_judge(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Register the judge of a machine from its file. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    form = JudgeForm(request.POST or None, request.FILES or None)
    with refusals_in(form, "judge"):
        if form.is_valid():
            facts = {name: form.cleaned_data[name] for name in ("record", "template_text")}
            judges.register(machine=machine, by=request.user, **facts)
            messages.success(request, f"The judge of {machine} is registered.")
            return redirect(machine)
    return form_page(
        request,
        form,
        "Register the judge",
        "Register judge",
        layout="assessment/base.html",
        track=machine.assessor.track,
        crumbs=crumbs_of(machine),
        note="The site keeps the model, the template with its digest, decoding and prices, but no key: the file names "
        "the environment variable that has it. Once the machine has judged, its judge cannot change.",
        style="narrow-form",
    )


def crumbs_of(machine: Machine) -> list[tuple[str, str]]:
    track = machine.assessor.track
    return [
        ("Machines", reverse("machines:machines", args=[track.slug])),
        (str(machine), machine.get_absolute_url()),
    ]


@organizer_page
def evidence(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """The replies of a machine about its units. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    form = EvidenceForm(request.GET, topics=evidences.topics_of(machine))
    is_valid = form.is_valid()
    replies: Any = evidences.found(machine, **form.wanted)
    rows = page_of(replies, request.GET.get("page"))
    context = {
        "track": machine.assessor.track,
        "machine": machine,
        "form": form,
        "rows": rows,
        "weight": evidences.weight_of(machine),
    }
    return render(request, "machines/evidence.html", context, status=200 if is_valid else 400)


@organizer_page
def reply(request: AuthenticatedRequest, machine_id: int, evidence_id: int) -> HttpResponse:
    """The reply of a machine about one unit, and the way to the next one. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    row = get_object_or_404(evidences.evidence_of(machine), pk=evidence_id)
    form = EvidenceForm(request.GET, topics=evidences.topics_of(machine))
    form.is_valid()
    before, after = evidences.neighbors(evidences.found(machine, **form.wanted), row.pk)
    context = {
        "track": machine.assessor.track,
        "machine": machine,
        "row": row,
        "before": before,
        "after": after,
        "grades": sorted((row.probabilities or {}).items(), key=lambda item: -item[1]),
    }
    return render(request, "machines/reply.html", context)


@organizer_page
def export_evidence(request: AuthenticatedRequest, machine_id: int) -> HttpResponseBase:
    """The evidence of a machine as JSON Lines. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    evidences.note_export(machine=machine)
    return download(evidences.lines_of(machine), f"evidence-machine-{machine.pk}.jsonl")


@organizer_form
def erase_evidence(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Ask, then erase the evidence of a machine. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    weight = evidences.weight_of(machine)
    page = Confirmation(
        act=f"Erase the evidence of {machine}",
        button="Erase evidence",
        back=reverse("machines:evidence", args=[machine.pk]),
        text=f"{counted(weight.n, 'reply,replies')}, {size(weight.n_bytes)}. You cannot undo this: export them first.",
        fixed=["the replies, probabilities, tokens and costs of its judgments are lost"],
        changeable=["its judgments stay, and count as before"],
        notified="Nobody. The audit log keeps who erased it, and when.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(
            request,
            page,
            layout="assessment/base.html",
            track=machine.assessor.track,
            crumbs=crumbs_of(machine),
        )
    n = evidences.erase(machine=machine, by=request.user)
    messages.success(request, f"The evidence of {machine} is erased: {counted(n, 'reply,replies')}.")
    return redirect(machine)
