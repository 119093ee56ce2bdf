"""What `assay judge` does with one unit, from files or from a server."""

import json
import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any

from tqdm import tqdm

from assay.judging.answers import Answer, BadAnswer, read_answer
from assay.judging.program import Program, ProgramFailed
from assay.protocols.schema import JudgingRules

IN_A_ROW = 5  # failures after which the program is not called again


def ask(program: Program, question: Mapping[str, Any], rules: JudgingRules) -> tuple[Answer, float] | str:
    """The program's answer to a unit, and the seconds that it took; or what went wrong."""
    start = monotonic()
    try:
        line = program.ask(json.dumps(question, ensure_ascii=False).encode() + b"\n")
        answer = read_answer(line, topic=question["topic"], docno=question["document"], rules=rules)
    except ProgramFailed as error:
        return str(error)
    except BadAnswer as error:
        if error.is_lost:
            program.stop()
        return f"line {program.n_answers} of the answers: {error}"
    return answer, monotonic() - start


def report(message: str) -> None:
    """Print a message above the progress bar."""
    with tqdm.external_write_mode(file=sys.stderr):
        print(f"assay judge: {message}", file=sys.stderr)  # noqa: T201
