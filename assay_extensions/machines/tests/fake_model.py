"""A server on this machine that answers as `chat/completions` does."""

import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = Mapping[str, Any]
Answer = tuple[int, Any, dict[str, str]]  # status, content, headers


@dataclass
class FakeModel:
    """The address of the server, and the requests that it got. `answer` can be replaced while it runs."""

    answer: Callable[[Request], Answer]
    seconds: float = 0.0  # of each answer
    address: str = ""
    requests: list[Request] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def said(text: str, *, probabilities: Mapping[str, float] | None = None, **others: Any) -> Answer:
    """A reply. The probabilities are those of its last word."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    if probabilities:
        before, last = text[: -len(text.split()[-1])], text.split()[-1]
        alternatives = [{"token": word, "logprob": math.log(p)} for word, p in probabilities.items()]
        tokens = [{"token": before, "logprob": 0.0, "top_logprobs": []}]
        tokens += [{"token": last, "logprob": 0.0, "top_logprobs": alternatives}]
        choice["logprobs"] = {"content": tokens}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return 200, {"model": "fake-2026", "choices": [choice], "usage": usage} | others, {}


def refused(status: int, **headers: str) -> Answer:
    return status, {"error": {"message": f"status {status} on purpose"}}, headers


def by_words(request: Request) -> Answer:
    """A judge with a planted bias: grade 2 for the word `relevant` in the document, and 3 for a document of over 200
    characters, whatever it says."""
    document = re.search(r"Document:(.*)End of the document", request["messages"][-1]["content"], re.DOTALL)
    text = document[1] if document else ""
    grade = 3 if len(text) > 200 else 2 if "relevant" in text else 0
    return said(f"M: 1. T: 1.\nfinal score: {grade}")


@contextmanager
def fake_model(answer: Callable[[Request], Answer] = by_words, seconds: float = 0.0) -> Iterator[FakeModel]:
    model = FakeModel(answer, seconds)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with model.lock:
                model.requests.append(request)
                model.keys.append(self.headers.get("Authorization", ""))
            if model.seconds:
                time.sleep(model.seconds)
            status, content, headers = model.answer(request)
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that end while the model thinks are no errors."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    model.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
