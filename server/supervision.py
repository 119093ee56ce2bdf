"""Watches what `make run` has started, and starts again what ends unexpectedly.

What ends again and again is not started again: then everything stops, with the last lines of its output.
"""

import selectors
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from server.embedded import Held
from server.os_account import ServerError
from server.processes import Child, RunError, end, say

MAX_RESTARTS = 3
WITHIN_SECONDS = 60.0
OUTPUT_SECONDS = 0.2  # how long to wait for output
SERVER_SECONDS = 1.0  # between two looks at the servers


@dataclass
class Supervisor:
    """The running processes and servers. `starters` start a process, by name."""

    starters: Mapping[str, Callable[[], Child]]
    servers: Sequence[Held]
    children: dict[str, Child] = field(default_factory=dict)
    _restarts: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _next_look: float = 0.0

    def start_all(self) -> None:
        for name, starter in self.starters.items():
            self.children[name] = starter()

    def end_all(self) -> None:
        end(list(self.children.values()))

    def watch(self, is_over: Callable[[], bool], *, restarts: bool) -> None:
        """Print the output of the processes until the condition holds.

        Raises:
            RunError: A process or a server ended, and `restarts` is false or it has ended too often.
        """
        while not is_over():
            self._print_output()
            self._look_at_servers()
            for child in list(self.children.values()):
                if child.has_ended and not is_over():
                    self._replace(child, restarts=restarts)

    def _print_output(self) -> None:
        with selectors.DefaultSelector() as selector:
            for child in self.children.values():
                selector.register(child.output, selectors.EVENT_READ, child)
            for key, _ in selector.select(timeout=OUTPUT_SECONDS):
                _print(key.data)

    def _replace(self, child: Child, *, restarts: bool) -> None:
        _print(child)
        child.kill_group()
        problem = f"{child.name} ended unexpectedly (exit code {child.process.returncode})."
        if not restarts:
            raise RunError(f"{problem} Its last lines:\n{child.last_lines()}")
        self._count_restart(child.name, problem, child.last_lines())
        say(f"{problem} Starting it again.")
        child.output.close()
        self.children[child.name] = self.starters[child.name]()

    def _look_at_servers(self) -> None:
        if time.monotonic() < self._next_look:
            return
        for server in self.servers:
            if not server.is_alive:
                problem = f"{server.name} ended unexpectedly."
                self._count_restart(server.name, problem, "")
                say(f"{problem} Starting it again.")
                try:
                    server.start_again()
                except ServerError as error:
                    raise RunError(
                        f"{server.name} cannot be started again, so everything stops.\n{error}"
                    ) from error
                say(f"{server.name} runs again.")
        self._next_look = time.monotonic() + SERVER_SECONDS

    def _count_restart(self, name: str, problem: str, last_lines: str) -> None:
        now = time.monotonic()
        earlier = self._restarts[name]
        while earlier and earlier[0] < now - WITHIN_SECONDS:
            earlier.popleft()
        if len(earlier) >= MAX_RESTARTS:
            lines = f" Its last lines:\n{last_lines}" if last_lines else ""
            raise RunError(
                f"{problem} It was started again {MAX_RESTARTS} times within {WITHIN_SECONDS:.0f} seconds, so "
                f"everything stops.{lines}"
            )
        earlier.append(now)


def _print(child: Child) -> None:
    for line in child.read():
        say(f"{child.name:<7}| {line}")
