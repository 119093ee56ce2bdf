"""Judge files: who judges, with which model, template and decoding, at which price.

A judge file is TOML. `record` is what a site keeps of it. The key of an address is in an environment variable, which
the file names; neither has the key itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from assay.formats.text import read_text
from assay.structure import read_toml, structured
from assay_extensions.machines.judge_files.prompts import Template, missing_template, read_template

MAX_NAME = 60  # characters, as of a machine of a site
MOST = 10**9  # of a number in a judge file
TRAINED = "text-classifier"  # the model of provider "assay"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_TEMPLATE = ("template_version", "template_sha256", "parser")


@dataclass(frozen=True, slots=True)
class Decoding:
    """Parameters of a request, by their names in the API. Those that are left out are not sent."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of a million tokens."""

    input: float = 0.0
    output: float = 0.0
    currency: str = "USD"

    def cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        """
        >>> Prices(2.5, 10.0).cost(1000, 100)
        Decimal('0.0035')
        """
        prices = Decimal(str(self.input)), Decimal(str(self.output))
        return (prices[0] * tokens_in + prices[1] * tokens_out) / 1_000_000


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge file.

    Attributes:
        address: the part before `/chat/completions`; empty for a program, and for the judge that Assay trains.
        template: the name of a template that Assay has, or a path relative to the judge file.
        answer: `probabilities` requests the probabilities of the tokens, from which those of the grades are computed.
        key_variable: the environment variable of the key.
        folder: where the judge file is.
    """

    name: str
    version: str
    model: str
    revision: str = ""
    provider: str = ""
    family: str = ""
    address: str = ""
    template: str = "graded"
    answer: Literal["grade", "probabilities"] = "grade"
    decoding: Decoding = Decoding()
    prices: Prices = Prices()
    key_variable: str = ""
    folder: str = field(default="", compare=False, metadata={"key": ""})

    @property
    def is_trained(self) -> bool:
        return self.provider == "assay" and self.model == TRAINED

    def prompt(self) -> Template | None:
        """The template; None for a judge that asks no model."""
        return read_template(self.template, self.folder) if self.address else None

    def record(self) -> dict[str, Any]:
        """The facts that a site keeps: plain values for JSON."""
        prompt = self.prompt()
        facts = (prompt.version, prompt.sha256, prompt.parser) if prompt else ("", "", "")
        record = asdict(self)
        del record["folder"]
        record["decoding"] = self.decoding.parameters()
        return record | dict(zip(OF_TEMPLATE, facts, strict=True))


def judge_of(record: Mapping[str, object]) -> Judge:
    """The judge of a record.

    Raises WrongStructure: it is not one.
    """
    return structured(Judge, {key: record[key] for key in record if key not in OF_TEMPLATE}, most=MOST)


def read_judge(path: str) -> Judge:
    """Raises InputError: the file cannot be read, or keys or values are wrong, each with its line."""
    folder = str(Path(path).parent)

    def all_problems(judge: Judge) -> Iterator[str]:
        yield from problems(judge)
        if judge.address and (missing := missing_template(judge.template, folder)):
            yield missing

    return read_toml(read_text(path), Judge, name=path, rules=all_problems, most=MOST, folder=folder)


def problems(judge: Judge) -> Iterator[str]:
    """Yield each error beyond the types, with its key."""
    for key in ("name", "version", "model"):
        if not 0 < len(getattr(judge, key).strip()) <= MAX_NAME * (4 if key == "model" else 1):
            yield f"{key}: expected 1 to {MAX_NAME * (4 if key == 'model' else 1)} characters"
    address = urlsplit(judge.address)
    if judge.address and (address.scheme not in {"http", "https"} or not address.hostname):
        yield "address: expected an address such as https://models.example.org/v1"
    if address.username or address.password or address.query:
        yield "address: it has a key or a password; name the environment variable of the key in key_variable"
    if judge.key_variable and not VARIABLE.fullmatch(judge.key_variable):
        yield "key_variable: expected the name of an environment variable, not the key itself"
    if judge.provider == "assay" and judge.model != TRAINED:
        yield f"model: provider assay has one model, {TRAINED}"
    if judge.prices.input < 0 or judge.prices.output < 0:
        yield "prices: a price is 0 or more"
