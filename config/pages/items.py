"""The points of the checklist of a track."""

from typing import NamedTuple

NAMED = 5  # names in a sentence


class Item(NamedTuple):
    """A point of the list. `problems` are whole sentences. `action` is the button if the point comes next; `is_form`
    says that the address takes a form without fields.
    """

    label: str
    state: str
    address: str
    is_done: bool
    problems: tuple[str, ...] = ()
    action: str = ""
    is_form: bool = False
    is_optional: bool = False


def named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
