"""The rules of a protocol that its types do not state: ranges, and keys that contradict each other or have no effect.

A complaint begins with the key, as in `runs.kind[2].depth: 0 is below 1`; `[2]` is the second of the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from assay.errors import plural
from assay.extensions import Registry
from assay.protocols import schema
from assay.protocols.form_rules import (
    KEY,
    MAX_KIND,
    NOT_A_KEY,
    NOT_A_SLUG,
    SLUG,
    form_table_complaints,
    is_slug,
    question_and_set_complaints,
)
from assay.protocols.measures import FAMILIES, Measure, MeasureError, parse_measure, qrels_of
from assay.protocols.pair_rules import pair_complaints
from assay.protocols.qrels import HIGHEST_GRADE, highest_of, kind_in
from assay.protocols.run_answers import run_question_complaints
from assay.protocols.schema import JudgingRules, Protocol, QrelsSet
from assay.protocols.schema.naming import PLACE, PLACES
from assay.protocols.strategies import POOL_STRATEGIES
from assay.protocols.units import BY_LAYOUT, FORMULAS
from assay.structure import line_complaints, shown

MAX_SLUG = 100  # characters, the limit of the database column
MAX_MEASURE = 50  # characters of the name of a measure, the limit of the database column
WORD = re.compile(r"[^\s,;]{1,50}")
FREE_ATTRIBUTES = ("eval", "subtask")  # of a submission in bolt-xml, whose values a protocol may list
LAYOUTS_OF_ANSWERS = [name for name, unit in BY_LAYOUT.items() if "generated-answer" in unit.kinds]
MAX_TAG = 100  # characters


def complaints(protocol: Protocol) -> Iterator[str]:
    """Yield each error of a protocol with its key: `runs.max_ranks: 0 is below 1`."""
    slug, title = protocol.slug, protocol.title
    if not SLUG.fullmatch(slug):
        yield f"slug: expected lower-case letters, digits and single hyphens, got {slug!r}"
    if len(slug) > MAX_SLUG:
        yield f"slug: {len(slug)} characters long; at most {MAX_SLUG} are accepted"
    yield from line_complaints("title", title)
    if not protocol.source.strip():
        yield "source: empty; cite the publication with the figures"
    if not protocol.runs.formats and not protocol.runs.kinds and protocol.pool.strategy == "rows":
        if protocol.scoring.all_measures:
            yield "scoring.measures: have no effect without [runs], because nothing is scored; leave [scoring] out"
        if protocol.interaction is not None:
            yield "interaction: has no effect without [runs]; leave it out"
    else:
        yield from _run_complaints(protocol.runs)
    yield from _use_complaints(protocol.runs)
    interaction, runs, names = protocol.interaction, protocol.runs, ("", *protocol.scoring.measures)
    if interaction is not None:
        if interaction.run_kind not in runs.keys:
            yield f"interaction.run_kind: {interaction.run_kind!r} is not a kind of run; use {', '.join(runs.keys)}"
        if interaction.measure not in names:
            yield f"interaction.measure: {interaction.measure} is not one of scoring.measures: {', '.join(names[1:])}"
    yield from _column_complaints(protocol.runs)
    for n, kind in enumerate(protocol.runs.kinds):
        yield from _kind_complaints(kind, protocol.runs, n)
    yield from _phase_and_question_complaints(protocol.runs)
    yield from _answer_complaints(protocol)
    yield from _qrels_column_complaints(protocol)
    yield from _pool_and_layout_complaints(protocol)
    yield from form_table_complaints(protocol)
    yield from pair_complaints(protocol)
    yield from _choice_complaints(protocol.judging)
    yield from _grade_complaints(protocol.judging)
    yield from _code_complaints(protocol)
    yield from question_and_set_complaints(protocol)
    yield from _scoring_complaints(protocol)


def _run_complaints(runs: schema.RunRules) -> Iterator[str]:
    if runs == schema.NO_RUNS:
        yield 'runs: missing; this key is required, except with pool.strategy = "rows"'
        return
    formats = runs.formats
    if not formats:
        yield f"runs.formats: empty; use some of {', '.join(schema.RUN_FORMATS)}"
    if len(set(formats)) != len(formats):
        yield "runs.formats: a format is listed twice"
    if {"arqmath-6", "trec-6"} <= set(formats):
        yield "runs.formats: arqmath-6 and trec-6 both have six columns and cannot be distinguished; use one"
    if runs.max_ranks < 1:
        yield f"runs.max_ranks: {runs.max_ranks} is below 1"
    if not runs.kinds:
        yield "runs.kind: empty; describe at least one kind of run"
    if runs.kinds and not runs.scored_keys:
        yield "runs.kind: no kind is scored; leave out `scored = false` in at least one"


def _use_complaints(runs: schema.RunRules) -> Iterator[str]:
    for name, values in runs.attributes.items():
        if name not in FREE_ATTRIBUTES or not values:
            yield f"runs.attributes: {shown(name)} is not accepted; list values of {' or '.join(FREE_ATTRIBUTES)}"
    for key, words in (("uses", runs.uses), ("documents", runs.documents)):
        for word, title in words.items():
            if not is_slug(word):
                yield f"runs.{key}: {shown(word)} {NOT_A_SLUG}"
            yield from line_complaints(f"runs.{key}.{word}", title)


def _column_complaints(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about the columns of runs, and about the order of ties."""
    lines, needs_rank = runs.columns, runs.ties == "rank"
    if (lines is not None) != ("columns" in runs.formats):
        yield "runs.columns: the table describes the format columns of runs.formats; use both, or neither"
    has_ranks = any(
        name != "bolt-xml" and (name != "columns" or lines is None or "rank" in lines.order)
        for name in runs.formats
    )
    if runs.out_of_range_ranks == "error" and not has_ranks:
        yield "runs.out_of_range_ranks: no format of runs.formats has ranks; leave the key out"
    if needs_rank and "bolt-xml" in runs.formats:
        yield "runs.ties: bolt-xml has no ranks; use docno or file"
    yield from _tag_complaints(runs)
    if lines is None:
        return
    order = lines.order
    if lines.topic and (len(lines.topic.split()) != 1 or len(lines.topic.encode()) > MAX_TAG):
        yield f"runs.columns.topic: {shown(lines.topic)} is not one word of at most {MAX_TAG} bytes"
    if lines.topic and "topic" in order:
        yield "runs.columns.topic: runs.columns.order has a column with the topic; use one of them"
    yield from _order_complaints("runs.columns.order", ("topic", *order) if lines.topic else order)
    if not {"score", "rank"} & set(order) and runs.max_ranks != 1:
        yield (
            "runs.columns.order: names neither score nor rank, which order the documents; add one of them, or set "
            "runs.max_ranks to 1"
        )
    if needs_rank and "rank" not in order:
        yield "runs.ties: runs.columns.order has no rank; use docno or file"
    if ("label" in order) != bool(lines.labels):
        yield "runs.columns.labels: name the words of the column label, or use neither"
    yield from _word_complaints("runs.columns.labels", lines.labels)
    yield from _header_complaints("runs.columns", lines)


def _tag_complaints(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about the rules for tags and for the second column."""
    if runs.second_column and "trec-6" not in runs.formats:
        yield "runs.second_column: runs.formats has no trec-6; leave the key out"
    if runs.second_column and len(runs.second_column.split()) != 1:
        yield f"runs.second_column: {shown(runs.second_column)} is not one word"
    if runs.max_tag is not None and not 0 < runs.max_tag <= MAX_TAG:
        yield f"runs.max_tag: {runs.max_tag} is not accepted; use 1 to {MAX_TAG}"
    if any(character.isspace() for character in runs.tag_characters or ""):
        yield "runs.tag_characters: white space cannot be in a tag; leave it out"
    yield from _scheme_complaints(runs)


def _scheme_complaints(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about the naming scheme of tags."""
    key, scheme, places = "runs.tag_pattern", runs.tag_pattern, PLACE.findall(runs.tag_pattern)
    accepted = ", ".join(f"{{{place}}}" for place in PLACES)
    if not scheme:
        return
    if unknown := [place for place in places if place not in PLACES]:
        yield f"{key}: {{{unknown[0][:40]}}} is not a place; use {accepted}"
    elif not places or set("{}") & set(PLACE.sub("", scheme)):
        yield f"{key}: {shown(scheme)} has no places, or a brace outside of one; use {accepted}"
    elif len(set(places)) < len(places):
        yield f"{key}: {shown(scheme)} has a place twice; use each once"
    elif len(scheme) > MAX_TAG or len(scheme.split()) != 1:
        yield f"{key}: {shown(scheme)} is not one word of at most {MAX_TAG} characters"
    elif "topics" in places and not all(runs.phase_of(kind.key).split for kind in runs.kinds):
        yield f"{key}: {{topics}} needs a phase with a split for each kind; leave it out"
    elif reason := runs.why_not_tag(runs.example_tag()):
        yield f"{key}: the tag {runs.example_tag()} {reason}"


def _order_complaints(key: str, order: tuple[str, ...]) -> Iterator[str]:
    for column in dict.fromkeys(order):
        if column != "skip" and order.count(column) > 1:
            yield f"{key}: {column} is listed twice"
    for column, meaning in (("topic", "code of the topic"), ("docno", "id of what a run retrieves")):
        if column not in order:
            yield f"{key}: {column} is missing, the {meaning}"


def _header_complaints(table: str, lines: schema.RunLines | schema.QrelsLines) -> Iterator[str]:
    key, names = f"{table}.header", lines.header
    if names and len(names) != len(lines.order):
        n = len(lines.order)
        yield f"{key}: {plural(len(names), 'name')}, but {table}.order has {plural(n, 'column')}; name each of them"
    for name in names:
        yield from line_complaints(key, name, "name")
        if lines.separator == "white-space" and len(name.split()) > 1:
            yield f"{key}: {shown(name)} contains white space, which separates the columns; set {table}.separator"
    folded = [name.casefold() for name in names]
    for name in sorted({name for name in folded if folded.count(name) > 1}):
        yield f"{key}: {shown(name)} is listed twice"


def _word_complaints(key: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if not WORD.fullmatch(word):
            yield f"{key}: {shown(word)} is not one word of at most 50 characters without separators"


def _key_and_title_complaints(
    part: schema.RunKind | schema.Phase,
    earlier: Iterable[schema.RunKind | schema.Phase],
    place: str,
    noun: str,
) -> Iterator[str]:
    if part.key in [other.key for other in earlier]:
        yield f"{place}.key: {part.key!r} is the key of two {noun}"
    if not is_slug(part.key):
        yield f"{place}.key: {shown(part.key)} {NOT_A_SLUG}, at most {MAX_KIND} characters"
    if not part.title.isprintable() or part.title != part.title.strip():
        yield f"{place}.title: {shown(part.title)} is not one line of text"


def _kind_complaints(kind: schema.RunKind, runs: schema.RunRules, n: int) -> Iterator[str]:
    place, depth = f"runs.kind[{n + 1}]", kind.depth
    yield from _key_and_title_complaints(kind, runs.kinds[:n], place, "kinds")
    if depth is not None and not 1 <= depth <= runs.max_ranks:
        not_pooled = "; leave the key out if runs of the kind are not pooled" if depth < 1 else ""
        yield f"{place}.depth: {depth} is below 1 or above runs.max_ranks, {runs.max_ranks}{not_pooled}"
    least, most = kind.min_per_team, kind.max_per_team
    if most is not None and most < 1:
        yield f"{place}.max_per_team: {most} is below 1"
    if least < 0 or (most is not None and least > max(most, 0)):
        yield f"{place}.min_per_team: {least} is {'below 0' if least < 0 else f'above max_per_team, {most}'}"
    if least and kind.submitted_by == "organizers":
        yield f"{place}.min_per_team: has no effect, because only organizers submit runs of the kind"
    if depth is not None and kind.pooled_as:
        yield f"{place}.pooled_as: the kind has a depth of its own; use one of the two keys"
    if kind.oracles and not kind.baseline:
        yield f"{place}.oracles: the kind is not one of baselines; add baseline = true"
    if kind.pooled_as_by_tag and not kind.pooled_as:
        yield f"{place}.pooled_as_by_tag: state in pooled_as how the runs with other tags are pooled"
    named = {"pooled_as": kind.pooled_as} if kind.pooled_as else {}
    named |= {f"pooled_as_by_tag.{tag}": other for tag, other in kind.pooled_as_by_tag.items()}
    accepted = f"use {', '.join(runs.depths)}" if runs.depths else "no kind has one"
    yield from (
        f"{place}.{key}: {other!r} is not a kind with a depth; {accepted}"
        for key, other in named.items()
        if other not in runs.depths
    )


def _phase_and_question_complaints(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about phases, and about questions of runs."""
    yield from run_question_complaints(runs)
    keys = [phase.key for phase in runs.phases]
    for n, kind in enumerate(runs.kinds, 1):
        if kind.phase not in ("", *keys):
            phases = ", ".join(keys) or "describe it as [[runs.phase]]"
            yield f"runs.kind[{n}].phase: {shown(kind.phase)} is not a phase of the protocol; use {phases}"
    for n, phase in enumerate(runs.phases):
        place, kinds = f"runs.phase[{n + 1}]", runs.kinds_of(phase)
        yield from _key_and_title_complaints(phase, runs.phases[:n], place, "phases")
        if not kinds:
            yield f"{place}: no kind of run belongs to it; write `phase = {phase.key!r}` in a kind"
        if phase.max_per_day is not None and phase.max_per_day < 1:
            yield f"{place}.max_per_day: {phase.max_per_day} is below 1"
        yield from _board_complaints(phase, runs, place)


def _board_complaints(phase: schema.Phase, runs: schema.RunRules, place: str) -> Iterator[str]:
    """Complaints about a board of a phase, which must reveal nothing about topics that are still blind."""
    if phase.after_closing and not phase.has_board:
        yield f'{place}.scores: runs after closing are on a board of their own; use "team", "teams" or "everybody"'
    pooled = [kind.key for kind in runs.kinds if kind.phase == phase.key and (kind.depth or kind.pooled_as)]
    if phase.has_board and pooled:
        yield f"{place}.scores: runs with scores at once are in no pool; remove the depth of {', '.join(pooled)}"
    if not phase.has_board or phase.after_closing:
        return
    if not phase.split:
        yield f"{place}.split: missing; scores at once are about a split of the topics"
        return
    others = [runs.phase_of(kind) for kind in runs.scored_keys]
    if blind := next((other for other in others if other.split in {phase.split, ""}), None):
        whose = f"the phase {blind.key}" if blind.key else "the kinds without a phase"
        yield (
            f"{place}.split: {whose} would have the same topics, whose scores are secret until the release; give each "
            "a split of its own"
        )


def _answer_complaints(protocol: Protocol) -> Iterator[str]:
    """Complaints about generated answers, whose keys belong together."""
    own, is_own = "'generated-answer'", protocol.is_of_answers
    layout = protocol.judging.layout
    of_answers = {
        strategy.name: strategy.layouts for strategy in POOL_STRATEGIES.values() if strategy.layouts
    }
    fitting = [name for name, layouts in of_answers.items() if layout in layouts] or [*of_answers]
    pooled = protocol.pool.strategy
    for key, value, fits in (
        *(("runs.formats", name, name in schema.ANSWER_FORMATS) for name in protocol.runs.formats),
        ("pool.strategy", pooled, pooled in (fitting if is_own else of_answers)),
        ("judging.layout", layout, "generated-answer" in protocol.judged.kinds),
    ):
        if fits and not is_own:
            yield f"{key}: {value!r} is for unit = {own}, but unit is {protocol.unit!r}"
        if is_own and not fits:
            names = {"pool.strategy": fitting, "judging.layout": LAYOUTS_OF_ANSWERS}.get(
                key, schema.ANSWER_FORMATS
            )
            yield f"{key}: {value!r} does not fit unit = {own}; use {', '.join(names)}"
    for n, phase in enumerate(protocol.runs.phases):
        if is_own and phase.has_board:
            yield f"runs.phase[{n + 1}].scores: people judge the answers of each run; leave the key out"
    if is_own and protocol.runs.max_ranks != 1:
        yield f"runs.max_ranks: {protocol.runs.max_ranks}, but a run has one answer per topic; use 1"
    is_used = (protocol.runs.answers, protocol.nuggets) != (schema.AnswerRules(), schema.NuggetRules())
    if not is_own and (is_used or protocol.pool.order == "by-answer"):
        yield f"unit: runs.answers, nuggets and pool.order = 'by-answer' are for unit = {own}; leave them out"
    rules, labels = protocol.runs.answers, protocol.topics.labels
    for table, table_rules, keys in (
        ("runs.answers", rules, ("max_words", "max_characters", "max_references", "max_run_id", "citations")),
        ("nuggets", protocol.nuggets, ("most", "max_words")),
    ):
        for key in keys:
            value = getattr(table_rules, key)
            if value is not None and value < 1:
                yield f"{table}.{key}: {value} is below 1"
    if rules.characters_label and rules.characters_label not in labels:
        accepted = ", ".join(labels) or "topics.labels to add it"
        yield f"runs.answers.characters_label: {rules.characters_label!r} is not a label of topics; use {accepted}"


def _qrels_column_complaints(protocol: Protocol) -> Iterator[str]:
    lines = protocol.qrels.columns
    if lines is None:
        return
    yield from _order_complaints("qrels.columns.order", lines.order)
    if "grade" not in lines.order:
        yield "qrels.columns.order: grade is missing, the number or word of the grade"
    yield from _word_complaints("qrels.columns.words", lines.words)
    yield from _header_complaints("qrels.columns", lines)
    values = {grade.value for grade in protocol.judging.grades}
    for word, value in lines.words.items():
        if value not in values:
            accepted = ", ".join(map(str, sorted(values)))
            yield f"qrels.columns.words.{word}: {value} is not the value of a grade; use {accepted}"


def _depth_complaints(strategy: str, runs: schema.RunRules) -> Iterator[str]:
    depth = POOL_STRATEGIES[strategy].depth
    if depth == "required" and not any(runs.depths.values()):
        yield f"runs.kind: the strategy {strategy} needs a depth above 0 for some kind of run"
    for n, kind in enumerate(runs.kinds, 1):
        if depth == "never" and kind.depth is not None:
            yield f"runs.kind[{n}].depth: the strategy {strategy} takes no depth; leave it out"


def _pool_and_layout_complaints(protocol: Protocol) -> Iterator[str]:
    """Complaints about the pool, and about the page that shows its units."""
    pool, instances, layout, unit = protocol.pool, protocol.instances, protocol.judging.layout, protocol.unit
    strategy, overlap = pool.strategy, pool.near_duplicate_overlap
    for problem in _unlisted(POOL_STRATEGIES, strategy, protocol):
        yield f"pool.strategy: {problem}"
    yield from _depth_complaints(strategy, protocol.runs)
    if strategy in {"round-robin-until", "battles"} and (pool.target or 0) <= 0:
        yield f"pool.target: the strategy {strategy} needs a number of units above 0"
    if overlap is not None and not 0 < overlap <= 1:
        yield f"pool.near_duplicate_overlap: {overlap} is not above 0 and at most 1"
    if instances.strategy is not None and (instances.limit or 0) <= 0:
        yield f"instances.limit: the strategy {instances.strategy} needs a limit above 0"
    if protocol.judged.is_formula and unit not in FORMULAS:
        accepted = "question-answer or topic-document" + (" or citation" if unit == "passage" else "")
        yield f"judging.layout: {layout!r} shows formulas, but unit is {unit!r}; use {accepted}"
    if layout == "citation" and unit != "passage":
        yield f"judging.layout: 'citation' shows passages, but unit is {unit!r}; use topic-document"
    if (layout == "form") != (strategy == "rows"):
        yield "judging.layout: the layout form shows rows, and rows have no other; use both, or neither"
    if protocol.judging.judges < 1:
        yield f"judging.judges: {protocol.judging.judges} is below 1"


def _unlisted(registry: Registry[Any], name: str, protocol: Protocol) -> Iterator[str]:
    """A complaint about a name that an extension adds which the protocol does not list."""
    extension = registry.extension_of(name)
    if extension and extension not in protocol.extensions:
        listed = ", ".join(f'"{each}"' for each in (*protocol.extensions, extension))
        yield (
            f"{name} is of the extension {extension}; write extensions = [{listed}] before the first table"
        )


def _choice_complaints(judging: JudgingRules) -> Iterator[str]:
    """Complaints about grades and non-answers; `judging.grade[2]` is the second grade of the file."""
    if not (judging.given_grades or judging.judged.has_votes) and not (
        judging.form and (judging.questions or judging.form.frame)
    ):
        yield "judging.grade: a protocol needs at least one grade; only a form may have questions alone"
    for n, (place, choice) in enumerate(judging.placed_choices):
        yield from (
            f"{place}.{key}: {word!r} is used by two choices"
            for key in ("key", "shortcut")
            if (word := getattr(choice, key))
            and word in [getattr(other, key) for other in judging.choices[:n]]
        )
        if not KEY.fullmatch(choice.key):
            yield f"{place}.key: {shown(choice.key)} {NOT_A_KEY}"
        if not choice.label.strip():
            yield f"{place}.label: empty; write the text of the button"
        if not choice.definition.strip():
            yield f"{place}.definition: empty; tell assessors when to choose it"
        if len(choice.shortcut) > 1:
            yield f"{place}.shortcut: {choice.shortcut!r} is not one key, such as 1 or x"


def _grade_complaints(judging: JudgingRules) -> Iterator[str]:
    values = [grade.value for grade in judging.grades]
    for n, value in enumerate(values):
        place = f"judging.grade[{n + 1}].value"
        if value in values[:n]:
            yield f"{place}: two grades have the same value, {value}"
        if value < 0:
            yield (
                f"{place}: {value} is below 0; describe the choice as one of [[judging.non_answer]]. Qrels may have "
                "negative grades: pooled, without a grade"
            )
        if value > HIGHEST_GRADE:
            yield f"{place}: {value} is above {HIGHEST_GRADE}"


def _code_complaints(protocol: Protocol) -> Iterator[str]:
    """Complaints about codes of non-answers, which must differ from each other and from all grades."""
    grades = {grade.value for grade in protocol.judging.grades}
    if protocol.qrels.aggregate == "sum" and grades:
        grades = set(range(protocol.judging.judges * max(grades) + 1))
    codes = [choice.qrels_code for choice in protocol.judging.non_answers]
    for n, code in enumerate(codes):
        place = f"judging.non_answer[{n + 1}].qrels_code"
        if code is not None:
            if code in codes[:n]:
                yield f"{place}: two non-answers have the same qrels_code, {code}"
            if code < 0:
                yield f"{place}: {code} is below 0; leave the key out: a negative grade in qrels always means no grade"
            if code > HIGHEST_GRADE:
                yield f"{place}: {code} is above {HIGHEST_GRADE}"
            if 0 <= code <= HIGHEST_GRADE and code in grades:
                yield f"{place}: {code} is a grade of the qrels"


def _scoring_complaints(protocol: Protocol) -> Iterator[str]:
    """Complaints about the measures, and about the grades from which a unit is relevant."""
    names, keys = protocol.scoring.all_measures, ["", *(qrels_set.key for qrels_set in protocol.qrels.sets)]
    judges = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
    highest = judges * max((grade.value for grade in protocol.judging.grades), default=0)
    highest = HIGHEST_GRADE if protocol.judged.has_votes else highest
    measures: defaultdict[str, list[Measure]] = defaultdict(list)
    if protocol.scoring == schema.ScoringRules(()) and protocol.runs != schema.NO_RUNS:
        yield 'scoring: missing; this key is required, except with pool.strategy = "rows"'
    elif not protocol.scoring.measures and protocol.runs != schema.NO_RUNS:
        yield "scoring.measures: empty; name at least one measure of the grades, without the key of a set"
    for n, full_name in enumerate(names, 1):
        key, _, name = full_name.rpartition(":")
        if key not in keys:
            accepted = f"use {', '.join(keys[1:])}" if keys[1:] else "the protocol has no [[qrels.set]]"
            yield f"scoring.measures[{n}]: {key!r} is not a set of qrels; {accepted}"
            continue
        of_set, level = protocol.qrels.set_of(key), protocol.scoring.relevant_from
        limits = (of_set.relevant_from, highest_of(protocol, of_set)) if of_set else (level, highest)
        try:
            measure = parse_measure(name)
        except MeasureError as error:
            yield f"scoring.measures[{n}]: {error}"
        else:
            measures[key].append(measure)
            yield from (
                f"scoring.measures[{n}]: {problem}"
                for problem in _measure_complaints(protocol, measure, name, *limits)
            )
            yield from _qrels_kind_complaints(protocol, measure, of_set, f"scoring.measures[{n}]")
    for key, of_qrels in measures.items():
        try:
            qrels_of(of_qrels)
        except MeasureError as error:
            yield f"scoring.measures: {key}{': ' * bool(key)}{error}"
    highest = max(1, highest)
    levels = {
        "qrels.relevant_from": protocol.qrels.relevant_from,
        "scoring.relevant_from": protocol.scoring.relevant_from,
        "agreement.binary_from": protocol.agreement.binary_from,
    }
    for key, level in levels.items():
        if level > highest:
            yield f"{key}: {level} is above the highest grade of the qrels, {highest}"


def _qrels_kind_complaints(
    protocol: Protocol, measure: Measure, of_set: QrelsSet | None, place: str
) -> Iterator[str]:
    """A complaint about a measure of a set of qrels that needs more than the set has."""
    needed = FAMILIES[measure.family].qrels
    kind = kind_in(protocol, of_set or protocol.qrels)
    if protocol.judged.has_votes and needed not in ("grades", kind):
        yield f"{place}: {measure} needs {needed}; give it a set with preferences = 'votes', as in KEY:{measure}"
    elif of_set is not None and needed not in ("grades", kind):
        why = "" if kind == "subtopics" else "; a set has subtopics if its question is any-of"
        yield f"{place}: {measure} needs qrels with {needed}, and {of_set.key} has {kind} only{why}"


def _measure_complaints(
    protocol: Protocol, measure: Measure, name: str, relevant_from: int, highest: int
) -> Iterator[str]:
    """Complaints about a measure that the protocol cannot compute, or that cannot be meant."""
    family, columns = FAMILIES[measure.family], protocol.runs.columns
    has_level = "rel=" in name.replace(" ", "")
    yield from _unlisted(FAMILIES, measure.family, protocol)
    if measure.in_characters:
        yield from _character_complaints(protocol, measure, name)
    if family.of_answers:
        if not (protocol.is_of_answers and protocol.judged.has_nuggets):
            yield f"{measure} is about generated answers; it needs unit = 'generated-answer'"
        if measure.number("max_rel") != highest:
            yield (
                f"{measure} counts full support from another grade than the highest, {highest}; write "
                f"(max_rel={highest})"
            )
        judged = protocol.runs.answers.citations
        if (measure.number("citations") or 1) > judged:
            yield f"{measure} counts more citations of a sentence than are judged; runs.answers.citations is {judged}"
    if has_level and measure.level > highest:
        yield f"{name!r} counts from grade {measure.level}, but the highest grade of the qrels is {highest}"
    if family.has_level and family.level and not has_level and relevant_from > family.level:
        yield (
            f"{name!r} counts from grade {family.level}, but a document is relevant from {relevant_from} on; write "
            f"{measure._replace(level=relevant_from)}, or state rel={family.level}"
        )
    if len(str(measure)) > MAX_MEASURE:
        yield f"{measure} has {len(str(measure))} characters; at most {MAX_MEASURE} are accepted"
    if family.qrels != "grades" and protocol.qrels.columns is not None:
        yield f"{measure} needs qrels with {family.qrels}, which have columns of their own; remove qrels.columns"
    if measure.family.startswith("label") and (columns is None or "label" not in columns.order):
        yield f"{name!r} compares the labels of runs; it needs the column label in runs.columns.order"


def _character_complaints(protocol: Protocol, measure: Measure, name: str) -> Iterator[str]:
    """Complaints about a measure in characters."""
    if protocol.unit != "passage":
        yield f"{measure} counts characters of citations; it needs unit = 'passage'"
    elif protocol.scoring.judged_only:
        yield f"{measure} counts every citation, judged or not; remove scoring.judged_only"
    if not protocol.cites_posts:
        yield f"{name!r} counts characters of citations; it needs judging.layout = 'citation' or the format bolt-xml"
