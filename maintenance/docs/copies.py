"""The command `assay` as copies of a process that has imported it: an import takes most of the time of a short command.

    python -m maintenance.docs.copies FIFO    # a request: shell and its streams, folder, reply, words; a mark

A shell defines the command by the text of `function`. The copy has the standard streams of the shell, which it opens
through `/proc`, so that pipes and redirections work as they do with a process that the shell starts.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import BinaryIO

END = "\x1d"
# One `printf`, so that requests of the commands of a pipe do not mix. The reply of each is a pipe of its own. The shell
# gives its streams other numbers first, because it redirects the usual ones for `printf` and `read`.
FUNCTION = """assay() {{
    local reply={folder}/$BASHPID status in out err
    mkfifo "$reply"
    exec {{in}}<&0 {{out}}>&1 {{err}}>&2
    printf '%s\\0' "$BASHPID $in $out $err" "$PWD" "$reply" "$@" {end} >{folder}/requests
    read -r status <"$reply"
    exec {{in}}<&- {{out}}>&- {{err}}>&-
    rm "$reply"
    return "$status"
}}"""


def function(settings: Mapping[str, str]) -> str:
    """The definition of `assay` for a shell with these variables. Where there is no `/proc`, it starts a process."""
    if not Path("/proc/self/fd").is_dir():
        return f'assay() {{ {shlex.quote(sys.executable)} -m assay "$@"; }}'
    folder = _original(tuple(sorted(settings.items())))
    return FUNCTION.format(folder=shlex.quote(folder), end=shlex.quote(END))


@cache
def _original(settings: tuple[tuple[str, str], ...]) -> str:
    """Start the process that is copied; it ends with this one. Returns the folder of its pipes."""
    folder = tempfile.mkdtemp()
    fifo = Path(folder) / "requests"
    os.mkfifo(fifo)
    # Python looks at its streams when it starts: those of the copies are pipes too.
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(fifo)],
        env=dict(settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )

    def end() -> None:
        process.communicate()  # closes its input
        shutil.rmtree(folder)

    atexit.register(end)
    return folder


def main(fifo: str) -> None:
    """Copy this process for each request."""
    from assay.cli import commands  # noqa: PLC0415 -- the process that starts this one needs none of it

    for module in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # a copy that looks at what is imported would copy its memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes copies that have ended
    with Path(fifo).open("r+b", buffering=0) as pipe:  # also for writing, so that it does not end
        for shell, place, reply, *words in requests(pipe):
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(shell, place, reply, words)


def requests(pipe: BinaryIO) -> Iterator[list[str]]:
    """The words of each request, until the process that reads the answers has ended: it holds the standard input."""
    data = b""
    while 0 not in select.select([pipe.fileno(), 0], [], [])[0]:
        data += pipe.read(65536)
        *complete, data = data.split(b"\0" + END.encode() + b"\0")
        for request in complete:
            yield os.fsdecode(request).split("\0")


def _answer(shell: str, place: str, reply: str, words: list[str]) -> None:
    """Run the command in a copy of this copy, and reply with its exit status."""
    child = os.fork()
    if child == 0:
        from assay.cli.main import main as command  # noqa: PLC0415 -- as above

        _separate(shell)
        os.chdir(place)
        sys.argv = ["assay", *words]
        try:
            status = command()
        except SystemExit as ended:
            status = int(ended.code or 0)
        sys.stdout.flush()
        os._exit(status)  # to free what is imported takes as long as most commands
    _, status = os.waitpid(child, 0)
    Path(reply).write_text(f"{os.waitstatus_to_exitcode(status) % 256}\n")
    os._exit(0)


def _separate(shell: str) -> None:
    """Take streams of the shell, of which its process and their numbers are given, instead of those of this process."""
    process, *streams = shell.split()
    for number, (other, mode) in enumerate(
        zip(streams, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)
    ):
        stream = os.open(f"/proc/{process}/fd/{other}", mode)
        os.dup2(stream, number)
        os.close(stream)


if __name__ == "__main__":
    main(sys.argv[1])
