"""The page that asks before something that cannot be undone. Decision: ADR 74.

It shows whether all is ready, what is fixed from now on, what can still change, and who is notified. The services
decide: a reason that blocks is the refusal of the service, and the page only shows it earlier.
"""

import re
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
    page shows no consequences. The number of remarks is next to the button, which accepts them. If nothing solves what
    blocks, the page leads to what can be done `instead`: an address and the words of its button.
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
    instead: tuple[str, str] = ("", "")
    preview: str = ""  # a template
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def stops(self) -> list[Check]:
        return [check for check in self.checks if check.state == "stop"]

    @property
    def is_impossible(self) -> bool:
        """Return whether something blocks that no page solves."""
        return not all(check.address for check in self.stops)

    @property
    def lines(self) -> list[Check]:
        """The checks in the order of the page; only what blocks, if no page solves it."""
        checks = self.stops if self.is_impossible else self.checks
        return sorted(checks, key=lambda check: ORDER.index(check.state))

    @property
    def remarks(self) -> int:
        return sum(check.state == "look" for check in self.lines)

    @property
    def left(self) -> str:
        """The counts of what is in the way of the act: "1 problem, 5 remarks"."""
        n = len(self.stops)
        counts = [counted(n, "problem")] if n else []
        return ", ".join(counts + [counted(self.remarks, "remark")] * bool(self.remarks))

    @property
    def checks_title(self) -> str:
        """The heading of the checks. What blocks is not possible *yet* if a page solves it."""
        if not self.stops:
            return "Ready?"
        return "Not possible" if self.is_impossible else "Not possible yet"

    @property
    def way_on(self) -> tuple[str, str]:
        """The button of a page that blocks: what solves its only line, or what can be done instead."""
        only = self.lines[0]
        return (only.address, only.link) if only.address and len(self.lines) == 1 else self.instead

    def is_given(self, request: HttpRequest) -> bool:
        """Return whether a request confirms it, with as many remarks as there are now.

        What is blocked goes to the service too, which refuses it in the words of the page.
        """
        if request.method != "POST":
            return False
        is_accepted = not self.remarks or request.POST.get("remarks") == str(self.remarks)
        return is_accepted or bool(self.stops)


def by_mail(sentence: str, instead: str) -> str:
    """A sentence about e-mails; without a mail server, that the site sends none, and what to know instead."""
    return (
        sentence if settings.SENDS_MAIL else f"This site has no mail server, so it sends no e-mail. {instead}"
    )


def refusals(*services: Callable[[], object], address: str = "", link: str = "") -> Iterator[Check]:
    """Yield what the checks of services refuse, as lines that block, with a link to the page that solves it.

    The first sentence says what is so, and the others are its detail.
    """
    for service in services:
        try:
            service()
        except Refused as refusal:
            label, *details = re.split(r"(?<=\w{2}[.:!]) (?=[A-Z])", refusal.message, maxsplit=1)
            yield Check("stop", label, "".join(details), address, link)


def deletion(
    row: Any,
    noun: str,
    check: Callable[[], object],
    *,
    goes_with: Sequence[str] = (),
    back: str = "",
    way_on: tuple[str, str] = ("", ""),
    instead: tuple[str, str] = ("", ""),
) -> Confirmation:
    """The question before a row is deleted, with what `goes_with` it. `check` refuses if something refers to it.

    A page has the `way_on` to a deletion that is refused, or there is none, only something to do `instead`.
    """
    return Confirmation(
        act=f"Delete the {noun} {row}",
        button=f"Delete {noun}",
        back=back or row.get_absolute_url(),
        text="You cannot undo this." + (f" Deleted with it: {', '.join(goes_with)}." if goes_with else ""),
        checks=[*refusals(check, address=way_on[0], link=way_on[1])],
        instead=instead,
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
