"""Work on many files by as many processes as there are processors.

The processes are forked, so that they share what was read before (qrels, modules) and start in a few milliseconds;
where a system cannot fork, or there is little to do, one process does all. Each takes the next item from a pipe when
it is done with one, so that files of different size keep all of them busy.
"""

import os
import pickle
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Outcome = tuple[int, Result | Exception]

PLACE = struct.Struct("<I")
MOST_ITEMS = 16_000  # what a pipe holds while nobody reads


class WorkerLost(Exception):
    """A process ended before it was done: out of memory, perhaps, or killed."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int,
    refusals: type[Exception],
    taken: Callable[[int], None] = lambda n: None,
) -> list[Result]:
    """What `work` gives for each item, in their order.

    A refusal (an exception of the class `refusals`) of any item is raised, that of the first where there are several.
    `taken` is told now and then how many items were taken up.

    Raises
    ------
    WorkerLost
        One of the processes ended before it was done.
    """
    processes = min(processes, len(items))
    if processes < 2 or len(items) > MOST_ITEMS or not hasattr(os, "fork"):
        return [_in_turn(work, item, n, taken) for n, item in enumerate(items)]
    queue, fill = os.pipe()
    os.write(fill, b"".join(map(PLACE.pack, range(len(items)))))
    os.close(fill)
    children = [_fork(work, items, queue, refusals) for _ in range(processes - 1)]
    outcomes = _work_off(work, items, queue, refusals, taken)
    os.close(queue)
    for child in children:
        outcomes += _collected(*child)
    results: list[Result] = []
    for _, outcome in sorted(outcomes, key=itemgetter(0)):
        if isinstance(outcome, Exception):
            raise outcome
        results.append(outcome)
    return results


def _in_turn(work: Callable[[Item], Result], item: Item, n: int, taken: Callable[[int], None]) -> Result:
    taken(n)
    return work(item)


def _work_off(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    queue: int,
    refusals: type[Exception],
    taken: Callable[[int], None] = lambda n: None,
) -> list[Outcome[Result]]:
    """Take items until there are none left."""
    outcomes: list[Outcome[Result]] = []
    while place := os.read(queue, PLACE.size):
        (n,) = PLACE.unpack(place)
        taken(n)
        try:
            outcomes.append((n, work(items[n])))
        except refusals as refusal:
            outcomes.append((n, refusal))
    return outcomes


def _fork(
    work: Callable[[Item], Result], items: Sequence[Item], queue: int, refusals: type[Exception]
) -> tuple[int, int]:
    """Start a process that works items off; its id, and where its outcomes can be read."""
    sys.stdout.flush()
    sys.stderr.flush()
    source, sink = os.pipe()
    child = os.fork()
    if child:
        os.close(sink)
        return child, source
    status = 1
    try:
        outcomes = _work_off(work, items, queue, refusals)
        with os.fdopen(sink, "wb") as file:
            pickle.dump(outcomes, file, protocol=pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:  # nothing of the parent's may run here: no handler, no flushing of its buffers
        if status:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)


def _collected(child: int, source: int) -> list[Outcome[Result]]:
    with os.fdopen(source, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise WorkerLost(
            f"a process ended with status {os.waitstatus_to_exitcode(status)} before it was done"
        )
    outcomes: list[Outcome[Result]] = pickle.loads(data)  # noqa: S301 -- written by our own child
    return outcomes
