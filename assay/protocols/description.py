"""Describes a protocol in words, for pages, the documentation and `assay protocol`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.errors import plural
from assay.languages import any_of, name_of
from assay.protocols.measures import parse_measure
from assay.protocols.pair_rules import figures_of
from assay.protocols.qrels import is_of_subtopics
from assay.protocols.questions import condition_in_words, when
from assay.protocols.schema import (
    AGGREGATES,
    ANSWER_FORMATS,
    FORMATS,
    ORDERS,
    PREFERENCE_RULES,
    SAMPLING,
    SHOWN_TO,
    TOKENIZERS,
    UNITS,
    AnswerRules,
    FormRules,
    Grade,
    InstanceRules,
    JudgingRules,
    Phase,
    PoolRules,
    Protocol,
    QrelsSet,
    Question,
    RunKind,
    RunRules,
)
from assay.protocols.strategies import POOL_STRATEGIES

# Keys of a protocol file that this version of Assay checks and shows, but does not carry out, with what it does
# instead. The name of a table includes all its keys. A key that is neither here nor used by other code fails a test.
NOT_CARRIED_OUT: Mapping[str, str] = MappingProxyType(
    {"published": "These figures are for you to compare with; Assay does not check them."}
)
PAIRS = {
    "all": "All pairs of the pooled documents of a topic are judged.",
    "tournament": "Pairs are drawn in rounds: each document meets {partners} others, and those that win most of their "
    "pairs go on, until {few} or fewer are left, of which all pairs are judged. The {k} best are wanted.",
    "pooled-best": "Pairs are drawn in rounds: each run's best document that was in no pair meets the winner so far.",
}


def label_title(label: str) -> str:
    """A label or part of topics in words.

    >>> label_title("language-target"), label_title("asks-about")
    ('target language', 'asks about')
    """
    words = label.replace("-", " ").replace("_", " ")
    return "target language" if words == "language target" else words


def label_value(value: str, label: str) -> str:
    """A value of a label in words: of labels of languages, the names of these; all others are words already.

    >>> label_value("arz, eng", "languages"), label_value("eng", "title")
    ('Egyptian Arabic, English', 'eng')
    """
    if "language" not in label.lower():
        return value
    return ", ".join(name_of(code.strip()) for code in value.split(","))


def facts(protocol: Protocol) -> list[tuple[str, str]]:
    """Pairs of a heading and the protocol's rules under it, without the headings that do not apply."""
    is_judged = protocol.pool.strategy != "known-item"
    figures = ", ".join(f"{name.replace('_', ' ')} {n:g}" for name, n in protocol.published.items())
    units = f"{'pairs of ' * protocol.judged.has_votes}{UNITS[protocol.unit]}"
    units = "pairs of generated answers" if protocol.judged.has_votes and protocol.is_of_answers else units
    has_text_baselines = bool(protocol.runs.kinds) and protocol.unit in {"answer", "document", "passage"}
    has_text_baselines = has_text_baselines and not protocol.cites_posts
    pairs = [
        ("Judged units", "rows of a table" if protocol.judging.form else units),
        ("Runs", " ".join(_runs(protocol.runs)) if protocol.runs.kinds else ""),
        ("Pool", " ".join(_pool(protocol.pool, protocol.runs))),
        ("Formula instances", " ".join(_instances(protocol.instances))),
        ("Nuggets and citations", " ".join(_nuggets(protocol))),
        ("Judging", " ".join(_judging(protocol)) if is_judged else ""),
        (
            "Choices" if protocol.judged.has_votes else "Grades",
            ", ".join(
                grade.label if protocol.judged.has_votes else _grade(grade)
                for grade in protocol.judging.given_grades or protocol.judging.preference_grades
            ),
        ),
        ("Non-answers", ", ".join(choice.label for choice in protocol.judging.non_answers)),
        ("Form", " ".join(_form(protocol.judging.form))),
        ("Questions", " ".join(_questions(protocol.judging))),
        ("Qrels", " ".join(_qrels(protocol))),
        ("Measures", ";\n".join(map(_measure, protocol.scoring.all_measures))),
        ("Text baselines", TOKENIZERS[protocol.baselines.tokenizer] if has_text_baselines else ""),
        ("Interaction", " ".join(_interaction(protocol))),
        ("Participants see", ", ".join(map(label_title, protocol.topics.participants_see))),
        ("Extensions", ", ".join(protocol.extensions)),
        ("Published figures", f"{figures}. {NOT_CARRIED_OUT['published']}" if figures else ""),
    ]
    return [(heading, words) for heading, words in pairs if words]


def _grade(grade: Grade) -> str:
    of_citations = f", of citations {grade.citation_label}" if grade.citation_label else ""
    return f"{grade.label} ({grade.value}{of_citations})"


def _measure(name: str) -> str:
    return f"{name} ({parse_measure(name.rpartition(':')[2]).title})"  # without the key of a set of qrels


def _runs(runs: RunRules) -> Iterator[str]:
    names = ", ".join(kind.name for kind in runs.kinds)
    scored = ", ".join(kind.name for kind in runs.kinds if kind.scored)
    of_organizers = ", ".join(kind.name for kind in runs.kinds if kind.submitted_by == "organizers")
    formats = " or ".join(FORMATS[name] for name in runs.formats)
    ranks = plural(runs.max_ranks, "rank")
    most = "One answer" if runs.formats[0] in ANSWER_FORMATS else f"At most {ranks}"
    yield f"Formats: {formats}. {most} per topic. Kinds: {names}."
    yield from limits_of_answers(runs.answers)
    if scored != names:
        yield f"Scored kinds: {scored}."
    yield from limits_of(runs.kinds)
    if runs.documents:
        yield f"Each team also owes: {', '.join(runs.documents.values())}."
    if runs.questions:
        labels = " ".join(
            f"{asked.label.rstrip('?.')}?{f' (or {asked.header} in the header of the file)' if asked.header else ''}"
            for asked in runs.questions
        )
        yield f"Teams answer about each run: {labels}"
    yield from map(_phase, runs.phases, [runs] * len(runs.phases))
    if of_organizers:
        yield f"Only organizers submit {of_organizers} runs."
    if runs.uses:
        yield f"Teams state what a run uses: {', '.join(runs.uses.values())}."
    if runs.out_of_range_ranks == "error":
        yield f"Ranks are 1 to {runs.max_ranks:,}; a run with another rank is refused."
    yield from rules_of_lines(runs)
    yield from rule_of_topic_documents(runs)
    if runs.min_score is not None and runs.max_score is not None:
        yield f"Scores are between {runs.min_score:g} and {runs.max_score:g}."
    if runs.max_passage_characters is not None:
        yield f"Passages have at most {plural(runs.max_passage_characters, 'character')}."
    for name, values in runs.attributes.items():
        yield f"The attribute {name} of a file is {' or '.join(values)}."
    if runs.max_seconds_per_topic is not None:
        yield f"A topic takes at most {runs.max_seconds_per_topic:g} seconds."


def _phase(phase: Phase, runs: RunRules) -> str:
    kinds = ", ".join(map(runs.name_of, runs.kinds_of(phase)))
    topics = f"topics of the split {phase.split}" if phase.split else "all topics"
    parts = [f"Phase {phase.name}: {kinds} runs on {topics}", SHOWN_TO[phase.scores]]
    if phase.max_per_day is not None:
        parts.append(f"at most {phase.max_per_day} a day for each team")
    if phase.after_closing:
        parts.append("accepted when the track is closed")
    return "; ".join(parts) + "."


def named_columns(header: Sequence[str]) -> str:
    """The names of columns, and what may differ, as the end of a sentence."""
    return f"{', '.join(header)}; files may have them in any order, and others, which are skipped."


def rules_of_lines(runs: RunRules) -> Iterator[str]:
    """Yield what tags, the second column and the topics of a run must be."""
    if runs.max_tag is not None:
        yield f"A tag has at most {plural(runs.max_tag, 'character')}."
    if runs.tag_characters is not None:
        yield f"A tag consists of {runs.characters_of_tags}."
    if runs.tag_pattern:
        yield f"Teams name their runs {runs.tag_pattern}, such as {runs.example_tag()}."
    if runs.second_column:
        yield f"The second column of TREC's six columns is {runs.second_column}."
    if runs.columns is not None and runs.columns.header:
        yield f"The first line names the columns {named_columns(runs.columns.header)}"
    if runs.columns is not None and runs.columns.topic:
        yield f"Each line is of the topic {runs.columns.topic}."
    if runs.missing_topics == "error":
        yield "A run without a document for each topic is refused."


def rule_of_topic_documents(runs: RunRules) -> Iterator[str]:
    """Yield what happens to a document with the id of its topic."""
    if runs.topic_documents == "error":
        yield "A run with a document that has the id of its topic is refused."
    elif runs.topic_documents == "ignore":
        yield "A document with the id of its topic is left out."


def limits_of_answers(rules: AnswerRules) -> Iterator[str]:
    """Yield a sentence for each limit of generated answers."""
    if rules.max_words is not None:
        yield f"An answer has at most {plural(rules.max_words, 'word')}."
    if rules.max_characters is not None:
        yield f"An answer has at most {plural(rules.max_characters, 'character')}."
    if rules.characters_label:
        yield f"The label {rules.characters_label} of a topic is the number of characters that its answers may have."
    if rules.too_long == "warning":
        yield "A longer answer is accepted with a warning."
    if rules.max_references is not None:
        yield f"An answer has at most {plural(rules.max_references, 'reference')}."
    if rules.max_run_id is not None:
        yield f"The id of a run has at most {plural(rules.max_run_id, 'character')}."


def _nuggets(protocol: Protocol) -> Iterator[str]:
    """Sentences about what is judged in generated answers."""
    if protocol.judged.has_nuggets:
        most, rules = protocol.runs.answers.citations, protocol.nuggets
        yield f"Of each sentence, {'the first citation is' if most == 1 else f'the first {most} citations are'} judged."
        if rules.most is not None:
            yield f"A topic has at most {plural(rules.most, 'nugget')}."
        if rules.max_words is not None:
            yield f"A nugget has at most {plural(rules.max_words, 'word')}."


def limits_of(kinds: Iterable[RunKind]) -> Iterator[str]:
    """Yield a sentence with the number of runs of each kind that a team may submit; nothing if no kind has a limit."""
    limits = [
        f"one {kind.name} run" if kind.max_per_team == 1 else f"{kind.max_per_team} {kind.name} runs"
        for kind in kinds
        if kind.max_per_team is not None
    ]
    owed = ", ".join(f"{kind.min_per_team} {kind.name}" for kind in kinds if kind.min_per_team)
    if owed:
        yield f"Each team owes at least these runs: {owed}."
    if limits:
        others = f"{', '.join(limits[:-1])} and " if limits[1:] else ""
        yield f"A team submits at most {others}{limits[-1]}."


def pooled_units(pool: PoolRules, runs: RunRules, depths: Mapping[str, int]) -> str:
    """The units that are pooled of runs with these depths by kind, in a sentence."""
    return POOL_STRATEGIES[pool.strategy].sentence.format(
        depths=_depths(depths, runs, "of"),
        k=_depths(depths, runs, "for"),
        target=plural(pool.target or 0, "unit"),
    )


def _pool(pool: PoolRules, runs: RunRules) -> Iterator[str]:
    yield pooled_units(pool, runs, runs.depths)
    if pool.pairs is not None:
        yield PAIRS[pool.pairs.selection].format(**figures_of(pool.pairs))
    if pool.depth_is_default:
        yield "Organizers may choose other depths."
    for kind in runs.kinds:
        if kind.pooled_as:
            usual = " by default" if kind.pooled_as_by_tag else ""
            yield f"{kind.name.capitalize()} runs are pooled as {runs.name_of(kind.pooled_as)} runs{usual}."
        for tag, other in kind.pooled_as_by_tag.items():
            yield f"{tag} is pooled as {runs.name_of(other)}."
    if pool.near_duplicate_overlap is not None:
        share = f"{pool.near_duplicate_overlap:.0%}"
        yield f"Of passages that share {share} of their word pairs, only the best is judged."
    if pool.strategy != "known-item":
        yield ORDERS[pool.order]


def _depths(depths: Mapping[str, int], runs: RunRules, word: str) -> str:
    """`20 of primary, 10 of alternate runs`, or one figure for all kinds; `word` is `of` or `for`."""
    if len(set(depths.values())) == 1 and len(depths) == len(runs.kinds):
        return f"{next(iter(depths.values()))} {word} every run"
    return ", ".join(f"{k} {word} {runs.name_of(key)}" for key, k in depths.items()) + " runs"


def _instances(instances: InstanceRules) -> Iterator[str]:
    if instances.strategy is not None and instances.limit is not None:
        of_formula = "instance of a formula is,instances of a formula are"
        yield f"At most {plural(instances.limit, of_formula)} judged: {SAMPLING[instances.strategy]}."
    if instances.clustering != "none":
        in_collection = instances.clustering == "collection"
        formulas = "all formulas of the collection" if in_collection else "submitted formulas"
        yield f"Instances are clustered among {formulas}."


def _judging(protocol: Protocol) -> Iterator[str]:
    judging = protocol.judging
    groups = f" ({' and '.join(judging.groups)})" if judging.groups else ""
    if judging.about_pairs is not None:
        shown = "answers" if protocol.is_of_answers else "documents"
        yield f"Two {shown} are shown side by side, in random order: {judging.about_pairs.question}"
    if judging.judges == 1:
        yield f"One assessor{groups} judges each unit."
    else:
        yield f"{judging.judges} assessors{groups} judge each unit."
    if judging.dual_share:
        # The plan of second judgments uses `dual_topics` if both are given.
        how = "" if judging.dual_topics else ": the plan of second judgments proposes them at random"
        yield f"A second assessor also judges {judging.dual_share:.0%} of the topics{how}."
    if judging.form is None and not (judging.judged.has_votes or judging.judged.has_nuggets):
        yield f"Units are shown {'in' if judging.in_context else 'without'} context."
    training, dual = (
        "one topic" if n == 1 else f"{n} topics" for n in (judging.training_topics, judging.dual_topics)
    )
    if judging.training_topics:
        yield f"The plan of a training round starts with {training}; organizers can choose others."
    if judging.dual_topics:
        yield (
            f"Each assessor also judges {dual} of another: the plan of second judgments proposes "
            f"{those_judged_again(protocol)}."
        )


def those_judged_again(protocol: Protocol) -> str:
    """The topics that the plan of second judgments proposes, in words."""
    if not protocol.judging.has_scale:
        return "the first that are judged completely"
    units = "relevant units" if protocol.judges_relevance else f"units of {protocol.high_units.lower()}"
    return f"those with the fewest {units}"


def _form(form: FormRules | None) -> Iterator[str]:
    if form is None:
        return
    yield f"A page made of {', '.join(form.fields) or 'no fields'}."
    if form.frame:
        yield "It has controls and scripts of its own, in a frame without access to the site or to other hosts."


def _questions(judging: JudgingRules) -> Iterator[str]:
    """Questions that are asked after the same grades and for the same documents share a sentence."""
    by_condition: dict[str, list[str]] = {}
    for question in judging.questions:
        documents = f", for documents in {any_of(question.languages)}" if question.languages else ""
        when_asked = when(judging, question)
        condition = f"{when_asked[0].upper()}{when_asked[1:]}{documents}"
        by_condition.setdefault(condition, []).append(in_words(question))
    for condition, questions in by_condition.items():
        yield f"{condition}: {' '.join(questions)}"


def in_words(question: Question) -> str:
    """A question with what it takes: `Is it fluent? (yes or no; optional)`."""
    kinds = {
        "number": "a number",
        "text": "a text",
        "span": "parts of the text marked as",
        "ranking": "in order",
        "any-of": "any of",
        "one-of": "one of",
    }
    choices = "the subtopics of the topic" if question.choices_from else ", ".join(question.labels.values())
    if question.field:
        kinds["span"] = f"parts of {question.field} marked as"
    parts = [kinds.get(question.kind, ""), choices if question.kind != "yes-no" else "", question.unit]
    about = " ".join(filter(None, parts)) or "yes or no"
    return f"{question.label} ({about}{'' if question.required else '; optional'})"


def grade_rule(protocol: Protocol) -> str:
    """The rule by which judgments become grades, as a sentence."""
    qrels = protocol.qrels
    if not protocol.judging.has_grades:
        return (
            "The answers give the grades."
            if qrels.sets
            else "No question gives a grade, so there are no qrels."
        )
    return PREFERENCE_RULES[qrels.preferences] if qrels.preferences else AGGREGATES[qrels.aggregate]


def _qrels(protocol: Protocol) -> Iterator[str]:
    qrels = protocol.qrels
    yield grade_rule(protocol)
    if qrels.min_relevant:
        yield f"Topics with {_too_few(qrels.min_relevant)} of grade {qrels.relevant_from} or more are dropped."
    if qrels.columns is not None and qrels.columns.header:
        yield f"The first line of a file names the columns {named_columns(qrels.columns.header)}"
    if qrels.topic_citations:
        yield "Citations that the developers of the topics graded join the judged ones."
    if qrels.export_groups:
        yield "Each group of assessors also has qrels of its own."
    label = "Further qrels" if protocol.judging.has_grades else "Qrels"
    for qrels_set in qrels.sets:
        content = "for each choice of" if is_of_subtopics(protocol, qrels_set) else "from"
        source = f" {content} the question {qrels_set.question}" if qrels_set.question else ""
        aggregate = "" if qrels_set.aggregate == "single" else f", {qrels_set.aggregate}"
        yield f"{label}: {qrels_set.name}{source}{aggregate}: {_rules_of_set(protocol, qrels_set)}"
        if qrels_set.min_relevant:
            too_few = _too_few(qrels_set.min_relevant)
            yield f"They have no topic with {too_few} of grade {qrels_set.relevant_from} or more."


def _too_few(least: int) -> str:
    return "no unit" if least == 1 else f"fewer than {least} units"


def _rules_of_set(protocol: Protocol, rules: QrelsSet) -> str:
    """The grades of a set of qrels with their conditions, in the order in which one is looked for."""
    if rules.preferences:
        return PREFERENCE_RULES[rules.preferences]
    parts = [
        f"{rule.grade} if {' and '.join(condition_in_words(protocol.judging, text) for text in rule.when)}"
        for rule in rules.rules
    ]
    if grades := _grades_of_choices(protocol, rules):
        either = " or ".join(condition_in_words(protocol.judging, text) for text in rules.only)
        parts.append(f"{grades}{f', only if {either}' if either else ''}")
    if rules.otherwise is not None:
        parts.append(f"{rules.otherwise} for all others")
    elif rules.only or rules.rules or rules.question or rules.grades:
        parts.append("others are left out")
    return "; ".join(parts) + "."


def _grades_of_choices(protocol: Protocol, rules: QrelsSet) -> str:
    """`2 for High, 0 for Low`, or nothing if only the rules of a set give grades."""
    judging = protocol.judging
    if is_of_subtopics(protocol, rules):
        return "1 if it is chosen, 0 if not"
    if not rules.question and not rules.grades:
        return "" if rules.rules else "the grade of the judgment"
    choices = next(
        (question.choices for question in judging.questions if question.key == rules.question), judging.grades
    )
    values = rules.grades or {choice.key: choice.value for choice in choices if choice.value is not None}
    return ", ".join(f"{values[choice.key]} for {choice.label}" for choice in choices if choice.key in values)


def _interaction(protocol: Protocol) -> Iterator[str]:
    if rules := protocol.interaction:
        kind, measure = protocol.runs.name_of(rules.run_kind), rules.measure or protocol.scoring.measures[0]
        yield f"Sessions of at most {plural(rules.seconds_per_topic, 'second')} per topic, followed by {kind} runs."
        yield f"The change of {_measure(measure)} is reported."
