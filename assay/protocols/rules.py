"""The rules of a protocol that its types do not state: ranges, and keys that contradict each other.

A complaint begins with the key, as in `runs.kind[2].depth: -1 is below 0`; `[2]` is the second of the file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from assay.protocols import schema
from assay.protocols.measures import Measure, MeasureError, parse_measure
from assay.protocols.schema import JudgingRules, Protocol

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SLUG = 100  # characters, the limit of the database column
MAX_KIND = 40  # characters of the key of a kind of run, the limit of the database column
WORD = re.compile(r"[^\s,;]{1,50}")
KEY = re.compile(r"[A-Za-z0-9_-]{1,50}")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})?")
HIGHEST_GRADE = 999  # as in qrels


def shown(value: object) -> str:
    """A value as messages show it."""
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal number that is too long to write in decimals
        return "a number that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def complaints(protocol: Protocol) -> Iterator[str]:
    """What is wrong with a protocol, each with its key: `runs.max_ranks: 0 is below 1`."""
    if not SLUG.fullmatch(protocol.slug):
        yield f"slug: {protocol.slug!r} is not a slug; use lower-case letters, digits and single hyphens"
    if len(protocol.slug) > MAX_SLUG:
        yield f"slug: {len(protocol.slug)} characters long; at most {MAX_SLUG} are accepted"
    if not protocol.title.strip() or not protocol.title.isprintable():
        yield f"title: {shown(protocol.title)} is not one line of text"
    if not protocol.source.strip():
        yield "source: empty; cite the publication with the figures"
    yield from _check_runs(protocol)
    yield from _check_qrels_lines(protocol)
    yield from _check_pool(protocol)
    yield from _check_judging(protocol)


def _check_runs(protocol: Protocol) -> Iterator[str]:
    runs = protocol.runs
    yield from _check_formats(runs.formats)
    yield from _check_lines(runs)
    yield from _check_uses(runs.uses)
    if runs.max_ranks < 1:
        yield f"runs.max_ranks: {runs.max_ranks} is below 1"
    if not runs.kinds:
        yield "runs.kind: empty; describe at least one kind of run"
    elif not runs.scored_keys:
        yield "runs.kind: no kind is scored; leave out `scored = false` in at least one"
    for n, kind in enumerate(runs.kinds):
        place = f"runs.kind[{n + 1}]"
        if kind.key in runs.keys[:n]:
            yield f"{place}.key: {kind.key!r} is the key of two kinds"
        yield from (f"{place}.{complaint}" for complaint in _check_kind(kind, runs))
    interaction = protocol.interaction
    if interaction is not None and interaction.run_kind not in runs.keys:
        yield f"interaction.run_kind: {interaction.run_kind!r} is not a kind of run; use {', '.join(runs.keys)}"


def _check_uses(uses: Mapping[str, str]) -> Iterator[str]:
    for word, title in uses.items():
        if not SLUG.fullmatch(word) or len(word) > MAX_KIND:
            yield f"runs.uses: {shown(word)} is not accepted; use lower-case letters, digits and single hyphens"
        if not title.strip() or not title.isprintable():
            yield f"runs.uses.{word}: {shown(title)} is not one line of text"


def _check_lines(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about the columns of runs, and about the order of ties."""
    lines = runs.columns
    if (lines is not None) != ("columns" in runs.formats):
        yield "runs.columns: the table describes the format columns of runs.formats; use both, or neither"
    if runs.ties == "rank" and "bolt-xml" in runs.formats:
        yield "runs.ties: bolt-xml has no ranks; use docno or file"
    if lines is None:
        return
    yield from _check_order("runs.columns.order", lines.order)
    if "score" not in lines.order and "rank" not in lines.order:
        yield "runs.columns.order: names neither score nor rank, which order the documents"
    if runs.ties == "rank" and "rank" not in lines.order:
        yield "runs.ties: runs.columns.order has no rank; use docno or file"
    if ("label" in lines.order) != bool(lines.labels):
        yield "runs.columns.labels: name the words of the column label, or use neither"
    yield from _check_words("runs.columns.labels", lines.labels)


def _check_order(key: str, order: tuple[str, ...]) -> Iterator[str]:
    named = [column for column in order if column != "skip"]
    for column in dict.fromkeys(named):
        if named.count(column) > 1:
            yield f"{key}: {column} is listed twice"
    for column, meaning in (("topic", "code of the topic"), ("docno", "id of what a run retrieves")):
        if column not in named:
            yield f"{key}: {column} is missing, the {meaning}"


def _check_words(key: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if not WORD.fullmatch(word):
            yield f"{key}: {shown(word)} is not one word of at most 50 characters without separators"


def _check_qrels_lines(protocol: Protocol) -> Iterator[str]:
    lines = protocol.qrels.columns
    if lines is None:
        return
    yield from _check_order("qrels.columns.order", lines.order)
    if "grade" not in lines.order:
        yield "qrels.columns.order: grade is missing, the number or word of the grade"
    yield from _check_words("qrels.columns.words", lines.words)
    values = {grade.value for grade in protocol.judging.grades}
    for word, value in lines.words.items():
        if value not in values:
            accepted = ", ".join(map(str, sorted(values)))
            yield f"qrels.columns.words.{word}: {value} is not the value of a grade; use {accepted}"


def _check_kind(kind: schema.RunKind, runs: schema.RunRules) -> Iterator[str]:
    """Complaints about a kind of run, each with the key."""
    if not SLUG.fullmatch(kind.key) or len(kind.key) > MAX_KIND:
        yield (
            f"key: {shown(kind.key)} is not accepted; use lower-case letters, digits and single hyphens, at most "
            f"{MAX_KIND} characters"
        )
    if not kind.title.isprintable() or kind.title != kind.title.strip():
        yield f"title: {shown(kind.title)} is not one line of text"
    if kind.depth is not None and not 0 <= kind.depth <= runs.max_ranks:
        yield f"depth: {kind.depth} is below 0 or above runs.max_ranks, {runs.max_ranks}"
    if kind.max_per_team is not None and kind.max_per_team < 1:
        yield f"max_per_team: {kind.max_per_team} is below 1"
    yield from _check_pooled_as(kind, runs)


def _check_pooled_as(kind: schema.RunKind, runs: schema.RunRules) -> Iterator[str]:
    if kind.depth is not None and kind.pooled_as:
        yield "pooled_as: the kind has a depth of its own; use one of the two keys"
    if kind.pooled_as_by_tag and not kind.pooled_as:
        yield "pooled_as_by_tag: state in pooled_as how the runs with other tags are pooled"
    named = {"pooled_as": kind.pooled_as} if kind.pooled_as else {}
    named |= {f"pooled_as_by_tag.{tag}": other for tag, other in kind.pooled_as_by_tag.items()}
    for place, other in named.items():
        if other not in runs.depths:
            accepted = f"use {', '.join(runs.depths)}" if runs.depths else "no kind has one"
            yield f"{place}: {other!r} is not a kind with a depth; {accepted}"


def _check_formats(formats: tuple[str, ...]) -> Iterator[str]:
    if not formats:
        yield f"runs.formats: empty; use some of {', '.join(schema.RUN_FORMATS)}"
    if len(set(formats)) != len(formats):
        yield "runs.formats: a format is listed twice"
    if {"arqmath-6", "trec-6"} <= set(formats):
        yield "runs.formats: arqmath-6 and trec-6 both have six columns and cannot be distinguished; use one"


def _check_pool(protocol: Protocol) -> Iterator[str]:
    pool = protocol.pool
    needs_depth = pool.strategy in {"top-k", "distinct-units", "top-k-by-score"}
    if needs_depth and not any(protocol.runs.depths.values()):
        yield f"runs.kind: the strategy {pool.strategy} needs a depth above 0 for some kind of run"
    if pool.strategy == "round-robin-until" and not (pool.target and pool.target > 0):
        yield "pool.target: the strategy round-robin-until needs a number of units above 0"
    overlap = pool.near_duplicate_overlap
    if overlap is not None and not 0 < overlap <= 1:
        yield f"pool.near_duplicate_overlap: {overlap} is not above 0 and at most 1"
    if protocol.instances.strategy is not None and not (protocol.instances.limit or 0) > 0:
        yield f"instances.limit: the strategy {protocol.instances.strategy} needs a limit above 0"


def _check_judging(protocol: Protocol) -> Iterator[str]:
    judging = protocol.judging
    yield from _check_grades(judging)
    yield from _check_codes(protocol)
    yield from _check_follow_ups(judging)
    if judging.judges < 1:
        yield f"judging.judges: {judging.judges} is below 1"
    yield from _check_measures(protocol)


def _check_measures(protocol: Protocol) -> Iterator[str]:
    if not protocol.scoring.measures:
        yield "scoring.measures: empty; name at least one measure"
    for n, name in enumerate(protocol.scoring.measures, 1):
        try:
            measure = parse_measure(name)
        except MeasureError as error:
            yield f"scoring.measures[{n}]: {error}"
        else:
            yield from _check_counted(protocol, measure, f"scoring.measures[{n}]")
    yield from _check_compared(protocol)


def _check_compared(protocol: Protocol) -> Iterator[str]:
    """Complaints about the measure whose change is reported."""
    if protocol.interaction is None:
        return
    measure, accepted = protocol.interaction.measure, protocol.scoring.measures
    if measure and measure not in accepted:
        yield f"interaction.measure: {measure} is not one of scoring.measures: {', '.join(accepted)}"


def _check_counted(protocol: Protocol, measure: Measure, place: str) -> Iterator[str]:
    """Complaints about a measure in characters that the protocol cannot compute."""
    if measure.in_characters and protocol.unit != "passage":
        yield f"{place}: {measure} counts characters of citations; it needs unit = 'passage'"
    elif measure.in_characters and protocol.scoring.judged_only:
        yield f"{place}: {measure} counts every citation, judged or not; remove scoring.judged_only"


def _check_grades(judging: JudgingRules) -> Iterator[str]:
    if not judging.grades:
        yield "judging.grade: a protocol needs at least one grade"
    yield from _check_keys(judging)
    yield from _check_values(judging)


def _check_keys(judging: JudgingRules) -> Iterator[str]:
    for field in ("key", "shortcut"):
        words = [getattr(choice, field) for choice in judging.choices]
        for n, (place, _) in enumerate(judging.placed_choices):
            if words[n] and words[n] in words[:n]:
                yield f"{place}.{field}: the {field} {words[n]!r} is used by two choices"
    for place, choice in judging.placed_choices:
        if not KEY.fullmatch(choice.key):
            yield f"{place}.key: {shown(choice.key)} is not 1 to 50 letters, digits, hyphens or underscores"


def _check_values(judging: JudgingRules) -> Iterator[str]:
    values = [grade.value for grade in judging.grades]
    for n, value in enumerate(values):
        place = f"judging.grade[{n + 1}].value"
        if value in values[:n]:
            yield f"{place}: two grades have the same value, {value}"
        if value < 0:
            yield (
                f"{place}: {value} is below 0; make the choice a [[judging.non_answer]]. Qrels may have negative "
                "grades: pooled, without a grade"
            )
        if value > HIGHEST_GRADE:
            yield f"{place}: {value} is above {HIGHEST_GRADE}"


def _check_follow_ups(judging: JudgingRules) -> Iterator[str]:
    """Complaints about follow-up questions; `judging.follow_up[2]` is the second one of the file."""
    keys = [question.key for question in judging.follow_ups]
    labels = [question.label.strip() for question in judging.follow_ups]
    for n, question in enumerate(judging.follow_ups, 1):
        place = f"judging.follow_up[{n}]"
        if not KEY.fullmatch(question.key):
            yield f"{place}.key: {shown(question.key)} is not 1 to 50 letters, digits, hyphens or underscores"
        if question.key in keys[: n - 1]:
            yield f"{place}.key: {question.key!r} is used by two questions"
        if not question.label.strip():
            yield f"{place}.label: empty; write the question"
        elif question.label.strip() in labels[: n - 1]:
            yield f"{place}.label: {shown(question.label)} is asked twice"
        yield from _check_answers(question, f"{place}.choices")
        yield from _check_conditions(question, place, [grade.key for grade in judging.grades])


def _check_answers(question: schema.FollowUp, place: str) -> Iterator[str]:
    if len(question.choices) < 2:
        yield f"{place}: a question needs at least two answers, got {len(question.choices)}"
    labels = [label.strip() for label in question.choices.values()]
    for n, key in enumerate(question.choices):
        if not KEY.fullmatch(key):
            yield f"{place}: the key {shown(key)} is not 1 to 50 letters, digits, hyphens or underscores"
        if not labels[n]:
            yield f"{place}.{key}: empty; write the text of the answer"
        elif labels[n] in labels[:n]:
            yield f"{place}.{key}: {shown(labels[n])} is the label of two answers"


def _check_conditions(question: schema.FollowUp, place: str, grades: list[str]) -> Iterator[str]:
    if not question.after:
        yield f"{place}.after: empty, so the question is never asked; use some of {', '.join(sorted(grades))}"
    for n, key in enumerate(question.after):
        if key not in grades:
            yield f"{place}.after: {key!r} is not a grade; use {', '.join(sorted(grades))}"
        if key in question.after[:n]:
            yield f"{place}.after: {key!r} is listed twice"
    for n, language in enumerate(question.languages):
        if not LANGUAGE.fullmatch(language):
            yield f"{place}.languages: {shown(language)} is not a code such as eng, arz or zh-Hans"
        if language in question.languages[:n]:
            yield f"{place}.languages: {language!r} is listed twice"


def _check_codes(protocol: Protocol) -> Iterator[str]:
    """Complaints about codes of non-answers, which must differ from each other and from all grades."""
    is_sum, grades = protocol.qrels.aggregate == "sum", {grade.value for grade in protocol.judging.grades}
    if is_sum and grades:
        grades = set(range(protocol.judging.judges * max(grades) + 1))
    codes: list[int] = []
    for n, choice in enumerate(protocol.judging.non_answers, 1):
        code, place = choice.qrels_code, f"judging.non_answer[{n}].qrels_code"
        if code is None:
            continue
        if code in codes:
            yield f"{place}: two non-answers have the same qrels_code, {code}"
        codes.append(code)
        if code < 0:
            yield f"{place}: {code} is below 0; leave the key out: a negative grade in qrels always means no grade"
        elif code > HIGHEST_GRADE:
            yield f"{place}: {code} is above {HIGHEST_GRADE}"
        elif code in grades:
            yield f"{place}: {code} is a grade of the qrels"
