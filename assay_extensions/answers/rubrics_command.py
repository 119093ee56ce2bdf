"""Score answers by rubrics, show which criteria separate systems, and convert files of rubrics.

A rubric is a list of weighted criteria for a topic. Graded answers are JSON lines with qid, run_id and criteria: each
has text, weight, tier, type and verdict (satisfied, partially_satisfied or not_satisfied). The score of an answer is
the sum of weight times value (1, 1/2, 0), divided by the sum of the positive weights; a negative weight is of what an
answer must avoid. A rubric without a positive weight has no score, and its topic is left out of the mean of a run.

`impact` prints for each criterion the share of the answers that satisfy it: a criterion that more than 0.8 satisfy is
universal, one that fewer than 0.1 satisfy is hard, and the others separate systems.
"""

import argparse
import warnings
from collections import defaultdict

from assay.cli.main import add, add_actions
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.errors import InputWarning
from assay.formats.compression import read_file
from assay.tables import Cell, Table, natural
from assay_extensions.answers.rubric_files import WRITERS, read_graded, read_rubrics, write_rubrics
from assay_extensions.answers.rubrics import BINARY, SATISFIED, Rubric, impacts, score

EXAMPLE = "assay rubrics score rag/graded.jsonl"
SHOWN = 5  # verdicts that a warning names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    scores = actions.add_parser("score", help="print the scores of graded answers", example=EXAMPLE)
    _add_graded(scores)
    impact = actions.add_parser(
        "impact",
        help="print which criteria separate systems",
        example="assay rubrics impact rag/graded.jsonl",
    )
    _add_graded(impact)
    convert = actions.add_parser(
        "convert",
        help="write rubrics as other programs read them",
        example="assay rubrics convert rag/rubrics.jsonl --to research-rubrics",
    )
    convert.add_argument("file", metavar="FILE", help="rubrics in JSON lines; - for standard input")
    convert.add_argument(
        "--to",
        choices=list(WRITERS),
        required=True,
        help="ragdoll: criteria with text, type, tier and weight; research-rubrics: criterion, weight and axis, "
        "as in the development data of TREC RAG 2026",
    )
    add(convert, "--output", "--quiet")


def _add_graded(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="graded answers in JSON lines; - for standard input")
    parser.add_argument(
        "--unknown-verdicts",
        choices=("refuse", "not-satisfied"),
        default="refuse",
        help="count other words, such as failed, as not satisfied, as RAGDoll does (default: refuse)",
    )
    add_table_options(parser)


def run(arguments: argparse.Namespace) -> int:
    data = read_file(arguments.file)
    if arguments.action == "convert":
        return write_output(write_rubrics(read_rubrics(data, arguments.file), arguments.to), arguments.output)
    unknown: list[str] | None = None if arguments.unknown_verdicts == "refuse" else []
    answers = read_graded(data, arguments.file, unknown=unknown)
    if unknown:
        more = f"; and {len(unknown) - SHOWN:,} more" if len(unknown) > SHOWN else ""
        text = f"{arguments.file}: counted as not satisfied: {'; '.join(unknown[:SHOWN])}{more}"
        warnings.warn(text, InputWarning, stacklevel=2)
    tables = [impact_table(answers)] if arguments.action == "impact" else _scores(answers)
    return print_tables(tables, arguments)


def _scores(answers: list[Rubric]) -> list[Table]:
    by_run: defaultdict[str, list[Rubric]] = defaultdict(list)
    for answer in answers:
        by_run[answer.run].append(answer)
    runs: list[tuple[Cell, ...]] = []
    cells: list[tuple[Cell, ...]] = []
    for run_id, own in sorted(by_run.items()):
        scores = [(score(answer.criteria), score(answer.criteria, BINARY)) for answer in own]
        means = [_mean([pair[n] for pair in scores]) for n in (0, 1)]
        failed = sum(answer.failed for answer in own)
        runs.append((run_id, len(own), sum(pair[0] is None for pair in scores), *means, failed))
        rows = sorted(zip(own, scores, strict=True), key=lambda row: (natural(row[0].topic), row[0].topic))
        cells += [
            (run_id, answer.topic, *pair, len(answer.criteria), answer.failed, answer.words)
            for answer, pair in rows
        ]
    runs.sort(key=lambda row: (row[3] is None, -(row[3] or 0.0), row[0]))  # type: ignore[operator]
    return [
        Table(
            "runs",
            "answers, those whose rubric has no positive weight, mean score of the others, the same with value 0 for "
            "what is satisfied in part, and mandatory criteria that are not satisfied",
            ("run", "answers", "no_score", "score", "binary", "mandatory_failed"),
            runs,
        ),
        Table(
            "answers",
            "score of each answer, criteria, mandatory ones that are not satisfied, and words",
            ("run", "topic", "score", "binary", "criteria", "mandatory_failed", "words"),
            cells,
        ),
        type_table(answers),
    ]


def _mean(scores: list[float | None]) -> float | None:
    known = [value for value in scores if value is not None]
    return sum(known) / len(known) if known else None


def type_table(answers: list[Rubric]) -> Table:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for criterion in (each for answer in answers for each in answer.criteria):
        counts[criterion.kind][0] += 1
        counts[criterion.kind][1] += criterion.verdict != SATISFIED
    rows: list[tuple[Cell, ...]] = [
        (kind, n, failed, failed / n) for kind, (n, failed) in sorted(counts.items())
    ]
    return Table(
        "types",
        "verdicts by the type of the criterion, and those that are not satisfied in full",
        ("type", "verdicts", "failed", "share"),
        rows,
        "Types of criteria",
    )


def impact_table(answers: list[Rubric]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            each.topic,
            each.criterion.weight,
            each.criterion.tier,
            each.runs,
            each.satisfied,
            each.partly,
            each.verdict,
            each.criterion.text,
        )
        for each in impacts(answers)
    ]
    return Table(
        "impact",
        "weight and tier of each criterion, answers, shares that satisfy it and that do so in part",
        ("topic", "weight", "tier", "answers", "satisfied", "partly", "impact", "criterion"),
        rows,
        "Criteria",
    )
