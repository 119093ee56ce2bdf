"""Guidelines about runs for participants and their programs, from the protocol alone.

`guide` is in Markdown, which pages render; `run_schema` is the JSON Schema of a line of JSON, with a generated answer
or a ranked document.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from assay.errors import plural
from assay.formats.runs.examples import accepted_forms, placeholders, rules_of, sample_run
from assay.formats.runs.records import LONGEST, NAMES
from assay.formats.runs.rows import MAX_NAME, MAX_TOPIC
from assay.formats.runs.rules import MANNERS, MAX_CITED, MAX_SENTENCES, AnswerForm, forms_of, scored_lines
from assay.protocols.schema import AnswerRules, Protocol

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]  # a JSON Schema, whose keys are those of the standard
NAME: Schema = {"type": ["string", "integer"], "pattern": r"^\S+$"}
N_TOPICS = 2  # of the example


def guide(
    protocol: Protocol,
    *,
    title: str = "",
    check: str = "",
    submit: str = "",
    schema: str = "",
    topics: Sequence[str] = (),
    narratives: Mapping[str, str] = MappingProxyType({}),
    more: Sequence[str] = (),
) -> str:
    """The guidelines in Markdown.

    Args:
        title: the heading; by default the title of the protocol.
        check: the command that checks a file; by default that of the library.
        submit: the command that submits it.
        schema: the command that prints the JSON Schema of a ranked document; by default that of the library.
        topics: the codes of the topics, if they are known.
        narratives: the texts of topics, which answers of some forms repeat.
        more: other rules, a sentence each.
    """
    forms = accepted_forms(protocol)
    kinds = [
        f"- `{kind.key}`{'' if kind.name == kind.key else f' ({kind.name})'}: "
        + (
            f"at most {plural(kind.max_per_team, 'run')} of a team"
            if kind.max_per_team
            else "any number of runs"
        )
        + ("." if kind.scored else ", not scored.")
        for kind in protocol.runs.kinds
        if kind.submitted_by == "teams"
    ]
    known = (
        [f"A run has lines for {len(topics):,} topics, from `{topics[0]}` to `{topics[-1]}`."]
        if topics
        else []
    )
    sentences = [*known, *rules_of(protocol), *more]
    _, example = sample_run(protocol, topics[:N_TOPICS] or ["T1", "T2"], placeholders(protocol), narratives)
    parts = [
        f"# {title or protocol.title}",
        f"The protocol `{protocol.slug}` accepts these runs. Check each file before you submit it:",
        _block("sh", check or f"assay check --protocol {protocol.slug} FILE"),
        "The exit status is 0 without errors. `--format json` prints the errors for a program.",
        *(["A member of a team submits a file, after `assay login`:", _block("sh", submit)] if submit else []),
        "## Format",
        "A file is one run in " + ("this form:" if len(forms) == 1 else "one of these forms:"),
        *(
            part
            for form in forms
            for part in (f"`{form.title}`" + (f", separated by {form.separated_by}:" if form.separated_by else ":"),
                         _block("", form.example))
        ),
        "## Rules",
        "\n".join(f"- {sentence}" for sentence in sentences),
        "## Kinds of runs",
        "\n".join(kinds),
        "## Example",
        "This file has no errors. Replace its documents by yours, and add the other topics.",
        _block("", example.decode().rstrip("\n")),
    ]  # fmt: skip
    if (of_line := run_schema(protocol)) is not None:
        is_long = scored_lines(forms_of(protocol)) is not None
        printing = _block("sh", schema or f"assay protocol runs {protocol.slug} --schema")
        parts += [
            "## JSON Schema of a line",
            "The check knows more than the schema, such as limits and the topics."
            + (" This prints the schema of a line of a run in JSON lines:" if is_long else ""),
            printing if is_long else _block("json", json.dumps(of_line, ensure_ascii=False, indent=1)),
        ]
    return "\n\n".join(parts) + "\n"


def _block(language: str, text: str) -> str:
    """A block of code; the fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def run_schema(protocol: Protocol) -> Schema | None:
    """The JSON Schema of a line of a run; None if the protocol accepts no JSON lines.

    It accepts whatever the check accepts without an error that the form alone causes.
    """
    forms = forms_of(protocol)
    lines = [_line(form, protocol.runs.answers) for form in forms if isinstance(form, AnswerForm)]
    lines += [_record()] * (scored_lines(forms) is not None)
    if not lines:
        return None
    start = {"$schema": DRAFT, "title": f"A line of a run for {protocol.slug}"}
    return start | (lines[0] if len(lines) == 1 else {"anyOf": lines})


def _record() -> Schema:
    """The schema of a ranked document. The first name of a field counts that the object has."""
    known = {field: NAME | {"maxLength": longest} for field, longest in LONGEST.items()}
    known["tag"] = {"anyOf": [{"type": "null"}, known["tag"]]}
    fields = []
    for field, names in NAMES.items():
        schema: Schema | bool = field == "tag"  # without any of the names
        for name in reversed(names):
            value = {"properties": {name: known.get(field, {"type": "number"})}}
            schema = {"if": {"required": [name]}, "then": value, "else": schema}
        fields.append(schema)
    return {"type": "object", "allOf": fields}


def _line(form: AnswerForm, rules: AnswerRules) -> Schema:
    """The schema of the object of one line. Other keys may be anything."""
    docno = {"type": "string", "pattern": r"^\S+$", "maxLength": MAX_CITED}
    text = {"type": "string", "pattern": r"\S"}
    most = MAX_NAME if rules.max_run_id is None else min(MAX_NAME, rules.max_run_id)
    places: Schema = {
        form.tag: NAME | {"maxLength": most},
        form.topic: NAME | {"maxLength": MAX_TOPIC},
    }
    if form.team:
        places[form.team] = NAME | {"maxLength": MAX_NAME}
    if form.kind:
        places[form.kind] = {"enum": list(MANNERS)}
    places |= {place: {"not": {"enum": [None, ""]}} for place in form.needed} | dict.fromkeys(
        form.texts, text
    )
    if form.has_references:
        references: Schema = {"type": "array", "items": docno}
        if not form.is_lenient:
            references["uniqueItems"] = True
        if rules.max_references is not None:
            references["maxItems"] = rules.max_references
        places["references"] = references
    cited = [{"type": "integer", "minimum": 0}] * form.has_indexes + [docno] * form.has_ids
    citations: list[Schema] = [{"type": "array", "items": cited[0] if len(cited) == 1 else {"anyOf": cited}}]
    if form.has_scores:
        citations.append({"type": "object", "additionalProperties": {"type": "number"}})
    sentence = {
        "type": "object",
        "properties": {"text": text, "citations": citations[0] if len(citations) == 1 else {"anyOf": citations}},
        "required": ["text", "citations"],
    }  # fmt: skip
    least = 0 if form.is_lenient else 1
    places[form.sentences] = {
        "type": "array",
        "items": sentence,
        "minItems": least,
        "maxItems": MAX_SENTENCES,
    }
    schema: Schema = {"type": "object", "properties": {}, "required": []}
    for place, value in places.items():
        outer, _, key = place.rpartition(".")
        inside = schema
        if outer:
            if outer not in schema["properties"]:
                schema["properties"][outer] = {"type": "object", "properties": {}, "required": []}
                schema["required"].append(outer)
            inside = schema["properties"][outer]
        inside["properties"][key] = value
        inside["required"].append(key)
    return schema
