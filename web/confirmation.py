"""The page that asks before something that cannot be undone. Decision: ADR 74.

It shows whether all is ready, what is fixed from now on, what can still change, and who is notified. The services
decide: a reason that blocks is the refusal of the service, and the page only shows it earlier.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from assay.errors import Refused
from web.pages import counted

ORDER = ("stop", "look", "ok", "skip")


class Check(NamedTuple):
    """A line under *Ready?*. `look` is a remark and `stop` blocks, each with a link to the page that solves it.

    The field `skip` is the key of the point of the checklist that it repeats. If that was skipped, the state is `skip`.
    """

    state: Literal["ok", "skip", "look", "stop"]
    label: str
    detail: str = ""
    address: str = ""
    link: str = ""
    skip: str = ""


@dataclass(frozen=True)
class Confirmation:
    """The question of a page: `act` is its heading, `button` says what is done, `back` is the page for a no.

    The `text` says in a sentence or two what happens. `fixed` and `changeable` are noun phrases; `notified` says in a
    sentence who gets to know. Of the `checks`, what blocks comes first, then the remarks; while something blocks, the
    page shows no consequences. The number of remarks is next to the button, which accepts them.
    """

    act: str
    button: str
    back: str
    text: str = ""
    checks: Sequence[Check] = ()
    fixed: Sequence[str] = ()
    changeable: Sequence[str] = ()
    notified: str = ""
    lead: str = ""
    keep: str = "Cancel"
    is_danger: bool = False
    preview: str = ""  # a template
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> list[Check]:
        """The checks in the order of the page."""
        return sorted(self.checks, key=lambda check: ORDER.index(check.state))

    @property
    def remarks(self) -> int:
        return sum(check.state == "look" for check in self.checks)

    @property
    def blocking(self) -> list[str]:
        return [check.label for check in self.checks if check.state == "stop"]

    @property
    def left(self) -> str:
        """The counts of what is in the way of the act: "1 problem, 5 remarks"."""
        n = len(self.blocking)
        counts = [counted(n, "problem")] if n else []
        return ", ".join(counts + [counted(self.remarks, "remark")] * bool(self.remarks))

    @property
    def checks_title(self) -> str:
        """The heading of the checks. What blocks is not possible *yet* if a page solves it."""
        stops = [check for check in self.checks if check.state == "stop"]
        if not stops:
            return "Ready?"
        return "Not possible yet" if all(check.address for check in stops) else "Not possible"

    def is_given(self, request: HttpRequest) -> bool:
        """Return whether a request confirms it, with as many remarks as there are now.

        What is blocked goes to the service too, which refuses it in the words of the page.
        """
        if request.method != "POST":
            return False
        is_accepted = not self.remarks or request.POST.get("remarks") == str(self.remarks)
        return is_accepted or bool(self.blocking)


def by_mail(sentence: str, instead: str) -> str:
    """A sentence about e-mails; without a mail server, that the site sends none, and what to know instead."""
    return (
        sentence if settings.SENDS_MAIL else f"This site has no mail server, so it sends no e-mail. {instead}"
    )


def refusals(*services: Callable[[], object], address: str = "", link: str = "") -> Iterator[Check]:
    """Yield what the checks of services refuse, as lines that block, with a link to the page that solves it."""
    for service in services:
        try:
            service()
        except Refused as refusal:
            yield Check("stop", refusal.message, "", address, link)


def deletion(
    row: Any, noun: str, check: Callable[[], object], *, goes_with: Sequence[str] = (), back: str = ""
) -> Confirmation:
    """The question before a row is deleted, with what `goes_with` it. `check` refuses if something refers to it."""
    return Confirmation(
        act=f"Delete the {noun} {row}",
        button=f"Delete {noun}",
        back=back or row.get_absolute_url(),
        text="You cannot undo this." + (f" Deleted with it: {', '.join(goes_with)}." if goes_with else ""),
        checks=[*refusals(check)],
        notified="Nobody. The audit log keeps who deleted it, and when.",
        is_danger=True,
    )


def confirmation_page(
    request: HttpRequest,
    confirmation: Confirmation,
    *,
    layout: str = "base.html",
    template: str = "confirmation.html",
    **context: Any,
) -> HttpResponse:
    """The page. Status 422 if a request knew of other remarks than there are now, or its form has errors."""
    form = context.get("form")
    is_wrong = request.method == "POST"
    errors = ["Nothing is done yet: read the remarks above, then press again."]
    page = {"confirmation": confirmation, "layout": layout, "errors": errors if is_wrong and not form else []}
    context = page | {"form": None, "crumbs": ()} | confirmation.context | context
    return render(request, template, context, status=422 if is_wrong else 200)
