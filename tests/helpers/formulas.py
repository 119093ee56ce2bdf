"""Formulas and their MathML as rows, for tests."""

from collections.abc import Iterable
from typing import NamedTuple

from corpus.models import Collection, Formula, FormulaMathML

START = '<math xmlns="http://www.w3.org/1998/Math/MathML">'


class One(NamedTuple):
    """A formula: without `mathml` no presentation was imported; a `visual` id is one that the index gave."""

    code: str
    latex: str = ""
    mathml: str | None = None
    visual: str = ""


def letter(name: str) -> str:
    """MathML whose SLT string is `[V!name]`."""
    return f"{START}<mi>{name}</mi></math>"


FAULTY = f"{START}<mglyph/></math>"


def add_formulas(collection: Collection, formulas: Iterable[One]) -> None:
    formulas = list(formulas)
    Formula.objects.bulk_create(
        Formula(
            collection=collection,
            code=formula.code,
            post=f"p{formula.code}",
            thread="t",
            place=Formula.Place.ANSWER,
            visual=formula.visual,
            is_visual_given=bool(formula.visual),
            latex=formula.latex,
        )
        for formula in formulas
    )
    FormulaMathML.objects.bulk_create(
        FormulaMathML(collection=collection, form="slt", code=formula.code, content=formula.mathml)
        for formula in formulas
        if formula.mathml is not None
    )


def visual_ids_of(collection: Collection) -> dict[str, str]:
    return dict(Formula.objects.filter(collection=collection).values_list("code", "visual"))
