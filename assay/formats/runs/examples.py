"""Describes the runs that a protocol accepts, for the submission page."""

from dataclasses import dataclass

from assay.formats.runs.forms import LineForm, RunForm, forms_of
from assay.formats.runs.rules import NOUNS, unit_of
from assay.protocols.description import limits_of
from assay.protocols.schema import Protocol

EXAMPLES = {
    "arqmath-5": "A.1\t2817\t1\t0.9531\tOwls-main",
    "arqmath-6": "B.1\t905131\t2817\t1\t0.9531\tOwls-main",
    "trec-6": "T1\tQ0\tdoc-17\t1\t0.9531\tOwls-main",
    "ntcir-xml": """<results>
 <run runtag="Owls-main">
  <result for="M-1">
   <hit xref="Group_(mathematics):3" rank="1" score="0.9531"/>
  </result>
 </run>
</results>""",
    "bolt-xml": """<bolt-ir-submission team="Owls"
  date="2026-11-20" eval="P3" subtask="main"
  run="evaluation" contact="owls@example.org">
 <response number="T1">
  <cite score="0.9531" thread="harbor-17"
    post="p4" offset="120" length="38">
   The owls of the harbor sing at night.
  </cite>
 </response>
</bolt-ir-submission>""",
}


@dataclass(frozen=True, slots=True)
class FormHelp:
    """A form of run: its columns or elements, and a short example."""

    title: str
    example: str
    separated_by: str  # what separates the columns of lines; empty for XML


def accepted_forms(protocol: Protocol) -> list[FormHelp]:
    """The forms that the protocol accepts."""
    forms = forms_of(protocol)
    return [
        FormHelp(form.title, _example(form), form.separated_by if isinstance(form, LineForm) else "")
        for form in forms
    ]


def _example(form: RunForm) -> str:
    """A short example of a form; that of described columns is a line of theirs."""
    if isinstance(form, LineForm) and form.name == "columns":
        return form.line(b"T1", b"doc-17", 1, 0.9531, b"Owls-main", b"post-3").decode().rstrip()
    return EXAMPLES[form.name]


def _ties(forms: list[RunForm], noun: str) -> str:
    """How equal scores are ordered."""
    ties = {form.ties for form in forms}
    if "file" in ties:
        return "Ties keep the order of the file."
    if "rank" in ties:
        return "Ties are ordered by the rank column."
    return f"Ties are ordered by {noun} id, descending, as in trec_eval."


def _deciding(forms: list[RunForm]) -> str:
    """Which column orders the documents."""
    without_score = [form for form in forms if isinstance(form, LineForm) and form.score is None]
    if not without_score:
        return "The score decides the order."
    if len(without_score) == len(forms):
        return "The rank decides the order."
    return "The score decides the order; the rank in files without scores."


def rules_of(protocol: Protocol) -> list[str]:
    """The other rules for a run, one sentence each."""
    rules, forms = protocol.runs, forms_of(protocol)
    noun, plural = NOUNS.get(unit_of(protocol), ("document", "documents"))
    sentences = [f"Give at most {rules.max_ranks} {plural} per topic, each of them once."]
    sentences.append(f"{_deciding(forms)} {_ties(forms, noun)}")
    if rules.columns is not None and rules.columns.labels:
        words = [
            f"{word} ({'' if means else 'not '}relevant)" for word, means in rules.columns.labels.items()
        ]
        sentences.append(f"Labels are {' or '.join(words)}; they do not change the order.")
    if rules.min_score is not None and rules.max_score is not None:
        sentences.append(f"Scores are between {rules.min_score:g} and {rules.max_score:g}.")
    if rules.max_passage_characters is not None:
        sentences.append(f"A passage has at most {rules.max_passage_characters} characters.")
    if rules.forbidden_fields:
        sentences.append(f"Leave out the fields {', '.join(rules.forbidden_fields)}: assessors fill them in.")
    if rules.max_seconds_per_topic is not None:
        most = f"{rules.max_seconds_per_topic / 60:g} minutes"
        sentences.append(
            f"A topic takes at most {most}. Submit a second file with the seconds of each topic."
        )
    sentences += [f"{kind.name.capitalize()} runs are not scored." for kind in rules.kinds if not kind.scored]
    sentences += limits_of(rules.kinds)
    return sentences
