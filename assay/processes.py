"""Work by several processes, with results in the order of the items.

There are two ways to start a process, and each has work for which the other does not serve:

`map_forked` copies this process. A copy starts in milliseconds and shares all that was read before, so a command that
scores many runs against one qrels file uses it: a fresh process needs 0.1 s to import NumPy, as long as it takes to
score a run of 100,000 lines, and would have to receive the qrels. A process with threads, or with a connection to a
database, must not be forked.

`map_fresh` starts new Python processes, and sends items and results through pipes. It works in a worker of the site
too, and on items that are still being read: it holds one item for each process, so memory does not grow with their
number.

In both, the processes end when the process that started them ends, even if that is killed. So does the process of
`command`, which runs the command `assay` apart from this one, to be watched and ended.
"""

import gc
import os
import pickle
import signal
import struct
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from operator import itemgetter
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar, cast

from assay.errors import AssayError, InputWarning

if TYPE_CHECKING:
    import subprocess

Process: TypeAlias = "subprocess.Popen[bytes]"

Item = TypeVar("Item")
Result = TypeVar("Result")
Outcome = tuple[int, Result | Exception]
Refusals = type[Exception] | tuple[type[Exception], ...]

INDEX = struct.Struct("<I")
MAX_ITEMS = 16_000  # their numbers fit into a pipe that nobody has read from yet


class WorkerLost(AssayError):
    """A process ended before it was done, for example killed or out of memory."""


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_forked(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int,
    refusals: Refusals = (),
    started: Callable[[int], None] = lambda n: None,
) -> list[Result]:
    """Call `work` for each item, in this process and in copies of it.

    Each process takes the next item when it is done with one, so that items of different sizes keep all of them busy.
    One process does all the work if there are fewer than two items, or more than 16,000, or if the system is not Linux:
    elsewhere, libraries do not survive a fork.

    Args:
        work: any function; what it changes is lost, only its result comes back, by pickle.
        refusals: classes of exceptions that `work` raises for an item that it refuses.
        started: called in this process, now and then, with the number of items that were begun.

    Returns:
        The results, in the order of the items; an empty list for no items.

    Raises:
        refusals: `work` refused an item; the refusal of the first such item is raised.
        WorkerLost: One of the processes ended before it was done.
    """
    processes = min(processes, len(items))
    if processes < 2 or len(items) > MAX_ITEMS or sys.platform != "linux":
        results: list[Result] = []
        for n, item in enumerate(items):
            started(n)
            results.append(work(item))
        return results
    queue, fill = os.pipe()
    os.write(fill, b"".join(map(INDEX.pack, range(len(items)))))
    os.close(fill)
    children: list[tuple[int, int]] = []
    outcomes: list[Outcome[Result]] = []
    try:
        with _interrupts_delayed():
            children += (_fork(work, items, queue, refusals) for _ in range(processes - 1))
        outcomes += _take_items(work, items, queue, refusals, started)
        while children:
            outcomes += _collect(*children.pop())
    finally:
        os.close(queue)
        for child, source in children:  # nobody needs their outcomes any more
            os.close(source)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    ordered = [outcome for _, outcome in sorted(outcomes, key=itemgetter(0))]
    if refusal := next((outcome for outcome in ordered if isinstance(outcome, Exception)), None):
        raise refusal
    return cast("list[Result]", ordered)


def _take_items(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    queue: int,
    refusals: Refusals,
    started: Callable[[int], None] = lambda n: None,
    is_needed: Callable[[], bool] = lambda: True,
) -> list[Outcome[Result]]:
    """Work on the next item of the queue until it is empty."""
    outcomes: list[Outcome[Result]] = []
    while is_needed() and (index := os.read(queue, INDEX.size)):
        (n,) = INDEX.unpack(index)
        started(n)
        try:
            outcomes.append((n, work(items[n])))
        except refusals as refusal:
            outcomes.append((n, refusal))
    return outcomes


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Deliver Ctrl-C only at the end, so that no copy is started that is not ended."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _fork(
    work: Callable[[Item], Result], items: Sequence[Item], queue: int, refusals: Refusals
) -> tuple[int, int]:
    """Start a copy of this process that takes items; its id, and the pipe from which to read its outcomes."""
    sys.stdout.flush()
    sys.stderr.flush()
    source, sink = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 and later count idle threads of libraries, such as OpenBLAS, which prepares itself for a fork, as
        # the allocator of Linux does. The copy calls no other library, and threads of Python are the caller's concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(sink)
        return child, source
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the copy without a traceback
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    status = 1
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            outcomes = _take_items(work, items, queue, refusals, is_needed=lambda: os.getppid() == parent)
        notes = [warning.message for warning in caught]
        with os.fdopen(sink, "wb") as file:
            pickle.dump((notes, outcomes), file, protocol=pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:  # the copy must not run handlers of the parent, nor flush its buffers
        if status:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)


def _collect(child: int, source: int) -> list[Outcome[Result]]:
    with os.fdopen(source, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise WorkerLost(
            f"a process ended with status {os.waitstatus_to_exitcode(status)} before it was done"
        )
    notes: list[Warning]
    outcomes: list[Outcome[Result]]
    notes, outcomes = pickle.loads(data)  # noqa: S301 -- written by our own child
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return outcomes


def map_fresh(
    work: Callable[[Item], Result], items: Iterable[Item], *, processes: int
) -> Iterator[tuple[Item, Result]]:
    """Call `work` for each item in processes that are started for it, or in this one if `processes` is below 2.

    Each process has one item at a time: the next items are worked on while the caller uses a result. Close the
    iterator, or exhaust it, to end the processes. Ctrl-C reaches this process only.

    Args:
        work: a function of a module, or a `functools.partial` of one; the processes import that module.
        items: may be an iterator that is still being read; items and results are sent by pickle.

    Yields:
        Each item with its result, in the order of the items.

    Raises:
        WorkerLost: One of the processes ended before it was done; its error is printed on standard error.
    """
    if processes < 2:
        for item in items:
            yield item, work(item)
        return
    queue, waiting = iter(items), deque[tuple[Item, Process]]()
    with ExitStack() as stack:
        for _ in range(processes):
            worker = stack.enter_context(_started(["-m", "assay.processes"]))
            _send(worker, work)
            _give(queue, worker, waiting)
        while waiting:
            # A worker's result is read before it gets the next item, so that neither waits forever.
            item, worker = waiting.popleft()
            assert worker.stdout is not None
            try:
                result = pickle.load(worker.stdout)  # noqa: S301 -- written by our own child
            except (EOFError, pickle.UnpicklingError):  # the end, or half a message
                raise _lost(worker) from None
            _give(queue, worker, waiting)
            yield item, result


@contextmanager
def _started(
    words: Sequence[str], *, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """A process of Python that finds modules where this one finds them. It is ended with the block.

    Its output is a pipe, or the file of errors if there is one.
    """
    import subprocess  # noqa: PLC0415 -- slow to import, and map_forked does not need it

    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})}
    with subprocess.Popen(
        [sys.executable, "-P", *words],
        stdin=subprocess.PIPE,
        stdout=errors or subprocess.PIPE,
        stderr=errors,
        env=variables,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


_PROGRAM = """
from assay.processes import end_with_parent
end_with_parent()
from assay.cli.main import main
raise SystemExit(main())
"""


def command(
    words: Sequence[str], *, errors: IO[bytes], environment: Mapping[str, str]
) -> AbstractContextManager[Process]:
    """The command `assay` in a process of its own, without standard input. It is ended with the block.

    Args:
        errors: a file for its standard output and standard error.
        environment: variables that it has in addition to those of this process.
    """
    return _started(["-c", _PROGRAM, *words], errors=errors, environment=environment)


def end_with_parent() -> None:
    """End this process when the one that started it ends, which holds the other end of standard input."""
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)

    def wait() -> None:
        os.read(pipe, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _give(items: Iterator[Item], worker: Process, waiting: deque[tuple[Item, Process]]) -> None:
    """Send a worker the next item, if there is one."""
    for item in items:
        _send(worker, item)
        waiting.append((item, worker))
        return


def _send(worker: Process, message: object) -> None:
    assert worker.stdin is not None
    try:
        _write(worker.stdin, message)
    except BrokenPipeError:
        raise _lost(worker) from None


def _write(pipe: IO[bytes], message: object) -> None:
    pickle.dump(message, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _lost(worker: Process) -> WorkerLost:
    return WorkerLost(f"a process ended with status {worker.wait()} before it was done")


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Be a process of `map_fresh`: read the function, then items, until the pipe ends.

    Collecting garbage after each item, and not during it, saves a twentieth of the time.
    """
    gc.disable()
    work = pickle.load(requests)  # noqa: S301 -- from the process that started this one
    gc.freeze()
    with suppress(EOFError, BrokenPipeError):
        while True:
            item = pickle.load(requests)  # noqa: S301
            result = work(item)
            sys.stdout.flush()  # after its last answer, the process may be ended at once
            _write(answers, result)
            del item, result
            gc.collect()


if __name__ == "__main__":
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as pipe:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the function prints is not an answer
        serve(sys.stdin.buffer, pipe)
