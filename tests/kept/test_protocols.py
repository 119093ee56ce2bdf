"""Protocols, samples and the JSON Schema stay byte by byte, and so do the messages about wrong protocols."""

import re
from collections.abc import Iterator

import pytest

import assay_extensions.battles  # noqa: F401 -- a sample needs it, so the tests do
from assay import samples
from assay.cli.main import main
from assay.digests import sha256_of
from assay.errors import InputError
from assay.protocols.loader import parse_protocol, shipped_slugs, shipped_text
from tests.helpers import kept

OWN = [name for name in samples.names() if name.endswith("-lab.toml") or name == "protocol.toml"]
KEY = re.compile(r"^(\w+) = (.*)$")
MISTAKES = {
    "another key": lambda key, value: f"{key}x = {value}",
    "another type": lambda key, value: f'{key} = "words"' if value[0] in "[{tf0123456789" else f"{key} = 7",
    "no key": lambda key, value: "",
}


def test_protocols_and_samples(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        assert main(["protocol", *words]) == 0
        return sha256_of(capsys.readouterr().out.encode())

    shown = {slug: slug for slug in shipped_slugs()} | {name: str(samples.path(name)) for name in OWN}

    kept.check(
        "protocols.json",
        {
            "JSON Schema": printed("schema"),
            "protocols in words": {name: printed("show", word) for name, word in shown.items()},
            "samples": {name: sha256_of(samples.path(name).read_bytes()) for name in samples.names()},
            "shipped protocols": {slug: sha256_of(shipped_text(slug).encode()) for slug in shipped_slugs()},
        },
    )


def messages() -> Iterator[str]:
    """The messages about three mistakes in each key, in the first protocol that has it."""
    texts = {slug: shipped_text(slug) for slug in shipped_slugs()}
    texts |= {name: samples.path(name).read_text() for name in OWN}
    seen = set()
    for name, text in texts.items():
        lines, table = text.split("\n"), ""
        for number, line in enumerate(lines):
            if line.startswith("["):
                table = line
            match = KEY.match(line)
            if (
                match is None
                or (table, match[1]) in seen
                or line.count('"""') == 1
                or line.endswith(("[", "{"))
            ):
                continue
            seen.add((table, match[1]))
            for mistake, change in MISTAKES.items():
                wrong = [*lines[:number], change(*match.groups()), *lines[number + 1 :]]
                about = message("\n".join(wrong), name)
                yield f"{table} {match[1]}, {mistake}: {about}"


def message(text: str, name: str) -> str:
    try:
        parse_protocol(text, name=name)
    except InputError as error:
        return str(error)
    return f"{name}: no error"


def test_messages_about_wrong_protocols() -> None:
    kept.check("messages.json", sorted(messages()))
