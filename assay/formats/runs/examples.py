"""What a run of a protocol looks like, in words: for the page of submission and for nobody's memory."""

from dataclasses import dataclass

from assay.formats.runs.reader import forms_of
from assay.formats.runs.rows import Form
from assay.formats.runs.rules import NOUNS
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
  run="Owls-main" contact="owls@example.org">
 <response number="T1">
  <cite score="0.9531" thread="harbour-17"
    post="p4" offset="120" length="38">
   The owls of the harbour sing at night.
  </cite>
 </response>
</bolt-ir-submission>""",
}


@dataclass(frozen=True, slots=True)
class FormHelp:
    """A form of run: its columns or elements, and a short example of ours."""

    title: str
    example: str
    is_lines: bool


def accepted_forms(protocol: Protocol) -> list[FormHelp]:
    """The forms that a run of the protocol may have."""
    return [FormHelp(form.title, EXAMPLES[form.name], isinstance(form, Form)) for form in forms_of(protocol)]


def rules_of(protocol: Protocol) -> list[str]:
    """What else is asked of a run, a sentence each."""
    rules, forms = protocol.runs, forms_of(protocol)
    one, several = NOUNS.get(protocol.unit, ("document", "documents"))
    said = [f"At most {rules.max_ranks} {several} a topic, each once."]
    if any(form.ties_stay for form in forms):
        said.append("The score decides the order; what ties stays in the order of the file.")
    else:
        said.append(
            f"The score decides the order; ties are broken by {one} id, descending, as trec_eval does."
        )
    if rules.min_score is not None and rules.max_score is not None:
        said.append(f"Scores lie between {rules.min_score:g} and {rules.max_score:g}.")
    if rules.max_passage_characters is not None:
        said.append(f"A passage has at most {rules.max_passage_characters} characters.")
    if rules.forbidden_fields:
        said.append(f"None of the fields {', '.join(rules.forbidden_fields)}: these are for assessors.")
    if rules.max_seconds_per_topic is not None:
        most = f"{rules.max_seconds_per_topic / 60:g} minutes"
        said.append(f"At most {most} for one topic: a second file gives the seconds of each.")
    said += [f"At most {most} {kind} runs of a team." for kind, most in rules.max_of_kind.items()]
    return said
