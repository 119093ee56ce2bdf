"""A program that judges: one line of JSON in, one line out. It runs until all units are judged.

The program is started without a shell, in a process group of its own, so that whatever it starts ends with it. Its
standard error is ours.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Self

from assay.errors import AssayError

MAX_ANSWER = 1 << 20  # bytes of a line
BLOCK = 1 << 16
SECONDS_TO_END = 2.0  # after its input is closed


class ProgramFailed(AssayError):
    """The program did not answer, so it was stopped. It is started again for the next unit."""


class Program:
    """A running program, or one that is started when the next unit comes."""

    def __init__(self, command: Sequence[str], *, timeout: float) -> None:
        self.command = command
        self.timeout = timeout
        self.n_answers = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.end()
        else:
            self.stop()

    def ask(self, line: bytes) -> bytes:
        """The program's answer to a line, without its line end.

        Raises:
            ProgramFailed: It ended, it did not answer in time, or its answer is too long.
            OSError: It cannot be started.
        """
        process = self._process or self._start()
        try:
            answer = self._exchange(process, line)
        except ProgramFailed:
            self.stop()
            raise
        self.n_answers += 1
        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self._process, self._rest = process, b""
        return process

    def _exchange(self, process: "subprocess.Popen[bytes]", line: bytes) -> bytes:
        """Write the line and read the answer at once: a program may answer before it has read all of a long line."""
        assert process.stdin is not None
        assert process.stdout is not None
        end = monotonic() + self.timeout
        waiting, received = memoryview(line), self._rest
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stdin, selectors.EVENT_WRITE)
            while waiting or b"\n" not in received:
                ready = selector.select(max(0.0, end - monotonic()))
                if not ready:
                    raise ProgramFailed(f"the program did not answer within {self.timeout:g} seconds")
                for key, _ in ready:
                    if key.fileobj is process.stdin:
                        waiting = self._write(process, waiting)
                        if not waiting:
                            selector.unregister(process.stdin)
                    elif block := os.read(process.stdout.fileno(), BLOCK):
                        received += block
                    else:
                        raise ProgramFailed(self._why_ended(process))
                if len(received) > MAX_ANSWER:
                    raise ProgramFailed(f"the program wrote a line of more than {MAX_ANSWER >> 20} MB")
        answer, _, self._rest = received.partition(b"\n")
        return answer

    def _write(self, process: "subprocess.Popen[bytes]", waiting: memoryview) -> memoryview:
        assert process.stdin is not None
        try:
            return waiting[os.write(process.stdin.fileno(), waiting[:BLOCK]) :]
        except BrokenPipeError:
            raise ProgramFailed(self._why_ended(process)) from None

    @staticmethod
    def _why_ended(process: "subprocess.Popen[bytes]") -> str:
        try:
            status = process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "the program closed its output without an answer"
        if status < 0:
            return f"the program was ended by the signal {signal.Signals(-status).name}"
        return f"the program ended with status {status} before it had answered"

    def end(self) -> None:
        """Close the input of the program, and give it a moment to end by itself."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS_TO_END)
        self.stop()

    def stop(self) -> None:
        """Kill the program and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
