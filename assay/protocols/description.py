"""What a protocol says, in words: for pages and whoever does not read TOML."""

from collections.abc import Iterator, Mapping

from assay.protocols.schema import InstanceRules, JudgingRules, PoolRules, Protocol, QrelsRules, RunRules

UNITS = {
    "answer": "answers",
    "document": "documents",
    "formula": "formula instances",
    "visually-distinct-formula": "visually distinct formulas",
    "passage": "passages",
}
SAMPLING = {
    "thread-random": "drawn at random from as many threads as can be",
    "most-runs": "those that most runs submitted",
    "reciprocal-rank-vote": "those with the highest sum of reciprocal ranks",
}
AGGREGATES = {
    "single": "the judgment",
    "maximum": "the highest grade among a unit's judged instances",
    "sum": "the sum of its judges' grades",
}


def facts(protocol: Protocol) -> list[tuple[str, str]]:
    """Pairs of a heading and what the protocol says under it."""
    said = [
        ("Judged", UNITS[protocol.unit]),
        ("Runs", "; ".join(_runs(protocol.runs))),
        ("Pool", "; ".join(_pool(protocol.pool, protocol.runs))),
        ("Instances", "; ".join(_instances(protocol.instances))),
        ("Judging", "; ".join(_judging(protocol.judging)) if protocol.pool.strategy != "known-item" else ""),
        ("Grades", ", ".join(f"{grade.label} ({grade.value})" for grade in protocol.judging.grades)),
        ("No grades", ", ".join(choice.label for choice in protocol.judging.non_answers)),
        ("Asked besides", " ".join(one.label for one in protocol.judging.follow_ups)),
        ("Qrels", "; ".join(_qrels(protocol.qrels))),
        ("Measures", ", ".join(protocol.scoring.measures)),
        ("Interaction", _interaction(protocol)),
        ("Participants see", ", ".join(protocol.topics.participants_see)),
        ("Published", _published(protocol.published)),
    ]
    return [(heading, words) for heading, words in said if words]


def _runs(runs: RunRules) -> Iterator[str]:
    yield f"{' or '.join(runs.formats)}, at most {runs.max_ranks} ranks a topic"
    yield ", ".join(runs.kinds)
    if runs.scored_kinds != runs.kinds:
        yield f"scored are {', '.join(runs.scored_kinds)}"
    for kind, most in runs.max_of_kind.items():
        yield f"at most {most} {kind} runs of a team"
    if runs.min_score is not None and runs.max_score is not None:
        yield f"scores from {runs.min_score:g} to {runs.max_score:g}"
    if runs.max_passage_characters is not None:
        yield f"passages of at most {runs.max_passage_characters} characters"
    if runs.max_seconds_per_topic is not None:
        yield f"at most {runs.max_seconds_per_topic:g} seconds a topic"


def _pool(pool: PoolRules, runs: RunRules) -> Iterator[str]:
    depths = _by_depth(pool.depth)
    yield {
        "top-k": f"the first {depths}",
        "distinct-units": f"down each run to the first instance of its k-th distinct formula, k = {depths}",
        "round-robin-until": f"one rank at a time from every run, until a topic has {pool.target} units",
        "top-k-by-score": f"the best by score, {depths}",
        "known-item": "the known items, of which nothing is judged",
    }[pool.strategy]
    if pool.depth_is_default:
        yield "the organizers may choose other depths"
    if "baseline" in runs.kinds and pool.depth and "baseline" not in pool.depth:
        named = [f"{tag} as {kind}" for tag, kind in pool.baselines.items()]
        yield ", ".join([*named, f"{'other ' if named else ''}baselines as {pool.baseline_as}"])
    if pool.near_duplicate_overlap is not None:
        share = f"{pool.near_duplicate_overlap:.0%}"
        yield f"of those that share {share} of their word pairs the best is judged for all"
    if pool.strategy != "known-item":
        yield {
            "random": "judged in random order",
            "by-run-votes": "those of most runs are judged first",
            "move-to-front": "judged in the order of move-to-front",
        }[pool.order]


def _by_depth(depth: Mapping[str, int]) -> str:
    """`20 of primary, 10 of alternate runs`, or one figure for all kinds."""
    if len(set(depth.values())) == 1:
        return f"{next(iter(depth.values()))} of every run"
    return ", ".join(f"{k} of {kind}" for kind, k in depth.items()) + " runs"


def _instances(instances: InstanceRules) -> Iterator[str]:
    if instances.strategy is not None:
        yield f"at most {instances.limit} of a formula are judged, {SAMPLING[instances.strategy]}"
    if instances.clustering != "none":
        whole = "the whole collection" if instances.clustering == "collection" else "the submitted formulas"
        yield f"looks are compared over {whole}"


def _judging(judging: JudgingRules) -> Iterator[str]:
    groups = f" ({' and '.join(judging.groups)})" if judging.groups else ""
    yield f"each unit by {judging.judges} assessor{'s' * (judging.judges > 1)}{groups}"
    if judging.dual_share:
        yield f"{judging.dual_share:.0%} of the topics by a second one too"
    yield "shown in context" if judging.in_context else "shown alone"
    if judging.training_topics:
        yield f"{judging.training_topics} topics for training"
    if judging.dual_topics:
        yield f"{judging.dual_topics} of another's topics at the end"


def _qrels(qrels: QrelsRules) -> Iterator[str]:
    yield AGGREGATES[qrels.aggregate]
    if qrels.min_relevant:
        yield f"topics with fewer than {qrels.min_relevant} of grade {qrels.relevant_from} or more are dropped"
    if qrels.export_groups:
        yield "each group's grades also apart"


def _interaction(protocol: Protocol) -> str:
    if protocol.interaction is None:
        return ""
    return (
        f"{protocol.interaction.seconds_per_topic} seconds a topic, then {protocol.interaction.run_kind} runs"
    )


def _published(published: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number:g}" for name, number in published.items())
