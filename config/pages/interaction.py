"""The interaction on the checklist of a track."""

from config.pages.items import Item, named
from pooling.interaction.progress import Progress
from web.counting import counted


def interaction_items(progress: Progress, submitting: list[str], address: str) -> list[Item]:
    """The points of the interaction, with the teams that submitted runs.

    They are required as soon as a team nominates topics, because a team may leave the interaction out.
    """
    is_optional = not progress.n_nominated
    silent = [name for name in submitting if name not in set(progress.nominating)]
    nominations = Item(
        "Nominations",
        f"{counted(progress.n_nominated, 'topic')} of {counted(len(progress.nominating), 'team')}"
        if progress.n_nominated
        else "none yet",
        address,
        progress.n_nominated > 0,
        (f"Without nominations: {named(silent)}.",) if silent and progress.n_nominated else (),
        action="See the nominations",
        is_optional=is_optional,
    )
    return [nominations, *_sessions(progress, address, is_optional=is_optional)]


def _sessions(progress: Progress, address: str, *, is_optional: bool) -> list[Item]:
    n_waiting, n_held = progress.n_waiting, progress.n_held
    no_page = f"Planned, without the page of the system: {named(progress.without_page)}."
    sessions = Item(
        "Sessions",
        f"{n_held} held, {n_waiting} planned" if n_held or n_waiting else "none planned",
        address,
        n_held > 0 and not n_waiting,
        (no_page,) if progress.without_page else (),
        action="Wait for the sessions" if n_waiting else "Plan sessions",
        is_optional=is_optional,
    )
    missing = (
        ("Data of the sessions", progress.without_data, "See the data"),
        ("Runs after the interaction", progress.without_run, "See the teams"),
    )
    return [sessions, *(_from_teams(progress, each, address, is_optional=is_optional) for each in missing)]


def _from_teams(
    progress: Progress, missing: tuple[str, list[str], str], address: str, *, is_optional: bool
) -> Item:
    label, teams, action = missing
    n = len(progress.interacted)
    state = f"{n - len(teams)} of {counted(n, 'team')} with sessions" if n else "after the sessions"
    problems = (f"Missing: {named(teams)}.",) if teams else ()
    return Item(label, state, address, n > 0 and not teams, problems, action=action, is_optional=is_optional)
