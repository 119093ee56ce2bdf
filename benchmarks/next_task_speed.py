"""Milliseconds from the key that submits to the next task painted, in Chromium, with posts full of formulas.

    python benchmarks/next_task_speed.py [--against FOLDER] [--tasks 40] [--formulas 80] [--reading 1.5]

Every post has about 10 kB and as many formulas as asked. The assessor reads for some seconds, then presses the keys of
a grade and of Enter. The time ends after the frame in which the page takes keys and every formula in view is rendered.
With --against, each task is judged alternately with the code of another working tree, each with its own server, in the
same browser; the script prints the ratio of the medians.
"""

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHROMIUM = "/usr/bin/chromium"
PARTS = (
    "\\frac{a_{%d}}{b+%d}",
    "\\sum_{n=1}^{%d} \\frac{x^n}{n!+%d}",
    "\\sqrt{x^{%d}+y_{%d}}",
    "\\int_0^{%d} e^{-%dx}\\,dx",
)
WATCH = """() => {
  const now = () => performance.timeOrigin + performance.now();
  const main = () => document.getElementById("main");
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    sessionStorage.pressed = JSON.stringify([performance.timeOrigin + event.timeStamp, main().dataset.task]);
    sessionStorage.removeItem("took");
  }, true);
  const isShown = (task) => {
    if (!main()?.dataset.task || main().dataset.task === task) return false;
    if (document.documentElement.dataset.judging !== "ready") return false;
    const { bottom } = document.getElementById("document-panel").getBoundingClientRect();
    const formulas = [...document.querySelectorAll("#document-panel .panel-body .math-container")];
    return formulas.every((each) => each.dataset.math || each.getBoundingClientRect().top > bottom);
  };
  const frame = () => {
    const [start, task] = JSON.parse(sessionStorage.pressed ?? "[]");
    if (task && isShown(task)) {
      sessionStorage.removeItem("pressed");
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { sessionStorage.took = now() - start; };
      channel.port2.postMessage(0);
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def main() -> None:
    arguments = read_arguments()
    if arguments.serve:
        serve(arguments)
        return
    trees = ([arguments.against.resolve()] if arguments.against else []) + [HERE.parent]
    with tempfile.TemporaryDirectory(prefix="assay-next-task-") as folder:
        Path(folder).chmod(0o711)
        servers = [start(tree, Path(folder) / str(i), arguments) for i, tree in enumerate(trees)]
        try:
            times = measure([json.loads(server.stdout.readline()) for server in servers], arguments)  # type: ignore[union-attr]
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
                server.wait()
    report(trees, times)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="another working tree, which is measured in turn")
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--formulas", type=int, default=80, help="of a post")
    parser.add_argument("--reading", type=float, default=1.5, help="seconds between two judgments")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def start(tree: Path, var: Path, arguments: argparse.Namespace) -> "subprocess.Popen[str]":
    """A process of a tree that makes a batch and serves it."""
    var.mkdir(mode=0o711)
    command = [sys.executable, __file__, "--serve", str(var)]
    command += ["--tasks", str(arguments.tasks), "--formulas", str(arguments.formulas)]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    return subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)


def serve(arguments: argparse.Namespace) -> None:
    """In a tree of its own: a database with a batch, and gunicorn, until the process is terminated."""
    sys.path.insert(0, str(Path.cwd() / "benchmarks"))
    import judging_speed

    from server import embedded

    server = embedded.Postgres(arguments.serve / "postgres")
    server.start()
    web = None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        judging_speed.prepare(arguments.serve)
        batch = judging_speed.make_batch(arguments.tasks + 5, n_people=1)
        fill(arguments.formulas)
        port = free_port()
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "-c",
            "server/gunicorn.py",
            "-b",
            f"127.0.0.1:{port}",
            "config.wsgi",
        ]
        web = subprocess.Popen(command)
        judging_speed.wait_for(f"http://127.0.0.1:{port}/health/")
        print(json.dumps([f"http://127.0.0.1:{port}", batch, judging_speed.PASSWORD]), flush=True)
        signal.pause()
    finally:
        if web is not None:
            web.terminate()
            web.wait()
        server.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fill(n_formulas: int) -> None:
    """Give each document, and the topic, a text of about 10 kB with different formulas."""
    from corpus.models import Document
    from tracks.models import Topic

    rng = random.Random(1)
    for document in Document.objects.all():
        document.body = post(rng, n_formulas)
        document.save(update_fields=["body"])
    Topic.objects.update(body=post(rng, n_formulas))


def post(rng: random.Random, n_formulas: int) -> str:
    words = "the series converges for every value of the variable because each term is bounded "
    text = []
    for i in range(n_formulas):
        latex = "+".join(part % (rng.randrange(100), rng.randrange(100)) for part in rng.sample(PARTS, 2))
        text.append(
            f'{words[: rng.randrange(40, 80)]} <span class="math-container" id="q_{i}">{latex}</span>'
        )
    return "".join(f"<p>{' '.join(text[i : i + 5])}.</p>" for i in range(0, n_formulas, 5))


def measure(sites: list[tuple[str, int, str]], arguments: argparse.Namespace) -> list[list[float]]:
    """Judge with each site in turn; returns the milliseconds of each, without those of the first task."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        pages = [opened(browser, *site) for site in sites]
        times: list[list[float]] = [[] for _ in sites]
        for _ in range(arguments.tasks):
            for page, took in zip(pages, times, strict=True):
                page.wait_for_timeout(1e3 * arguments.reading)
                page.wait_for_selector("html[data-math=done]", state="attached")
                page.keyboard.press("3")
                page.keyboard.press("Enter")
                page.wait_for_function("() => sessionStorage.took")
                took.append(float(page.evaluate("sessionStorage.took")))
        browser.close()
    return [took[1:] for took in times]


def opened(browser, base: str, batch: int, password: str):  # type: ignore[no-untyped-def]
    """The first task of a batch, in a window of its own."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.add_init_script(f"({WATCH})()")
    page.goto(f"{base}/login/")
    page.locator("[name=username]").fill("worker01")
    page.locator("[name=password]").fill(password)
    page.locator("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login/" not in url)
    page.goto(f"{base}/judge/")
    page.get_by_role("button", name="judging").click()
    page.wait_for_selector("html[data-judging=ready]", state="attached")
    return page


def report(trees: list[Path], times: list[list[float]]) -> None:
    medians = [statistics.median(took) for took in times]
    for tree, took, median in zip(trees, times, medians, strict=True):
        p95 = sorted(took)[int(0.95 * len(took))]
        print(
            f"  {tree.name}: key to the next task painted, median {median:.0f} ms, p95 {p95:.0f} ms, {len(took)} tasks"
        )
    if len(medians) == 2:
        print(f"  ratio of the medians {medians[1] / medians[0]:.2f}")


if __name__ == "__main__":
    main()
