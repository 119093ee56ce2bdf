"""Choose pairs of documents to judge, and compute what the votes on them say.

A file of votes has a line for each: topic, left document, right document, the preferred one (or tie, or bad: both are
useless), and perhaps the assessor; or it has judgments of pairs, as .jsonl or .csv. `pairs` prints pairs without a
vote; judge them, add the votes to the file and call it again. `values` prints the values of the documents, and how
far votes contradict one another. `qrels` makes qrels whose highest grades are the winners of the tournament.
`convert` writes the votes as trec_eval or Greedy PGC read them.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from assay.cli.formulas import note
from assay.cli.main import add, add_actions, add_seed, positive
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.judgments.reader import parse_judgments
from assay.formats.qrels.columns import columns_from
from assay.formats.qrels.reader import format_qrels, parse_qrels
from assay.pools.next_pairs import Tournament, all_pairs, candidates
from assay.preferences.values import Comparisons, best_first
from assay.preferences.votes import Vote, as_graph, as_trec_eval, by_topic, read_votes, vote_of
from assay.protocols.pair_rules import TOURNAMENT
from assay.tables import Cell, Table, natural

EXAMPLE = "assay preferences pairs --qrels qrels.txt --votes votes.txt"
FORMS = {"trec_eval": as_trec_eval, "pgc": as_graph}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    pairs = actions.add_parser("pairs", help="print pairs to judge next", example=EXAMPLE)
    _add_tournament(pairs)
    pairs.add_argument(
        "--all",
        action="store_true",
        help="all pairs of the best K and those level with them, without a tournament",
    )
    values = actions.add_parser(
        "values", help="print values of documents", example="assay preferences values --votes votes.txt"
    )
    _add_votes(values, is_required=True)
    add_table_options(values)
    qrels = actions.add_parser(
        "qrels",
        help="make qrels with the winners of the tournament on top",
        example="assay preferences qrels --qrels qrels.txt --votes votes.txt",
    )
    _add_tournament(qrels)
    convert = actions.add_parser(
        "convert",
        help="write votes as other programs read them",
        example="assay preferences convert --votes votes.txt --to trec_eval",
    )
    _add_votes(convert, is_required=True)
    convert.add_argument(
        "--to",
        choices=list(FORMS),
        required=True,
        help="trec_eval: for assay trec_eval -R prefs; pgc: Greedy PGC",
    )
    add(convert, "--output")


def _add_votes(parser: argparse.ArgumentParser, *, is_required: bool) -> None:
    parser.add_argument(
        "--votes",
        required=is_required,
        metavar="FILE",
        help="votes: topic, left, right, preferred document (or tie, or bad) and perhaps assessor per line",
    )


def _votes(path: str) -> list[Vote]:
    """The votes of a file of votes, or of judgments of pairs: lines of JSON or CSV, by the end of the name.

    Raises InputError: the file cannot be read, or lines are wrong, or no pair was judged.
    """
    if not path.endswith((".jsonl", ".csv")):
        return read_votes(path)
    rows = [row for row in parse_judgments(read_file(path), path).rows if row.is_current]
    votes = [vote_of(row.topic, row.docno, row.choice or "", row.assessor, row.left) for row in rows]
    if not any(votes):
        raise InputError(f"{path}: no judgment of it prefers a document of a pair, such as d12|d7")
    return [vote for vote in votes if vote is not None]


def _add_tournament(parser: argparse.ArgumentParser) -> None:
    add(parser, "--qrels")
    _add_votes(parser, is_required=False)
    for name, words in (
        ("k", "number of documents that are to be the best"),
        ("partners", "pairs of each document in a round, above K"),
        ("few", "number of documents of which all pairs are judged, above the partners"),
    ):
        default, metavar = TOURNAMENT[name], name[0].upper()
        parser.add_argument(
            f"--{name}", type=positive, default=default, metavar=metavar, help=f"{words} (default: {default})"
        )
    add_seed(parser)
    add(parser, "--output", "--quiet")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "convert":
        lines = FORMS[arguments.to](_votes(arguments.votes))
        return write_output("".join(lines).encode(), arguments.output)
    status: int = {"pairs": _pairs, "values": _values, "qrels": _qrels}[arguments.action](arguments)
    return status


def _tournament(arguments: argparse.Namespace) -> Tournament:
    if not arguments.k < arguments.partners < arguments.few:
        raise InputError("--k must be less than --partners, and --partners less than --few")
    return Tournament(arguments.k, arguments.partners, arguments.few, arguments.seed)


def _inputs(arguments: argparse.Namespace) -> Iterator[tuple[str, Mapping[str, int], Sequence[Vote]]]:
    """Each topic with its grades and votes."""
    columns = parse_qrels(read_file(arguments.qrels))
    votes = by_topic(_votes(arguments.votes)) if arguments.votes else {}
    grades: dict[str, dict[str, int]] = {code: {} for code in columns.topics.tolist()}
    codes = columns.topics.tolist()
    for topic, docno, grade in zip(
        columns.topic_index.tolist(), columns.docno.tolist(), columns.grade.tolist(), strict=True
    ):
        grades[codes[topic]][docno.decode()] = grade
    for code, of_topic in votes.items():
        unknown = {docno for vote in of_topic for docno in vote.pair} - grades.get(code, {}).keys()
        if unknown:
            raise InputError(f"{arguments.votes}: topic {code}: {min(unknown)} is not in {arguments.qrels}")
    for code in sorted(grades, key=lambda code: (natural(code), code)):
        yield code, grades[code], votes.get(code, [])


def _pairs(arguments: argparse.Namespace) -> int:
    tournament, lines = _tournament(arguments), []
    for code, grades, votes in _inputs(arguments):
        if arguments.all:
            best = candidates(grades, arguments.k)
            pairs = all_pairs(code, best, votes, seed=arguments.seed)
            words = plural(len(best), "document")
        else:
            plan = tournament.plan(code, grades, votes)
            pairs = plan.pairs
            words = (
                f"round {plan.round}{' (the last)' * plan.is_last}, {plural(len(plan.remaining), 'document')}"
            )
            if plan.is_stuck:
                words += ", and the round removed none of them: nothing more to ask"
        note(f"{code}: {words}, {plural(len(pairs), 'pair')} to judge", arguments)
        lines += [f"{code}\t{left}\t{right}\n" for left, right in pairs]
    return write_output("".join(lines).encode(), arguments.output)


def _qrels(arguments: argparse.Namespace) -> int:
    tournament, rows, undecided = _tournament(arguments), [], []
    for code, grades, votes in _inputs(arguments):
        plan = tournament.plan(code, grades, votes)
        if plan.pairs or not plan.is_last:
            undecided.append(code)
        new = tournament.grades(code, grades, votes)
        rows += [(code.encode(), docno.encode(), grade) for docno, grade in new.items()]
    if undecided:
        note(f"the tournament is not complete, so the grades stay: {' '.join(undecided)}", arguments)
    return write_output(format_qrels(columns_from(rows)), arguments.output)


def _values(arguments: argparse.Namespace) -> int:
    documents: list[tuple[Cell, ...]] = []
    consistency: list[tuple[Cell, ...]] = []
    for topic, votes in by_topic(_votes(arguments.votes)).items():
        comparisons = Comparisons(votes)
        copeland, strengths = comparisons.copeland(), comparisons.strengths()
        prior = "yes" if strengths.is_regularized else "no"
        columns = [copeland.tolist(), *(part.tolist() for part in strengths[:3])]
        documents += [
            (topic, comparisons.docnos[n], *(column[n] for column in columns), prior)
            for n in best_first(comparisons.docnos, strengths.log)
        ]
        consistency.append((topic, *comparisons.consistency()))
    tables = [
        Table(
            "documents",
            "pairs won, with half of the ties (Copeland; needs a vote on each pair of the document); Bradley-Terry: "
            "logarithm of the strength with its 95 % interval; prior: a tie of weight 0.1 was added to each pair",
            ("topic", "docno", "copeland", "strength", "low", "high", "prior"),
            documents,
        ),
        Table(
            "consistency",
            "pairs with votes; circular triads of all decided ones; Kendall's zeta, if all pairs are decided; pairs "
            "that an assessor judged in both orders, and alike; share of votes for the left",
            ("topic", "judged", "pairs", "circular", "triads", "zeta", "repeated", "alike", "left"),
            consistency,
        ),
    ]
    return print_tables(tables, arguments)
