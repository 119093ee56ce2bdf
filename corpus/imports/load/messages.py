"""Messages between the process that imports and its helpers: a length, then as many bytes."""

from typing import BinaryIO

LENGTH = 8  # bytes of the length before each message


def send(pipe: BinaryIO, data: bytes) -> None:
    pipe.write(len(data).to_bytes(LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes | None:
    """The next message; None at the end of the pipe."""
    head = pipe.read(LENGTH)
    if len(head) < LENGTH:
        return None
    length = int.from_bytes(head, "big")
    data = pipe.read(length)
    return data if len(data) == length else None
