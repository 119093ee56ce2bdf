"""How far a backup or a restore is."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from tqdm import tqdm


class Progress:
    """Receives the steps and the number of processed bytes. This one shows nothing."""

    def begin(self, step: str, total: int | None) -> None:
        """A step begins; `total` is its number of bytes, if that is known."""

    def advance(self, n: int) -> None:
        """A step has processed `n` more bytes."""


class ProgressBar(Progress, AbstractContextManager["ProgressBar"]):
    """A progress bar on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

    def begin(self, step: str, total: int | None) -> None:
        self._close()
        self._bar = tqdm(desc=step, total=total, unit="B", unit_scale=True, disable=None, leave=False)

    def advance(self, n: int) -> None:
        if self._bar is not None:
            self._bar.update(n)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
