"""Compare judges with people: their scores of runs, their grades, and whether they may take the place of a person.

`scores` compares tables of scores of runs: Kendall's tau-b and other correlations with the truth, also among the best
runs, with intervals over topics, and which significant differences the judge keeps. `qrels` compares grades by topic,
threshold and grade. `alt-test` tests whether a machine may take the place of a person. `check` checks the files that a
judge submits.

Exit status: 0 success, 1 a file has problems or the alt-test has not enough grades, 2 a file or an option cannot be
used.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.cli.main import add, add_actions, positive
from assay.cli.tables import add_table_options, print_tables
from assay.errors import InputError
from assay.formats.compression import opened, read_file
from assay.formats.qrels.reader import QrelsError, parse_qrels
from assay.formats.text import read_data
from assay.formats.topics.reader import read_codes
from assay.measures.boards import FORMS
from assay.measures.scores import ALL, ScoreRow
from assay.protocols.loader import load_protocol
from assay.protocols.scales import scale_named
from assay.research.agreement import agreement
from assay.research.evaluation import evaluate
from assay.tables import Table
from assay_extensions.metaevaluation import comparison, qrels
from assay_extensions.metaevaluation.alt_test import (
    EPSILON,
    FALSE_DISCOVERIES,
    LEAST_UNITS,
    SCORES,
    alt_test,
    joined,
)
from assay_extensions.metaevaluation.judgments import (
    FORM_WITHOUT_SCORES,
    LIMITS,
    SCORED,
    check,
    files_of,
    without_judgments,
)
from assay_extensions.metaevaluation.scores import Scores, read_scores, scores_of

KINDS = ("qrels", "nuggets", "scores")
UNDECIDED = 1  # exit status
EXAMPLE = (
    "assay meta scores --protocol arqmath-2020-task1 --qrels qrels.txt --judge-qrels qrels-marek.txt runs/abacus.tsv "
    "runs/abacus-text.tsv runs/lemma.tsv"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    scores = actions.add_parser("scores", help="compare scores of runs with the truth", example=EXAMPLE)
    scores.add_argument("--truth", metavar="FILE", help="table of scores that is true")
    form = "the form of tables of scores (default: detected)"
    scores.add_argument("--form", choices=FORMS, default="", help=form)
    scores.add_argument(
        "--truth-measure", dest="measure", metavar="NAME", help="measure of the truth, if it has several"
    )
    scores.add_argument(
        "--missing",
        choices=comparison.MISSING,
        default="refuse",
        help="what runs of only one table do: refuse; common leaves them out; zero gives them 0 by the judge "
        "(default: refuse)",
    )
    add(scores, "--topics", words=" that count, such as held-out topics")
    scores.add_argument(
        "--top",
        type=positive,
        action="append",
        metavar="K",
        help="compare also the K best runs of the truth; repeat it (default: 5 and 10)",
    )
    scores.add_argument(
        "--resamples",
        type=positive,
        default=comparison.N_RESAMPLES,
        metavar="N",
        help=f"random samples of topics for the intervals (default: {comparison.N_RESAMPLES})",
    )
    add(scores, "--seed", default=0, words=" (default: 0)")
    add(scores, "--qrels", required=False)
    scores.add_argument(
        "--judge-qrels", metavar="FILE", help="qrels of the judge: with --qrels, in place of tables"
    )
    add(scores, "--protocol", required=False)
    scores.add_argument(
        "files", nargs="+", metavar="FILE", help="tables of scores of judges; with --qrels, runs"
    )
    add_table_options(scores)
    grades = actions.add_parser(
        "qrels",
        help="compare grades with those of people",
        example="assay meta qrels --qrels qrels.txt qrels-marek.txt --level 2",
    )
    add(grades, "--qrels")
    grades.add_argument("judge", metavar="FILE", help="qrels of the judge")
    add(grades, "--protocol", required=False)
    add(grades, "--level")
    add_table_options(grades)
    test = actions.add_parser(
        "alt-test",
        help="test whether a machine may take the place of a person",
        example="assay meta alt-test --machine qrels --least 5 judgments.csv qrels.txt",
    )
    test.add_argument(
        "--machine",
        required=True,
        action="append",
        metavar="NAME",
        help="an assessor that is a machine; repeat it for each machine of the files, because all others are people",
    )
    add(test, "--protocol", required=False)
    test.add_argument(
        "--question", default="", metavar="KEY", help="the answers to this question, not the grades"
    )
    test.add_argument(
        "--epsilon",
        type=float,
        default=EPSILON,
        metavar="E",
        help=f"advantage of a person that is given up: 0.2 for experts, 0.15 for skilled people (default: {EPSILON})",
    )
    test.add_argument(
        "--score",
        choices=SCORES,
        default=SCORES[0],
        help=f"how grades agree: equal ones, or root mean square of differences (default: {SCORES[0]})",
    )
    test.add_argument(
        "--false-discoveries",
        type=float,
        default=FALSE_DISCOVERIES,
        metavar="Q",
        help=f"rate of false discoveries over all people (default: {FALSE_DISCOVERIES})",
    )
    test.add_argument(
        "--least",
        type=positive,
        default=LEAST_UNITS,
        metavar="N",
        help=f"people with fewer units are not tested (default: {LEAST_UNITS})",
    )
    test.add_argument(
        "judgments", nargs="+", metavar="FILE", help="judgments or qrels, as for assay agreement"
    )
    add_table_options(test)
    files = actions.add_parser(
        "check",
        help="check the files of a judge: qrels, nuggets, scores",
        example="assay meta check --kind qrels --topics topics.txt qrels.txt",
    )
    files.add_argument("--kind", choices=KINDS, help="what the files contain (default: their names say it)")
    files.add_argument("--form", choices=FORMS, default="", help=form)
    add(files, "--protocol", required=False)
    add(files, "--topics")
    files.add_argument(
        "paths", nargs="+", metavar="PATH", help="file, or folder or ZIP file as AutoJudge writes it"
    )
    add_table_options(files)


def run(arguments: argparse.Namespace) -> int:
    return ACTIONS[arguments.action](arguments)


def _scores(arguments: argparse.Namespace) -> int:
    truth, judges = _by_qrels(arguments) if arguments.qrels else _by_tables(arguments)
    topics = arguments.topics and read_codes(read_file(str(arguments.topics)), str(arguments.topics))
    compared = [
        comparison.compare(
            of_truth,
            judge,
            missing=arguments.missing,
            topics=topics,
            tops=tuple(sorted(set(arguments.top or comparison.TOPS))),
            n_resamples=arguments.resamples,
            seed=arguments.seed,
        )
        for of_truth, judge in _pairs(truth, judges, arguments.measure)
    ]
    for row in compared:
        names = f"{row.truth_measure}, {row.judge_measure}"
        constant = ["no order: all runs have the same score by one of them"] if row.is_constant else []
        for note in (*row.notes, *constant):
            print(f"{names}: {note}", file=sys.stderr)  # noqa: T201
    return print_tables(comparison.tables(compared), arguments)


def _pairs(truth: list[Scores], judges: list[Scores], measure: str | None) -> list[tuple[Scores, Scores]]:
    """Each measure of judges with that of the truth: of the same name, else the one that --truth-measure names."""
    by_name = {scores.measure: scores for scores in truth}
    if measure is not None and measure not in by_name:
        raise InputError(
            f"--truth-measure: {truth[0].source} has no {measure!r}; it has {', '.join(by_name)}"
        )
    if measure is not None:
        return [(by_name[measure], judge) for judge in judges]
    if len(truth) == 1:
        return [(truth[0], judge) for judge in judges]
    pairs = [(by_name[judge.measure], judge) for judge in judges if judge.measure in by_name]
    if not pairs:
        raise InputError(f"{truth[0].source} has {', '.join(by_name)}; choose one with --truth-measure")
    return pairs


def _by_tables(arguments: argparse.Namespace) -> tuple[list[Scores], list[Scores]]:
    if not arguments.truth:
        raise InputError("name the scores of the truth with --truth, or qrels with --qrels and --judge-qrels")
    truth, *judges = (
        read_scores(read_file(path), path, arguments.form) for path in (arguments.truth, *arguments.files)
    )
    return truth, [scores for judge in judges for scores in judge]


def _by_qrels(arguments: argparse.Namespace) -> tuple[list[Scores], list[Scores]]:
    """The scores of runs with the qrels of people, and with those of a judge."""
    if arguments.truth or not arguments.judge_qrels:
        raise InputError("--qrels needs --judge-qrels, and no --truth")
    measures = () if arguments.measure is None else (arguments.measure,)
    both = []
    for path in (arguments.qrels, arguments.judge_qrels):
        scored = evaluate(path, arguments.files, measures, protocol=arguments.protocol)
        rows = [
            ScoreRow(run, topic, str(measure), float(value))
            for run, by_topic, means in zip(scored.names, scored.values, scored.means, strict=True)
            for n, measure in enumerate(scored.measures)
            for topic, value in [
                *zip(scored.topics, by_topic[:, n].tolist(), strict=True), (ALL, float(means[n])),
            ]
        ]  # fmt: skip
        both.append(scores_of(rows, path))
    return both[0], both[1]


def _qrels(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    read = []
    for path in (arguments.qrels, arguments.judge):
        try:
            read.append(parse_qrels(read_data(path)))
        except QrelsError as error:
            raise InputError(f"{path}: {error}") from None
    level = arguments.level or (scale_named(protocol, "").level if protocol else 1)
    grades = [grade.value for grade in protocol.judging.grades] if protocol else []
    return print_tables(qrels.tables(*read, level=level, grades=grades), arguments)


def _alt_test(arguments: argparse.Namespace) -> int:
    read = agreement(arguments.judgments, protocol=arguments.protocol, question=arguments.question)
    tests = [
        alt_test(
            read.graded,
            machine,
            others=arguments.machine,
            epsilon=arguments.epsilon,
            score=arguments.score,
            false_discoveries=arguments.false_discoveries,
            least_units=arguments.least,
        )
        for machine in dict.fromkeys(arguments.machine)
    ]
    print_tables(joined(tests), arguments)
    sys.stdout.flush()
    for test in tests:
        print(test.verdict, file=sys.stderr)  # noqa: T201
    return 0 if all(test.tests for test in tests) else UNDECIDED


def _check(arguments: argparse.Namespace) -> int:
    topics = read_codes(read_file(str(arguments.topics)), str(arguments.topics)) if arguments.topics else ()
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    grades = [grade.value for grade in protocol.judging.grades] if protocol else []
    paths = [
        path
        for given in map(Path, arguments.paths)
        for path in (
            sorted(path for path in given.iterdir() if path.is_file()) if given.is_dir() else [given]
        )
    ]
    results = []
    for path in map(str, paths):
        with opened(path, LIMITS) as source:
            results += [
                check(data, name, kind=arguments.kind, form=arguments.form, topics=topics, grades=grades)
                for name, data in files_of(source, path)
            ]
    kinds = {result.kind for result in results}
    if arguments.form and "scores" not in kinds:
        raise InputError(f"--form: {FORM_WITHOUT_SCORES}")
    problems = [problem for result in results for problem in result.problems]
    if not problems and not kinds & {*SCORED}:
        problems.append(without_judgments([result.name for result in results]))
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201
    words = "kind of each file, number of lines of qrels, lists of nuggets or measures, of topics, and of problems"
    rows = [
        (result.name, result.kind, result.n_rows, len(result.topics), len(result.problems))
        for result in results
    ]
    print_tables([Table("files", words, ("file", "kind", "rows", "topics", "problems"), [*rows])], arguments)
    return 1 if problems else 0


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "scores": _scores,
    "qrels": _qrels,
    "alt-test": _alt_test,
    "check": _check,
}
