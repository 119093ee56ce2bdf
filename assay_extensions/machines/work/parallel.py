"""Units that are judged in parallel."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

from assay_extensions.machines.model.client import BudgetSpent

Item = TypeVar("Item")
Result = TypeVar("Result")
TICK = 5.0  # seconds without a result after which `tick` is called


def in_parallel(
    items: Iterator[Item],
    work: Callable[[Item], Result],
    *,
    connections: int,
    stop: Callable[[], None],
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result, as they are done. Items are taken as they are needed.

    Args:
        stop: ends the waits of the work; called if not all results are read.
        tick: called after each result, and regularly without one.

    Raises:
        BudgetSpent: After the results of the work that had begun.
    """
    done = SimpleQueue[Future[tuple[Item, Result]]]()
    n_waiting, has_more, spent, is_read = 0, True, None, False
    with ThreadPoolExecutor(connections) as pool:
        try:
            while True:
                while has_more and spent is None and n_waiting < 2 * connections:
                    try:
                        item = next(items)
                    except StopIteration:
                        has_more = False
                        break
                    pool.submit(lambda item: (item, work(item)), item).add_done_callback(done.put)
                    n_waiting += 1
                if not n_waiting:
                    is_read = True
                    break
                try:
                    future = done.get(timeout=TICK)
                except Empty:
                    tick()
                    continue
                n_waiting -= 1
                try:
                    yield future.result()
                except BudgetSpent as error:
                    spent = error
                tick()
        finally:
            if not is_read:
                stop()
            pool.shutdown(wait=True, cancel_futures=True)
    if spent is not None:
        raise spent
