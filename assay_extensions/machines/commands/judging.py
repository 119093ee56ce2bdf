"""`assay judge --judge`: a model, or the judge that Assay trains, on files and on a server."""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assay.client.server import Server, require_httpx
from assay.errors import InputError, plural
from assay.protocols.loader import load_protocol
from assay.protocols.questions import choices_of
from assay.structure import WrongStructure, strict_json
from assay_extensions.machines.commands.inputs import Inputs
from assay_extensions.machines.judge_files.judges import Judge, read_judge
from assay_extensions.machines.judge_files.prompts import UnreadableReply
from assay_extensions.machines.model.asking import Judged, ModelJudge, UnitJudge, rendered, replayed
from assay_extensions.machines.model.cache import Cache, usual_path
from assay_extensions.machines.model.classifier import TrainedJudge
from assay_extensions.machines.model.client import Budget, BudgetSpent, ModelClient, estimated_tokens
from assay_extensions.machines.model.evidence import evidence_of
from assay_extensions.machines.work.answers import Answer
from assay_extensions.machines.work.batches import Totals, report, tally, token_of
from assay_extensions.machines.work.leases import BatchOfSite, judged_tasks
from assay_extensions.machines.work.output import Output
from assay_extensions.machines.work.parallel import in_parallel
from assay_extensions.machines.work.units import Unit

Asked = tuple[Unit, Mapping[str, Any]]  # a unit, with what a program gets about it
LAST_REASONS = 3
FAILED = ("unreadable", "refused", "without a reply")


class Session:
    """A judge that works, with its budget, its cache and what became of its units."""

    def __init__(self, arguments: argparse.Namespace, judge: Judge) -> None:
        self.judge = judge
        self.connections: int = arguments.connections
        self.budget = Budget(arguments.max_calls, arguments.max_tokens, arguments.max_cost)
        self.statuses: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.n_cached = 0
        self.stop: Callable[[], None] = lambda: None
        self._arguments = arguments
        self._client: ModelClient | None = None
        self._cache: Cache | None = None
        self._stack = ExitStack()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def model(self, later: int = 0) -> UnitJudge:
        """The model of the judge. `later` is added to the round, so that the cache has no reply.

        Raises InputError: the key is missing, or httpx.
        """
        given = self._arguments
        if self._client is None:
            require_httpx("--judge")
            key = os.environ.get(self.judge.key_variable, "") if self.judge.key_variable else ""
            if self.judge.key_variable and not key:
                raise InputError(
                    f"set the variable {self.judge.key_variable} to the key of {self.judge.address}"
                )
            self._cache = self._stack.enter_context(Cache(given.cache or usual_path()))
            self._client = self._stack.enter_context(
                ModelClient(
                    self.judge,
                    key=key,
                    budget=self.budget,
                    timeout=given.timeout,
                    connections=self.connections,
                )
            )
            self.stop = self._client.stop
        return ModelJudge(
            self._client, cache=self._cache, judging_round=given.round + later, kept=given.keep_prompts
        )

    def count(self, judged: Judged) -> None:
        evidence = judged.evidence
        self.statuses[evidence.parse_status if evidence else "without a reply"] += 1
        self.n_cached += evidence is not None and evidence.is_cached
        if judged.problem:
            self.reasons[judged.problem] += 1

    def summary(self) -> None:
        """Print what became of the units, and what it cost."""
        budget, statuses, n_units = self.budget, self.statuses, self.statuses.total()
        cost = f", {budget.cost.normalize():f} {self.judge.prices.currency}" if budget.cost else ""
        report(
            f"{plural(n_units, 'unit')}: {statuses['read']:,} read, {n_units - statuses['read']:,} failed ("
            f"{', '.join(f'{statuses[status]:,} {status}' for status in FAILED)}); {self.n_cached:,} from the cache; "
            f"{plural(budget.calls, 'call')}, {plural(budget.tokens, 'token')}{cost}"
        )
        if budget.n_estimated:
            report(f"{budget.n_estimated:,} × the reply does not report its tokens; they are estimated")
        for reason, n in self.reasons.most_common(LAST_REASONS):
            report(f"{n:,} × {reason}")


def judge_files(
    arguments: argparse.Namespace,
    judge: Judge,
    inputs: Inputs,
    trained: TrainedJudge | None,
) -> Totals:
    """Judge units of files. The evidence has a file of its own."""
    rules, units, question = inputs.rules, inputs.units, inputs.question
    grades = {grade.key: grade for grade in rules.grades}
    with Session(arguments, judge) as session:
        if arguments.dry_run:
            dry_run(arguments, judge, (question(unit) for unit in units), len(units))
            return Totals(0, 0, len(units), 0)
        answered = trained or session.model()
        path = arguments.evidence or arguments.output.with_suffix(".evidence.jsonl")
        output = Output(arguments.output, assessor=arguments.assessor, batch=arguments.batch)
        with output, path.open("a", encoding="utf-8") as evidence:

            def judged(left: Sequence[Unit]) -> Iterator[tuple[str, str]]:
                items = ((unit, question(unit)) for unit in left)
                done = in_parallel(
                    items,
                    lambda item: answered(item[1]),
                    connections=session.connections,
                    stop=session.stop,
                )
                try:
                    for (unit, asked), result in done:
                        session.count(result)
                        row = {"topic": unit.topic, "docno": unit.docno, "choice": result.choice}
                        if result.evidence is not None:
                            line = json.dumps(
                                row | {"evidence": result.evidence.as_json()}, ensure_ascii=False
                            )
                            evidence.write(line + "\n")
                            evidence.flush()
                        if not result.problem:
                            grade = grades[result.choice]
                            left_side = asked["pair"][0]["docno"] if rules.judged.has_votes else ""
                            output.add(
                                unit,
                                Answer(grade, "", None, {}),
                                label=rules.label_of(grade.key, unit.docno),
                                left=left_side,
                                seconds=result.seconds,
                            )
                        name = f"line {unit.line} of the units, topic {unit.topic}, document {unit.docno}"
                        yield name, result.problem
                except BudgetSpent as error:
                    report(str(error))
                finally:
                    done.close()  # type: ignore[attr-defined]  # a generator

            left = [unit for unit in units if (unit.topic, unit.docno) not in output.done]
            n_judged, n_failed = tally(judged(left), len(left), is_quiet=arguments.quiet)
        session.summary()
    return Totals(n_judged, len(units) - len(left), len(left) - n_judged, n_failed)


def judge_site(arguments: argparse.Namespace, judge: Judge) -> Totals:
    """Judge the tasks of a batch of a site, with leases.

    Raises:
        InputError: There is no token, or no key.
        ServerError: The site refuses a request, or cannot be reached.
    """
    with Session(arguments, judge) as session, Server(arguments.server, token_of()) as server:
        site = BatchOfSite(server, arguments.batch, n=2 * session.connections, is_html=arguments.html)
        before = server.get(f"batches/{arguments.batch}/")
        left = before["n_units"] - before["n_judged"]
        if arguments.dry_run:
            try:
                questions = [
                    task["unit"] for _, task in zip(range(site.n), (t for _, t in site.tasks()), strict=False)
                ]
                dry_run(arguments, judge, iter(questions), left)
            finally:
                site.close()
            return Totals(0, before["n_judged"], left, 0)
        model = session.model()
        if arguments.machine:
            server.put(f"machines/{arguments.machine}/judge/", json=judge.record())

        def judged() -> Iterator[tuple[str, str]]:
            try:
                yield from judged_tasks(
                    site, model, connections=session.connections, stop=session.stop, count=session.count
                )
            except BudgetSpent as error:
                report(str(error))

        n_judged, n_failed = tally(judged(), left, is_quiet=arguments.quiet)
        after = server.get(f"batches/{arguments.batch}/")
        session.summary()
    return Totals(n_judged, before["n_judged"], after["n_units"] - after["n_judged"], n_failed)


def dry_run(
    arguments: argparse.Namespace, judge: Judge, questions: Iterator[Mapping[str, object]], n_units: int
) -> None:
    """Render the prompts, and print their number, tokens and cost, without a call. The first prompt is printed."""
    template = judge.prompt()
    if template is None:
        raise InputError("--dry-run: this judge asks no model, and costs nothing")
    n_asked = n_calls = n_in = n_out = 0
    for asked in questions:
        n_asked += 1
        for messages in rendered(template, asked):
            n_calls += 1
            tokens = estimated_tokens(messages, judge)
            n_in, n_out = n_in + tokens[0], n_out + tokens[1]
            if arguments.keep_prompts is not None:
                arguments.keep_prompts.mkdir(parents=True, exist_ok=True)
                path = arguments.keep_prompts / f"dry-run-{n_calls}.json"
                path.write_text(json.dumps(messages, ensure_ascii=False, indent=1))
            if n_calls == 1:
                for message in messages:
                    print(f"[{message['role']}]\n{message['content']}\n")  # noqa: T201
    share = n_units / max(1, n_asked)  # of a server, only some units are looked at
    n_calls, n_in, n_out = round(n_calls * share), round(n_in * share), round(n_out * share)
    cost = judge.prices.cost(n_in, n_out)
    print(  # noqa: T201
        f"{plural(n_units, 'unit')}, {plural(n_calls, 'call')}; about {n_in:,} tokens in and at most {n_out:,} out, "
        f"{cost:.4f} {judge.prices.currency}; nothing was called"
    )


def judge_in(path: str) -> Judge:
    """The judge of a file.

    Raises InputError: the file has errors, or the judge neither asks a model nor is trained.
    """
    judge = read_judge(path)
    if not judge.address and not judge.is_trained:
        raise InputError(f'{path}: address: missing; only a judge with provider = "assay" has none')
    judge.prompt()
    return judge


def replay(path: str, protocol: str) -> int:
    """Read the replies of a file of evidence again, and print the choices that differ; the exit status."""
    rules = load_protocol(protocol).judging
    n_equal = n_unread = n_differ = 0
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        try:
            row = strict_json(line)
            evidence, choice = evidence_of(row["evidence"]), row["choice"]
            grades = choices_of(rules, (), row["docno"])["grades"]
        except (ValueError, RecursionError, KeyError, TypeError, WrongStructure) as error:
            raise InputError(f"{path}: line {number}: not a line of evidence: {error}") from None
        try:
            again = replayed(evidence, grades).get("", "")
        except UnreadableReply:
            again = ""
        n_unread += again == choice == ""
        n_equal += again == choice != ""
        if again != choice:
            n_differ += 1
            report(
                f"line {number}: {row['topic']} {row['docno']}: {again or 'unreadable'}, stored {choice or 'skip'}"
            )
    print(f"{n_equal:,} grades are equal, {n_differ:,} differ, {plural(n_unread, 'skip')}")  # noqa: T201
    return 1 if n_differ else 0
