"""The options `--labels` and `--label`: the labels of topics that a command groups its output by."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.errors import InputError
from assay.formats.topics.reader import read_labels, read_topics
from assay.papers.facts import are_words
from assay.protocols.schema import Protocol


def chosen_labels(
    arguments: argparse.Namespace, topics: Sequence[str], protocol: Protocol
) -> dict[str, dict[str, str]]:
    """The values of each label, by topic: the labels of --label, or the topic classes of the protocol.

    If the topics have none of these labels, all labels with a few values that are words.
    """
    of_topics = _read(arguments.labels)
    known = {code: of_topics[code] for code in topics if code in of_topics}
    if not known:
        raise InputError(f"{arguments.labels}: no label is for a topic of the qrels")
    names = dict.fromkeys(name for labels in known.values() for name in labels)
    missing = [name for name in arguments.label if name not in names]
    if missing:
        raise InputError(f"{arguments.labels}: no label {missing[0]!r}; the labels are {', '.join(names)}")
    values = {name: {code: labels.get(name, "") for code, labels in known.items()} for name in names}
    by_class = {name.casefold(): name for name in values}
    classes = [by_class[name] for name in protocol.scoring.topic_classes if name in by_class]
    chosen = arguments.label or classes
    if chosen:
        return {name: values[name] for name in chosen}
    return {name: by_topic for name, by_topic in values.items() if are_words(set(by_topic.values()) - {""})}


def _read(path: Path) -> Mapping[str, Mapping[str, str]]:
    data = path.read_bytes()
    if path.suffix.lower() in {".xml", ".jsonl", ".ndjson"}:
        return {topic.code: topic.labels for topic in read_topics(data, path.name) if topic.labels}
    return read_labels(data, path.name)
