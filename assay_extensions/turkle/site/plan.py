"""A plan of the import of projects of Turkle: tracks, rows, batches and accounts, and what prevents it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models.functions import Lower

from accounts.models import User
from assay.errors import AssayError
from assay.protocols.description import in_words
from assay_extensions.turkle.projects import Lab, ProjectFiles, lab_of, projects_in
from tracks.models import StoredProtocol, Track


@dataclass(frozen=True)
class PlannedProject:
    """A project with the title and the short name of its track. `lab` is None if it has problems."""

    files: ProjectFiles
    title: str
    slug: str
    lab: Lab | None

    @property
    def workers(self) -> Counter[str]:
        """The judgments of each worker."""
        return Counter(row.assessor for row in self.lab.judgments) if self.lab else Counter()


@dataclass
class ProjectsPlan:
    """All projects of an upload. `accounts` has the username of each worker, `users` those that exist by it."""

    projects: list[PlannedProject] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


Report = Callable[[int, int | None, str], None]  # done, total, step


def plan_of(
    files: Mapping[str, bytes],
    mapping: Mapping[str, Mapping[str, str]],
    report: Report = lambda done, total, step: None,
) -> ProjectsPlan:
    """Plan the import of an upload. Four queries.

    Args:
        mapping: what the organizer chose: `titles` and `slugs` by folder, `accounts` by worker.
        report: is called with the number of lines that are done.
    """
    plan = ProjectsPlan()
    try:
        projects = projects_in(files)
    except AssayError as error:
        plan.problems = str(error).split("\n")
        return plan
    sizes = [project.n_lines for project in projects]
    for n, project in enumerate(projects):
        step = partial(_report, report, sum(sizes[:n]), sum(sizes), project.title)
        title = mapping.get("titles", {}).get(project.name, "") or project.title
        slug = mapping.get("slugs", {}).get(project.name, "") or project.slug
        lab = None
        try:
            lab = lab_of(project, slug=slug, title=title, report=step)
            plan.problems += lab.problems
        except AssayError as error:
            plan.problems += str(error).split("\n")
        plan.projects.append(PlannedProject(project, title, slug, lab))
    _name_accounts(plan, mapping.get("accounts", {}))
    plan.problems += [*_track_problems(plan.projects), *_account_problems(plan)]
    return plan


def _report(report: Report, before: int, total: int, title: str, n: int, step: str) -> None:
    report(before + n, total, f"tasks and judgments; {step} {title}")


def _name_accounts(plan: ProjectsPlan, chosen: Mapping[str, str]) -> None:
    """The account of each worker: the chosen one, or the one of that name here, or a new one."""
    workers = sorted({worker for project in plan.projects for worker in project.workers} - {""})
    wanted = {worker: chosen.get(worker) or worker for worker in workers}
    folded = User.objects.annotate(folded=Lower("username"))
    same = folded.filter(folded__in=[name.lower() for name in wanted.values()]).order_by("-pk")
    users = {user.username.lower(): user for user in same} | {user.username: user for user in same}
    for worker, name in wanted.items():
        user = users.get(name) or users.get(name.lower())
        plan.accounts[worker] = user.username if user else name
        if user:
            plan.users[user.username] = user


def _track_problems(projects: Sequence[PlannedProject]) -> Iterator[str]:
    slugs = [project.slug for project in projects]
    taken = set(Track.objects.filter(slug__in=slugs).values_list("slug", flat=True))
    protocols = {project.lab.protocol.slug: project.lab.text for project in projects if project.lab}
    stored = StoredProtocol.objects.filter(slug__in=protocols)
    others = {row.slug for row in stored if row.text != protocols[row.slug].replace("\r\n", "\n")}
    for project in projects:
        if project.slug in taken:
            yield f"{project.title}: there is a track with the short name {project.slug}; choose another one"
        elif slugs.count(project.slug) > 1:
            yield f"{project.title}: two projects have the short name {project.slug}; choose another one"
        elif project.lab and project.lab.protocol.slug in others:
            slug = project.lab.protocol.slug
            yield f"{project.title}: there is another protocol {slug}; choose another short name or change its slug"


def _account_problems(plan: ProjectsPlan) -> Iterator[str]:
    field_of_names = User._meta.get_field("username")
    worker_of: dict[str, str] = {}
    for worker, name in plan.accounts.items():
        user, other = plan.users.get(name), worker_of.setdefault(name.casefold(), worker)
        if other != worker:
            yield f"{worker} and {other} have the same account, {name}; one person judges a row once"
        if user is not None and (why_not := _why_not(user)):
            yield f"{worker}: the account {name} is {why_not}; choose another"
        try:
            field_of_names.run_validators(name)
        except ValidationError as error:
            yield f"{worker}: {name} cannot be the name of an account. {' '.join(error.messages)}"


def _why_not(user: User) -> str:
    """The reason why an account cannot be a worker's; empty if it can."""
    if user.guest_until is not None:  # who has that link would get the rows of this track too
        return "of somebody who judges by a link"
    if user.is_machine:
        return "a program"
    return "" if user.is_active else "deactivated"


def report_of(plan: ProjectsPlan) -> dict[str, Any]:
    """A plan as plain values, for the page."""
    counts: Counter[str] = Counter()
    for project in plan.projects:
        counts += project.workers
    people = [
        {"worker": worker, "account": name, "is_new": name not in plan.users, "judgments": counts[worker]}
        for worker, name in plan.accounts.items()
    ]
    return {
        "projects": [_project_report(project) for project in plan.projects],
        "people": people,
        "problems": plan.problems,
    }


def _project_report(project: PlannedProject) -> dict[str, Any]:
    """A report on a project; only its names, if it has problems."""
    lab = project.lab
    report: dict[str, Any] = {"folder": project.files.name, "title": project.title, "slug": project.slug}
    if lab is None:
        return report
    judging = lab.protocol.judging
    return report | {
        "rows": len(lab.rows),
        "judges": judging.judges,
        "questions": [in_words(question) for question in judging.questions],
        "batches": [list(count) for count in sorted(Counter(row.batch for row in lab.judgments).items())],
        "notes": lab.notes,
        "judgments": len(lab.judgments),
        "workers": [list(worker) for worker in sorted(project.workers.items())],
    }
