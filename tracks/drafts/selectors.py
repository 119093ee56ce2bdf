"""The pages of drafts of protocols: the start, and the form with its protocol in words, in TOML and in changes."""

import difflib
import re
import tomllib
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import QuerySet

from accounts.models import User
from assay.errors import plural
from assay.protocols.description import facts
from assay.protocols.loader import read_checked
from assay.structure import keys, table_in
from tracks.drafts.checks import Checked, Problem, check
from tracks.drafts.fields import Field, Form, Table, control_of, id_of, known_measures, value_in_words
from tracks.drafts.lines import lines_of
from tracks.drafts.named import name_of
from tracks.drafts.schema import (
    SECTIONS,
    Section,
    is_key,
    parent_of,
    section_of,
    spec_of,
    steps_of,
    value_at,
)
from tracks.drafts.wording import in_form_words
from tracks.guidelines.differences import Part, words_changed
from tracks.models import ProtocolDraft
from tracks.protocols.selectors import Card, protocol_groups, protocols

VIEWS = {"words": "In words", "toml": "TOML", "changes": "Changes"}
SENTENCE = re.compile(r"(?<=[.;]) |(?<=;\n)")
ASSIGNMENT = re.compile(r"(\s*)([\w\"'.-]+)(\s*=\s*)(.*)")


def drafts_of(user: User) -> QuerySet[ProtocolDraft]:
    """The drafts of a person, the last edited first."""
    return ProtocolDraft.objects.filter(owner=user).select_related("base")


@dataclass(frozen=True)
class StartPage:
    """The protocols to start from, by what is judged."""

    groups: Sequence[tuple[str, Sequence[Card]]]
    drafts: QuerySet[ProtocolDraft]
    search: str


def start_page(user: User, search: str) -> StartPage:
    """The protocols with all words of a search, and the drafts of a person."""
    return StartPage(protocol_groups(search), drafts_of(user), search)


class Tab(NamedTuple):
    """A section in the list: its state and its content in a word."""

    section: Section
    n_errors: int
    n_missing: int
    summary: str
    is_set: bool


class Mistake(NamedTuple):
    """An error with the field at which the form shows it, if one has it; `words` has the names of both."""

    problem: Problem
    section: Section
    field: str
    message: str
    words: str

    @property
    def target(self) -> str:
        return id_of(self.field) if self.field else "loose"


class Fact(NamedTuple):
    """The sentences under a heading, each with whether it is new; and whether they are those of the section."""

    heading: str
    sentences: Sequence[tuple[str, bool]]
    is_here: bool


class Code(NamedTuple):
    """A line of the TOML, in parts that are colored."""

    key: str
    equals: str
    value: str
    classes: str


@dataclass(frozen=True)
class Difference:
    """A key with another value than at the beginning; empty if it has none. `names`: those of the tables around it."""

    path: str
    names: Sequence[str]
    old: str
    new: str

    @property
    def label(self) -> str:
        """Its name in the form, such as `Relevant, Definition`."""
        has_label = is_key(self.path) and not self.path.endswith("]")
        return ", ".join([*self.names, *([spec_of(self.path).key.label] if has_label else [])])

    @property
    def section(self) -> Section:
        return section_of(self.path)

    @property
    def before(self) -> Sequence[Part]:
        return [part for part in self._parts if part.kind != "added"]

    @property
    def now(self) -> Sequence[Part]:
        return [part for part in self._parts if part.kind != "removed"]

    @cached_property
    def _parts(self) -> Sequence[Part]:
        return words_changed(self.old, self.new)


@dataclass(frozen=True)
class EditPage:
    """The editor. `fields` are those of the section; `loose` the errors there that no field has.

    `errors` are the mistakes, then what is to be filled in.
    """

    draft: ProtocolDraft
    title: str
    sections: Sequence[Tab]
    section: Section
    previous: Section | None
    following: Section | None
    place: int
    fields: Sequence[Field]
    loose: Sequence[Mistake]
    errors: Sequence[Mistake]
    mistakes: Sequence[Mistake]
    checked: Checked
    view: str
    is_text: bool
    views: Mapping[str, str]
    facts: Sequence[Fact]
    code: Sequence[Code]
    differences: Sequence[Difference]
    diff: str

    @property
    def top(self) -> Table:
        """The keys of the section, as those of a table."""
        return Table(self.fields)

    @property
    def has_keys(self) -> bool:
        """Return whether the TOML is in sight, so that its keys mean something."""
        return self.is_text or self.view == "toml"

    @property
    def shape(self) -> Mapping[str, object]:
        """The keys of the form: which are closed, and what they may have. Keys of tables open by errors."""
        return {
            note.path: (note.is_more, note.is_idle, [option[:2] for option in note.options])
            for note in self.notes
            if note.key != "key"
        }

    @property
    def known_measures(self) -> Mapping[str, str]:
        """The titles of all measures, by name, in the section that has a field for them."""
        return known_measures() if any(note.control == "measures" for note in self.notes) else {}

    @property
    def notes(self) -> Sequence[Field]:
        """The fields of the section, with those inside them."""
        return list(_with_inner_fields(self.fields))

    @property
    def keys(self) -> Sequence[Field]:
        """The fields of the section that follow from others, which the page fills in."""
        return [note for note in self.notes if note.path.rpartition(".")[2] in ("key", "slug")]


def edit_page(draft: ProtocolDraft, section: str, view: str, row: str = "") -> EditPage:
    """The editor. `row` is the key of a list that gets an empty row."""
    checked = check(draft.text)
    text = draft.good if checked.syntax else draft.text
    problems = [*_to_solve(checked.errors), *_slug_problems(draft, checked)]
    base = tomllib.loads(draft.base_text)
    data = tomllib.loads(text)
    known = {path for section in SECTIONS.values() for path in _paths(Form(data).section(section))}
    errors = [_error(problem, known, data) for problem in problems]
    errors.sort(key=lambda error: error.problem.is_missing)
    form = Form(data, base if draft.base else None, _by_field(errors), row)
    chosen = SECTIONS.get(section, SECTIONS["name"])
    fields = form.section(chosen)
    here = [error for error in errors if error.section == chosen and not error.field]
    order = [None, *SECTIONS.values(), None]
    place = order.index(chosen)
    return EditPage(
        draft=draft,
        title=str(form.data.get("title") or "New protocol"),
        sections=[_tab(section, form, errors) for section in SECTIONS.values()],
        section=chosen,
        previous=order[place - 1],
        following=order[place + 1],
        place=place,
        fields=fields,
        loose=[] if checked.syntax else here,
        errors=errors,
        mistakes=[error for error in errors if not error.problem.is_missing],
        checked=checked,
        view=view if view in VIEWS else "words",
        is_text=view == "text" or bool(checked.syntax),
        views=VIEWS,
        facts=list(_facts(checked, draft, chosen)),
        code=list(_code(draft, problems, chosen)),
        differences=list(differences(base, form.data)),
        diff="".join(_diff(draft)),
    )


def first_error(draft: ProtocolDraft) -> str:
    """The first error of a draft that has one."""
    return edit_page(draft, "", "").errors[0].words


def place_of_first_error(draft: ProtocolDraft, view: str = "") -> str:
    """The address of the first error of a draft; empty if it has none."""
    page = edit_page(draft, "", view)
    if not page.errors:
        return ""
    error = page.errors[0]
    target = "toml" if page.checked.syntax else error.target
    return f"{draft.get_absolute_url()}?section={error.section.name}&view={page.view}#{target}"


def _paths(fields: Sequence[Field]) -> list[str]:
    return [field.path for field in _with_inner_fields(fields)]


def _with_inner_fields(fields: Sequence[Field]) -> Iterator[Field]:
    """Fields with those inside them."""
    for field in fields:
        yield field
        yield from _with_inner_fields(field.fields)
        for item in field.items:
            yield from _with_inner_fields(item.fields)


def _to_solve(problems: Sequence[Problem]) -> list[Problem]:
    """Problems without those of keys that follow from labels; of a missing table, those of the keys that it needs."""
    problems = [part for problem in problems for part in _parts(problem)]
    missing = {problem.key for problem in problems if problem.is_missing}
    following = {f"{key.rpartition('.')[0]}.key" for key in missing if key.endswith((".label", ".title"))}
    following |= {"slug"} & missing if "title" in missing else set()
    return [problem for problem in problems if not problem.is_missing or problem.key not in following]


def _parts(problem: Problem) -> list[Problem]:
    if not problem.is_missing or not is_key(problem.key) or control_of(spec_of(problem.key)) != "table":
        return [problem]
    paths = (f"{problem.key}.{name}" for name in keys(table_in(spec_of(problem.key).hint)))
    return [problem._replace(key=path) for path in paths if spec_of(path).is_required]


def _slug_problems(draft: ProtocolDraft, checked: Checked) -> list[Problem]:
    """A complaint about a slug that another protocol has."""
    slug = value_at(tomllib.loads(draft.good), "slug")
    if checked.syntax or not isinstance(slug, str) or not protocols().filter(slug=slug).exists():
        return []
    return [Problem("slug", 1, f"there is already a protocol {slug}; choose another name")]


def _by_field(errors: Sequence[Mistake]) -> Mapping[str, Sequence[str]]:
    by_field: defaultdict[str, list[str]] = defaultdict(list)
    for error in errors:
        if not error.problem.is_missing:
            by_field[error.field].append(error.message)
    return by_field


def _error(problem: Problem, known: Container[str], data: Mapping[str, object]) -> Mistake:
    """An error in the words of the form: `Judging, Medium, Grade: two grades have the same value, 3`."""
    section, field, inner = section_of(problem.key), problem.key, []
    while field and field not in known:
        table = field.rpartition("[")[0] if field.endswith("]") else parent_of(field)
        inner.append(_name(field, data))
        field = table
    message = ": ".join([*reversed(inner), in_form_words(problem.message, problem.key)])
    names, path = [section.title], ""
    for key, n in steps_of(field):
        path = f"{path}.{key}".lstrip(".")
        if n is not None:
            path = f"{path}[{n}]"
            names.append(_name(path, data))
    names += [spec_of(field).key.label] if field else []
    words = ", ".join(dict.fromkeys(names))
    return Mistake(problem, section, field, message, words if problem.is_missing else f"{words}: {message}")


def _name(path: str, data: Mapping[str, object]) -> str:
    """The name of a table of a list, of a line of one, or of an entry."""
    (key, n), value = steps_of(path)[-1], value_at(data, path)
    if n is None:
        return key
    return (name_of(value) or f"{key} {n}") if isinstance(value, dict) else f"line {n}"


def _tab(section: Section, form: Form, errors: Sequence[Mistake]) -> Tab:
    own = [error.problem for error in errors if error.section == section and error.problem.key]
    n_missing = sum(problem.is_missing for problem in own)
    values = [value_at(form.data, key) for key in section.keys]
    return Tab(
        section,
        len(own) - n_missing,
        n_missing,
        _summary(section, form),
        any(value not in (None, {}, []) for value in values),
    )


def _summary(section: Section, form: Form) -> str:
    """The content of a section in a word."""
    counted = {
        "topics": ("topics.labels", "label"),
        "runs": ("runs.kind", "kind"),
        "judging": ("judging.grade", "grade"),
        "questions": ("judging.question", "question"),
        "measures": ("scoring.measures", "measure"),
    }
    if section.name not in counted:
        return "" if any(value_at(form.data, key) is not None for key in section.keys) else "none"
    path, noun = counted[section.name]
    value = value_at(form.data, path)
    n = len(value) if isinstance(value, (list, dict)) else 0
    return plural(n, noun) if n else "none"


def _facts(checked: Checked, draft: ProtocolDraft, section: Section) -> Iterator[Fact]:
    """The protocol in words."""
    if checked.protocol is None:
        return
    is_known = draft.base is not None and not draft.base.missing
    before = dict(facts(read_checked(draft.base_text, name=""))) if is_known else None
    for heading, words in facts(checked.protocol):
        old = None if before is None else [_bare(part) for part in SENTENCE.split(before.get(heading, ""))]
        sentences = [(part, old is not None and _bare(part) not in old) for part in SENTENCE.split(words)]
        yield Fact(heading, sentences, heading in section.headings)


def _bare(sentence: str) -> str:
    """A sentence, or an entry of a list, without what follows it there."""
    return sentence.rstrip(";\n")


def _code(draft: ProtocolDraft, problems: Sequence[Problem], section: Section) -> Iterator[Code]:
    """The lines of the text: which are new, which have an error, and which are those of the section."""
    text = draft.text.split("\n")[: -1 if draft.text.endswith("\n") else None]
    wrong = {problem.line for problem in problems}
    is_new = dict.fromkeys(range(1, len(text) + 1), draft.base is not None)
    matcher = difflib.SequenceMatcher(None, draft.base_text.split("\n"), text, autojunk=False)
    for block in matcher.get_matching_blocks():
        is_new |= dict.fromkeys(range(block.b + 1, block.b + block.size + 1), False)
    places: list[str] = []
    for known in lines_of(draft.text) if draft.good == draft.text else ():
        places += [known.path or known.table] * max(known.text.count("\n"), 1)
    for n, line in enumerate(text, 1):
        place = places[n - 1] if n <= len(places) else ""
        marks = {"new": is_new[n], "bad": n in wrong, "here": bool(place) and section_of(place) == section}
        classes = " ".join(name for name, holds in marks.items() if holds)
        parts = ASSIGNMENT.fullmatch(line)
        yield Code(parts[1] + parts[2], parts[3], parts[4], classes) if parts else Code("", line, "", classes)


def differences(old: Any, new: Any, path: str = "", names: Sequence[str] = ()) -> Iterator[Difference]:
    """The keys whose values differ; tables of lists are compared by their keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}".lstrip(".")
            words = names if is_key(inner) else [*names, key]
            yield from differences(old.get(key), new.get(key), inner, words)
    elif _is_tables(old) and _is_tables(new):
        before, after = (
            {str(table.get("key", n)): table for n, table in enumerate(tables)} for tables in (old, new)
        )
        for key in dict.fromkeys([*before, *after]):
            tables = after if key in after else before
            place, name = f"{path}[{list(tables).index(key) + 1}]", name_of(tables[key]) or key
            yield from differences(before.get(key), after.get(key), place, [*names, name])
        if list(before) != list(after) and before.keys() == after.keys():
            yield Difference(path, names, ", ".join(before), ", ".join(after))
    elif old != new:
        yield Difference(path, names, _briefly(old, path), _briefly(new, path))


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _briefly(value: Any, path: str) -> str:
    """A value in words; a list of tables by their keys."""
    tables = ", ".join(str(table.get("key", "")) for table in value) if _is_tables(value) else ""
    if tables or value is None:
        return tables
    return value_in_words(value, spec_of(path).key.values if is_key(path) else {})


def _diff(draft: ProtocolDraft) -> Iterator[str]:
    old, new = (text.splitlines(keepends=True) for text in (draft.base_text, draft.text))
    return difflib.unified_diff(old, new, draft.base.slug if draft.base else "empty", "draft", n=1)
