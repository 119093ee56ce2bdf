"""Rate systems by battles of their answers, draw battles to judge, and convert files of battles.

`board` prints ratings with their intervals, the wins of each pair, the difference of each pair with its own interval,
and how far battles contradict one another. Battles of one topic depend on each other, so the intervals take them
together (--by topic). A system that won or lost everything has no rating, and systems that cannot be compared are in
several groups; --prior 0.5 adds half a win each way between all systems, and so makes one group of them.

`draw` prints battles for the answers of some runs: topic, and the systems on side A and B. `convert` writes battles as
other programs read them.

Files of battles: a table with the columns model_a, model_b and winner (model_a, model_b, tie or both_bad), and perhaps
battle, topic and assessor; or judgments.jsonl of RAGDoll.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.cli.formulas import note
from assay.cli.main import add, add_actions, add_seed, input_path, positive
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.text import read_text
from assay.structure import strict_json
from assay.tables import natural
from assay_extensions.battles.board_tables import tables_of
from assay_extensions.battles.drawing import draw
from assay_extensions.battles.ratings import Board, rate
from assay_extensions.battles.records import FORMS, Battle, read_battles

EXAMPLE = "assay battles board battles.tsv"
TOPIC = ("qid", "topic_id", "query_id", "narrative_id", "task_id")
RUN = ("run_id", "runtag", "run")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    board = actions.add_parser("board", help="print a board of systems", example=EXAMPLE)
    _add_battles(board)
    board.add_argument(
        "--by",
        choices=("topic", "assessor", "battle"),
        default="topic",
        help="battles that depend on each other (default: those of a topic)",
    )
    board.add_argument(
        "--prior", type=float, default=0.0, metavar="WINS", help="wins each way added between all systems"
    )
    add_table_options(board)
    drawing = actions.add_parser(
        "draw", help="print battles to judge", example="assay battles draw rag/owls.jsonl rag/crows.jsonl"
    )
    drawing.add_argument("runs", nargs="+", type=input_path, metavar="RUN", help="answers in JSON lines")
    drawing.add_argument(
        "--per-system",
        type=positive,
        default=4,
        metavar="N",
        help="battles of each system on a topic, on average (default: 4)",
    )
    add_seed(drawing)
    drawing.add_argument(
        "--after", metavar="FILE", help="battles judged so far: the pairs in doubt come first"
    )
    add(drawing, "--output", "--quiet")
    convert = actions.add_parser(
        "convert",
        help="write battles as other programs read them",
        example="assay battles convert battles.tsv --to arena",
    )
    _add_battles(convert)
    convert.add_argument(
        "--to",
        choices=list(FORMS),
        required=True,
        help="tsv: all columns; arena: model_a,model_b,winner of arena-rank; ragdoll: its judgments.jsonl",
    )
    add(convert, "--output", "--quiet")


def _add_battles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("battles", metavar="FILE", help="battles; - is standard input")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "draw":
        return _draw(arguments)
    battles = _battles(arguments.battles, arguments)
    if arguments.action == "convert":
        return write_output(FORMS[arguments.to].write(battles).encode(), arguments.output)
    if not 0 <= arguments.prior <= 100:
        raise InputError(f"--prior: {arguments.prior:g} is not between 0 and 100")
    if arguments.by != "battle" and not any(getattr(battle, arguments.by) for battle in battles):
        raise InputError(f"{arguments.battles}: no battle has its {arguments.by}; use --by battle")
    board = rate(battles, by=arguments.by, prior=arguments.prior)
    _note_groups(board, arguments)
    return print_tables(tables_of(board), arguments)


def _battles(path: str, arguments: argparse.Namespace) -> list[Battle]:
    read = read_battles(read_text(path), path)
    if read.n_failed:
        note(f"{path}: {plural(read.n_failed, 'battle')} failed, and are not counted", arguments)
    return read.battles


def _note_groups(board: Board, arguments: argparse.Namespace) -> None:
    if board.unrated:
        names = ", ".join(board.unrated)
        note(
            f"without a rating, because nobody is both above and below them, by wins or ties: {names}; --prior "
            "0.5 gives one",
            arguments,
        )
    if (n := sum(len(group.members) > 1 for group in board.groups)) > 1:
        note(
            f"{n} groups of systems that cannot be compared: each has ratings of its own around 1000",
            arguments,
        )


def _draw(arguments: argparse.Namespace) -> int:
    board = rate(_battles(arguments.after, arguments)) if arguments.after else None
    systems_of: defaultdict[str, list[str]] = defaultdict(list)
    seen: dict[tuple[str, str], str] = {}
    for path in arguments.runs:
        for number, line in enumerate(read_file(path).split(b"\n"), 1):
            if not line.strip():
                continue
            topic, system = _named(line, path, number)
            if (topic, system) in seen:
                before = seen[topic, system]
                raise InputError(f"{path}: line {number}: {system} answers {topic} in {before} already")
            seen[topic, system] = f"{path}, line {number}"
            systems_of[topic].append(system)
    ordered = {
        topic: systems_of[topic] for topic in sorted(systems_of, key=lambda code: (natural(code), code))
    }
    if board is not None:
        _note_unknown(board, systems_of, arguments)
    drawn = draw(ordered, per_system=arguments.per_system, seed=str(arguments.seed), board=board)
    if not drawn:
        raise InputError("no topic has the answers of two systems")
    note(
        f"{plural(len(drawn), 'battle')} on {plural(len({each.topic for each in drawn}), 'topic')}", arguments
    )
    lines = ["topic\tmodel_a\tmodel_b\n", *("\t".join(battle) + "\n" for battle in drawn)]
    return write_output("".join(lines).encode(), arguments.output)


def _note_unknown(
    board: Board, systems_of: Mapping[str, Sequence[str]], arguments: argparse.Namespace
) -> None:
    """Name the systems of the judged battles that have no answer among the runs."""
    known = {system for systems in systems_of.values() for system in systems}
    if unknown := [name for name in board.outcomes.systems if name not in known]:
        names = ", ".join(unknown)
        note(
            f"{arguments.after}: systems without an answer in the runs, which change nothing: {names}",
            arguments,
        )


def _named(line: bytes, path: Path, number: int) -> tuple[str, str]:
    """The topic and the system of an answer; keys are those of RAGDoll, also in `metadata`."""
    try:
        row = strict_json(line.decode())
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number}: it is not a JSON object")
    facts = row.get("metadata")
    places = [row, facts] if isinstance(facts, dict) else [row]
    return _first(places, TOPIC, f"{path}: line {number}"), _first(places, RUN, f"{path}: line {number}")


def _first(places: list[dict[str, Any]], keys: tuple[str, ...], line: str) -> str:
    """The value of the first of the keys that a place has."""
    values = (place[key] for place in places for key in keys if place.get(key) not in (None, ""))
    value = next(values, None)
    if not isinstance(value, (str, int)) or not str(value).split():
        raise InputError(f"{line}: it has none of the keys {', '.join(keys)}")
    return " ".join(str(value).split())
