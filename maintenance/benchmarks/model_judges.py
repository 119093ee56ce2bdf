"""Judging by a model, with a server on this machine in its place."""

import asyncio
import contextlib
import io
import json
import multiprocessing
import resource
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from assay.cli.main import main
from maintenance.benchmarks.harness import case, figure

JUDGE = """
name = "fake"
version = "1"
model = "fake-model"
address = "{address}"
"""
PROTOCOL = "arqmath-2020-task1"


def _serve(pipe: Connection, seconds: float) -> None:
    """Answer each request after some seconds, with a grade that depends on its length."""
    content = json.dumps(
        {
            "model": "fake-model",
            "choices": [{"message": {"content": "final score: 2"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 300, "completion_tokens": 6},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line.split(b":")[1]
                    for line in request.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                )
                await reader.readexactly(int(length))
                await asyncio.sleep(seconds)
                writer.write(head + content)
                await writer.drain()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


@case
def model_judge(
    *, units: int = 2_000, seconds: float = 0.2, connections: int = 32, characters: int = 2_000
) -> None:
    """Judge units by `assay judge --judge`; the model is a server that answers each call after some seconds.

    Next to it, the time that the calls take if no connection is ever idle. Then the same again, from the cache.
    """
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(theirs, seconds), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "A text of a document about numbers. " * (characters // 36)
        rows = ({"docno": str(n), "text": f"{n} {text}"} for n in range(units))
        (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "pool.tsv").write_text("".join(f"A.1\t{n}\t{n}\n" for n in range(units)))
        (folder / "topics.tsv").write_text("A.1\tWhat is a number?\n")
        (folder / "judge.toml").write_text(JUDGE.format(address=f"http://127.0.0.1:{ours.recv()}/v1"))
        words = ["judge", "--judge", str(folder / "judge.toml"), "--protocol", PROTOCOL, "--assessor", "fake"]
        for option, file in {
            "topics": "topics.tsv",
            "units": "pool.tsv",
            "documents": "documents.jsonl",
        }.items():
            words += [f"--{option}", str(folder / file)]
        words += ["--cache", str(folder / "cache.sqlite"), "--connections", str(connections), "--quiet"]
        ideal = units * seconds / connections
        took, cpu = _timed([*words, "--output", str(folder / "first.jsonl")])
        figure(f"{units:,} units, {connections} connections", took, peers={"never idle": ideal})
        figure("calls per second", units / took, "1/s")
        figure("CPU time per unit", 1000 * cpu / units, "ms")
        took, cpu = _timed([*words, "--output", str(folder / "second.jsonl")])
        figure("the same from the cache", took, note=f"{1000 * cpu / units:.2f} ms of CPU time per unit")
    server.kill()


def _timed(words: list[str]) -> tuple[float, float]:
    """Run a command; its seconds, and its seconds of CPU time."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(words)
    after = resource.getrusage(resource.RUSAGE_SELF)
    if status:
        raise SystemExit(errors.getvalue())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu
