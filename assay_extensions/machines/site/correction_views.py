"""The page that corrects grades of a machine in a topic. Organizers only."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_form
from assay.protocols.schema import JudgingRules
from assay_extensions.machines.site import corrections, selectors
from assay_extensions.machines.site.views import crumbs_of, text_of
from assessment.batches.selectors import batches_of
from assessment.models import Batch
from tracks.models import Machine, Topic
from web.confirmation import Check, Confirmation, confirmation_page, refusals
from web.forms import StyledForm, refusals_in
from web.pages import counted, form_page


class CorrectionForm(StyledForm):
    """The grades of a topic that change: all of one grade, or those of a file. `seen` is the preview that was read."""

    topic = forms.ModelChoiceField(queryset=Topic.objects.none(), empty_label=None)
    before = forms.ChoiceField(required=False, label="Grade", help_text="All judgments with it change.")
    after = forms.ChoiceField(required=False, label="Becomes")
    file = forms.FileField(
        required=False,
        label="Or a file",
        help_text="Lines “topic docno grade”, as in qrels. Only the documents of the file change.",
    )
    reason = forms.CharField(max_length=500, help_text="It becomes the comment of the new judgments.")
    lines = forms.CharField(required=False, widget=forms.HiddenInput)
    seen = forms.CharField(required=False, widget=forms.HiddenInput, max_length=50)

    def __init__(self, *args: Any, topics: list[Topic], rules: JudgingRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Topic]", self.fields["topic"])
        field.queryset = Topic.objects.filter(pk__in=[topic.pk for topic in topics])
        self.choices = {choice.key: choice for choice in rules.choices}
        offered = [("", "None"), *((key, choice.label) for key, choice in self.choices.items())]
        for name in ("before", "after"):
            cast("forms.ChoiceField", self.fields[name]).choices = offered

    def clean(self) -> dict[str, Any]:
        """Read the file.

        Raises ValidationError: there is neither a grade with another one nor a file, or both.
        """
        given = super().clean() or {}
        given["lines"] = text_of(given.get("file")) or given.get("lines", "")
        before, after = given.get("before"), given.get("after")
        if bool(given["lines"]) == bool(before or after) or (before == after and before):
            raise forms.ValidationError(
                "Choose a grade and another one that it becomes, or a file with lines."
            )
        for name in ("before", "after") if before or after else ():
            if not given.get(name) and name not in self.errors:
                self.add_error(name, "Choose one.")
        return given

    def plan(self, machine: Machine, batch: Batch) -> corrections.Plan | None:
        """The judgments that change; None if lines of the file are wrong, or if nothing changes."""
        given = self.cleaned_data
        of_topic = {"machine": machine, "batch": batch, "topic": given["topic"], "reason": given["reason"]}
        try:
            if given["lines"]:
                plan = corrections.plan_lines(**of_topic, text=given["lines"])
            else:
                after = self.choices[given["after"]]
                plan = corrections.plan_rule(**of_topic, before=given["before"], after=after)
        except corrections.WrongLines as wrong:
            self.add_error("file" if given["lines"] else "after", wrong.lines)
            return None
        if not plan.changes:
            self.add_error(None, "Nothing changes: no judgment of the topic gets another grade.")
            return None
        return plan

    def hidden(self, plan: corrections.Plan, **kwargs: Any) -> "CorrectionForm":
        """The same form to confirm a preview."""
        sent = {name: self.cleaned_data.get(name) for name in ("before", "after", "reason", "lines")}
        form = CorrectionForm(initial=sent | {"topic": plan.topic.pk, "seen": plan.key}, **kwargs)
        del form.fields["file"]
        for field in form.fields.values():
            field.widget = forms.HiddenInput()
        return form


@organizer_form
def correct(request: AuthenticatedRequest, machine_id: int, batch_id: int) -> HttpResponse:
    """Show which grades of a machine change in a topic, then correct them, with a reason. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    batch = get_object_or_404(batches_of(machine.assessor.user), pk=batch_id)
    of_batch: dict[str, Any] = {
        "topics": corrections.topics_of(machine, batch),
        "rules": batch.pool.protocol.parsed.judging,
    }
    form = CorrectionForm(request.POST or None, request.FILES or None, **of_batch)
    with refusals_in(form):
        if form.is_valid() and (plan := form.plan(machine, batch)):
            page = _corrections_page(machine, batch, plan, form.cleaned_data["reason"])
            if form.cleaned_data["seen"] == plan.key and page.is_given(request):
                reason = form.cleaned_data["reason"]
                new = corrections.correct(
                    machine=machine, batch=batch, plan=plan, reason=reason, by=request.user
                )
                n = counted(len(new), "judgment")
                messages.success(request, f"{n} of topic {plan.topic} corrected.")
                return redirect(machine)
            return _preview(request, page, machine, batch, form.hidden(plan, **of_batch))
    return form_page(
        request,
        form,
        "Correct grades",
        "Preview",
        layout="assessment/base.html",
        track=batch.pool.track,
        crumbs=crumbs_of(machine),
        note=f"Of the batch “{batch}”. You see what changes before it does.",
        style="narrow-form",
    )


def _preview(
    request: AuthenticatedRequest, page: Confirmation, machine: Machine, batch: Batch, form: CorrectionForm
) -> HttpResponse:
    """The question. The first time, the form is posted for it, because it may have a file."""
    is_again = bool(request.POST.get("seen"))
    answer = confirmation_page(
        request,
        page,
        layout="assessment/base.html",
        track=batch.pool.track,
        crumbs=crumbs_of(machine),
        form=form,
        errors=["Nothing is done yet: read the preview, then press again."] if is_again else [],
    )
    answer.status_code = 422 if is_again else 200
    return answer


def _corrections_page(machine: Machine, batch: Batch, plan: corrections.Plan, reason: str) -> Confirmation:
    n = counted(len(plan.changes), "judgment")
    frozen = machine.qrels.order_by("version").values_list("version", flat=True)
    versions = ", ".join(map(str, frozen))
    checks = [
        *refusals(lambda: corrections.check_open(batch)),
        Check("ok", f"{n} of topic {plan.topic} change"),
    ]
    if plan.n_same:
        checks.append(Check("ok", f"As in the file already: {counted(plan.n_same, 'judgment')}"))
    if versions:
        checks.append(
            Check(
                "look",
                f"Qrels of the machine are frozen: version {versions}",
                "They stay as they are. Freeze another version afterwards.",
                reverse("scoring:freeze", args=[batch.pool.track.slug]) + f"?machine={machine.pk}",
                "Freeze qrels",
            )
        )
    return Confirmation(
        act=f"Correct grades of {machine}",
        button="Correct grades",
        text=f"Your reason: {reason}",
        back=reverse("machines:correct", args=[machine.pk, batch.pk]),
        checks=checks,
        fixed=["the earlier judgments stay, but no longer count", "the audit log has who, why and how many"],
        changeable=["the grades again, with another reason"],
        notified="Nobody. The judge card says how many grades were corrected.",
        preview="machines/_corrections.html",
        context={"plan": plan},
    )
