"""Files of rubrics, and of answers that were graded by them, in JSON lines.

    ragdoll           qid, query, criteria: [{text, weight, tier, type, source_nugget}]
    research-rubrics  qid, rubrics: [{criterion, weight, axis}], and facts of the topic; tier and source_nugget are ours

A graded answer is a line of the first form with `run_id`, and `verdict` in each criterion. Keys that are not read are
kept. Sources: RAGDoll 1f06719; TREC RAG 2026, research-rubrics-dev-rubrics.jsonl.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.nuggets.files import Record, records
from assay.nuggets.lists import Nugget, NuggetList
from assay.structure import shown
from assay_extensions.answers.rubrics import NOT, TIERS, VALUES, Criterion, Rubric

TOPIC = ("qid", "topic_id", "query_id", "task_id")
RUN = ("run_id", "runtag", "run")
OF_RUBRIC = {*TOPIC, *RUN, "query", "criteria", "rubrics"}
OF_CRITERION = {
    *("text", "criterion", "weight", "tier", "type", "axis", "source_nugget", "verdict"),
}


def read_rubrics(data: bytes, name: str) -> list[Rubric]:
    """The rubrics of a file, one for each topic.

    Raises:
        InputError: A line is in neither form, has a wrong value, or its topic has a rubric already.
    """
    return _read(data, name, is_graded=False)


def read_graded(data: bytes, name: str, *, unknown: list[str] | None = None) -> list[Rubric]:
    """The graded answers of a file, one for each run and topic.

    Args:
        unknown: takes the place and word of each verdict that is not known, which counts as not satisfied, as in
            RAGDoll. None refuses them.

    Raises:
        InputError: A line has no run or a criterion without a verdict, has a wrong value, or is of an answer that was
            graded above.
    """
    return _read(data, name, is_graded=True, unknown=unknown)


def _read(data: bytes, name: str, *, is_graded: bool, unknown: list[str] | None = None) -> list[Rubric]:
    rubrics: dict[tuple[str, str], Rubric] = {}
    for record in records(data, name):
        rubric = _rubric(record, is_graded=is_graded, unknown=unknown)
        key = rubric.run, rubric.topic
        if key in rubrics:
            raise record.wrong(
                " ".join(filter(None, key)), "each answer once" if is_graded else "each topic once"
            )
        rubrics[key] = rubric
    return list(rubrics.values())


def _rubric(record: Record, *, is_graded: bool, unknown: list[str] | None = None) -> Rubric:
    content = record.content
    listed = "criteria" if "criteria" in content else "rubrics"
    if listed not in content:
        raise record.wrong("object", f"{TOPIC[0]} with criteria or rubrics")
    criteria = tuple(
        _criterion(record, place, item, _verdict(record, place, item, unknown) if is_graded else "")
        for place, item in record.items(content[listed], listed)
    )
    if not criteria and not is_graded:
        raise record.wrong(listed, "at least one criterion")
    topic = _first(record, TOPIC)
    run = _first(record, RUN) if is_graded else ""
    title = record.text(content.get("query"), "query", is_required=False)
    text = record.text(content.get("answer_text"), "answer_text", is_required=False)
    words = len(text.split()) if "answer_text" in content else None
    more = {key: value for key, value in content.items() if key not in OF_RUBRIC}
    return Rubric(topic, title, criteria, run, words, more)


def _first(record: Record, keys: tuple[str, ...]) -> str:
    key = next((key for key in keys if record.content.get(key) not in (None, "")), keys[0])
    return record.topic(record.content.get(key), key)


def _verdict(record: Record, place: str, item: Mapping[str, Any], unknown: list[str] | None) -> str:
    word = _word(item.get("verdict") or "")
    if word in VALUES:
        return word
    got = shown(item["verdict"]) if item.get("verdict") else "none"
    if unknown is None:
        raise record.wrong(f"{place}.verdict", f"{', '.join(VALUES)}, got {got}")
    unknown.append(f"line {record.line}: {place}.verdict: {got}")
    return NOT


def _criterion(record: Record, place: str, item: Mapping[str, Any], verdict: str) -> Criterion:
    key = "text" if "text" in item else "criterion"
    weight = item.get("weight", 1)
    is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not is_number or not math.isfinite(weight):
        raise record.wrong(f"{place}.weight", "a number; negative for what an answer must avoid")
    tier = _word(item.get("tier") or "optional")
    if tier not in TIERS:
        raise record.wrong(f"{place}.tier", " or ".join(TIERS))
    kind = item.get("type") or item.get("axis") or "explicit"
    return Criterion(
        record.text(item.get(key), f"{place}.{key}"),
        weight,
        tier,
        _word(kind).removesuffix("_criteria"),
        record.text(item.get("source_nugget"), f"{place}.source_nugget", is_required=False),
        verdict,
        {key: value for key, value in item.items() if key not in OF_CRITERION},
    )


def _word(value: object) -> str:
    """A word of a file, ignoring case and spaces as RAGDoll does."""
    return "_".join(str(value).lower().replace("_", " ").split())


def write_rubrics(rubrics: Iterable[Rubric], form: str) -> bytes:
    """The rubrics as JSON lines in one of `WRITERS`."""
    lines = (json.dumps(WRITERS[form](rubric), ensure_ascii=False) for rubric in rubrics)
    return "".join(f"{line}\n" for line in lines).encode()


def _as_ragdoll(rubric: Rubric) -> dict[str, Any]:
    criteria = []
    for each in rubric.criteria:
        own = {"text": each.text, "type": each.kind, "tier": each.tier, "weight": each.weight}
        optional = {"source_nugget": each.source, "verdict": each.verdict}
        criteria.append({**each.more, **own} | {key: value for key, value in optional.items() if value})
    facts = {"qid": rubric.topic, "query": rubric.title, "run_id": rubric.run}
    return {**rubric.more, **{key: value for key, value in facts.items() if value}, "criteria": criteria}


def _as_research(rubric: Rubric) -> dict[str, Any]:
    criteria = [
        {**each.more, "criterion": each.text, "weight": each.weight, "axis": each.kind.capitalize()}
        | ({"tier": each.tier} if each.tier == TIERS[0] else {})
        | ({"source_nugget": each.source} if each.source else {})
        for each in rubric.criteria
    ]
    return {**rubric.more, "qid": rubric.topic, "rubrics": criteria}


def list_of(record: Record) -> NuggetList:
    """The rubric of a line as a list of nuggets with weights. Mandatory criteria are vital, optional ones okay."""
    rubric = _rubric(record, is_graded=False)
    criteria = tuple(
        Nugget(
            each.text,
            "vital" if each.tier == TIERS[0] else "okay",
            weight=each.weight,
            kind=each.kind,
            made_from=each.source,
            more=each.more,
        )
        for each in rubric.criteria
    )
    return NuggetList(rubric.topic, rubric.title, criteria, more=rubric.more)


def rubric_of(nuggets: NuggetList) -> Rubric:
    """A list of nuggets as a rubric. A nugget without a weight has weight 1."""
    criteria = tuple(
        Criterion(
            nugget.shown,
            1 if nugget.weight is None else _number(nugget.weight),
            TIERS[nugget.importance != "vital"],
            nugget.kind or "explicit",
            nugget.made_from,
            more=nugget.more,
        )
        for nugget in nuggets.nuggets
    )
    return Rubric(nuggets.topic, nuggets.title, criteria, more=nuggets.more)


def _number(weight: float) -> float:
    """A whole weight without decimals, as other programs write it."""
    return int(weight) if weight == int(weight) else weight


def write_ragdoll(nuggets: NuggetList) -> dict[str, Any]:
    return _as_ragdoll(rubric_of(nuggets))


def write_research(nuggets: NuggetList) -> dict[str, Any]:
    return _as_research(rubric_of(nuggets))


WRITERS: dict[str, Callable[[Rubric], dict[str, Any]]] = {
    "ragdoll": _as_ragdoll,
    "research-rubrics": _as_research,
}
