"""Converting chunks on every core, in order. While one batch is being stored, the next are being made."""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assay.formats.documents.batch import Malformed, Packed
from assay.formats.documents.dump import TOO_LONG, Broken, Chunk
from assay.formats.formulas.indexes import FORMS
from corpus.imports.load.helper import packed, unfaulty
from corpus.imports.load.messages import receive, send

ROOT = Path(__file__).resolve().parents[2]
SMALL = 4_000_000  # bytes: below this, starting processes takes longer than the work


class HelperLost(RuntimeError):
    """A converting process has ended by itself: killed, or out of memory."""


def converted(
    chunks: Iterable[Chunk], *, form: str, name: str, n_processes: int
) -> Iterator[tuple[Chunk, Packed]]:
    """Each chunk with what it becomes, in order; in this process if `n_processes` is 0.

    Raises
    ------
    Broken
        A chunk breaks the format, and where.
    """
    with _answers(chunks, form, n_processes) as answers:
        for chunk, batch in answers:
            try:
                batch = unfaulty(batch)
            except Malformed as fault:
                line, byte = chunk.line + fault.n_lines, chunk.start + fault.offset
                raise Broken(name, line, byte, fault.message) from None
            if chunk.n_too_long:
                batch = Packed({}, {}, {TOO_LONG: chunk.n_too_long})
            yield chunk, batch


@contextmanager
def _answers(chunks: Iterable[Chunk], form: str, n: int) -> Iterator[Iterator[tuple[Chunk, Packed]]]:
    if n == 0:
        yield ((chunk, packed(chunk.data, form)) for chunk in chunks)
        return
    with ExitStack() as stack:
        helpers = [stack.enter_context(_helper(form)) for _ in range(n)]
        yield _in_turn(iter(chunks), helpers)


def n_processes(size: int) -> int:
    """How many processes a file of that size is worth: one more than cores, so that none waits for the storing."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return 0 if size < SMALL else cores + 1


@contextmanager
def _helper(form: str) -> "Iterator[subprocess.Popen[bytes]]":
    module = "formula_helper" if form in FORMS else "helper"
    command = [sys.executable, "-m", f"corpus.imports.load.{module}", form]
    # A session of its own: Ctrl-C is for the worker, which then lets its helpers end.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _in_turn(
    chunks: Iterator[Chunk], helpers: "list[subprocess.Popen[bytes]]"
) -> Iterator[tuple[Chunk, Packed]]:
    """One chunk at each helper; its answer is taken before it gets the next, so neither waits for the other."""
    waiting: deque[tuple[Chunk, subprocess.Popen[bytes]]] = deque()
    for helper in helpers:
        _give(chunks, helper, waiting)
    while waiting:
        chunk, helper = waiting.popleft()
        assert helper.stdout is not None
        answer = receive(helper.stdout)  # type: ignore[arg-type]
        if answer is None:
            raise HelperLost(f"the process that converts bytes {chunk.start} to {chunk.end} has ended")
        _give(chunks, helper, waiting)
        yield chunk, Packed.from_bytes(answer)


def _give(
    chunks: Iterator[Chunk],
    helper: "subprocess.Popen[bytes]",
    waiting: "deque[tuple[Chunk, subprocess.Popen[bytes]]]",
) -> None:
    """Hand a helper the next chunk, if there is one."""
    chunk = next(chunks, None)
    if chunk is None:
        return
    assert helper.stdin is not None
    try:
        send(helper.stdin, chunk.data)  # type: ignore[arg-type]
    except BrokenPipeError:
        raise HelperLost(f"the process that converts bytes {chunk.start} to {chunk.end} has ended") from None
    waiting.append((chunk, helper))
