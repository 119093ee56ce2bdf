"""The models that a run used, as its team states them: one model per line.

::

    gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh

First the name, then the family of models, then what is known: tokens in and out, cost and energy, in any order. In the
header of ir_metadata they are the list `method.models`, whose values are separated by commas, so a line has none.
"""

import re
from typing import NamedTuple

from assay.errors import AssayError

PATH = "method.models"
MOST, MOST_CHARACTERS = 50, 200  # models of a run; characters of a name
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ([A-Za-z]{1,10})")
EXAMPLE = "gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh"


class WrongModels(AssayError):
    """A line about a model that cannot be read."""


class UsedModel(NamedTuple):
    """A model. Amounts are decimal numbers as they were written; empty if they are not known."""

    name: str
    family: str = ""
    tokens: str = ""
    cost: str = ""
    currency: str = ""
    kwh: str = ""


def models_in(text: str) -> list[UsedModel]:
    """
    Raises WrongModels: a line is not a model.

    >>> models_in("gpt-4o-mini; gpt; 3.20 USD")
    [UsedModel(name='gpt-4o-mini', family='gpt', tokens='', cost='3.20', currency='USD', kwh='')]
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) > MOST:
        raise WrongModels(f"Models: {len(lines)} lines; at most {MOST} are accepted.")
    return [_model(number, line) for number, line in lines]


def _model(number: int, line: str) -> UsedModel:
    name, family, *amounts = (part.strip() for part in [*line.split(";"), ""])
    if "," in line or not line.isprintable() or not 0 < len(name) <= MOST_CHARACTERS:
        raise WrongModels(
            f"Models, line {number}: expected a name of at most {MOST_CHARACTERS} characters without commas, "
            f"such as “{EXAMPLE}”."
        )
    if len(family) > MOST_CHARACTERS:
        raise WrongModels(f"Models, line {number}: the family has more than {MOST_CHARACTERS} characters.")
    known: dict[str, str] = {}
    for part in filter(None, amounts):
        amount = AMOUNT.fullmatch(part)
        if amount is None:
            raise WrongModels(
                f"Models, line {number}: “{part[:40]}” is not an amount such as 1200000 tokens, 3.20 USD or 0.4 kWh."
            )
        unit = amount[2].casefold()
        keys = {"tokens": "tokens", "kwh": "kwh"}
        added = (
            {keys[unit]: amount[1]} if unit in keys else {"cost": amount[1], "currency": amount[2].upper()}
        )
        if added.keys() & known.keys():
            raise WrongModels(f"Models, line {number}: “{part[:40]}” is a second amount of the same kind.")
        known |= added
    return UsedModel(name, family, **known)


def stated_models(text: str, header: str = "") -> str:
    """The lines of a declaration, checked; those of the header of the file if it has none.

    Raises WrongModels.
    """
    lines = [line.strip() for line in (text.strip() or header.replace(", ", "\n")).splitlines()]
    models_in(stated := "\n".join(filter(None, lines)))
    return stated


def families_in(text: str) -> frozenset[str]:
    """The families of stated models, for comparisons.

    >>> sorted(families_in("a; GPT\\nb; llama\\nc"))
    ['gpt', 'llama']
    """
    return frozenset(model.family.casefold() for model in models_in(text) if model.family)
