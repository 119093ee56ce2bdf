"""Answers of a judge to a unit: a choice with its evidence, or the reason why there is none."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.errors import InputError
from assay.structure import strict_json
from assay_extensions.machines.judge_files.prompts import (
    PARSERS,
    Call,
    OfferedGrade,
    Template,
    UnreadableReply,
    answer_token,
    choice_in,
    messages_of,
    number_in,
    probabilities_in,
    values_of,
)
from assay_extensions.machines.model.cache import Cache, key_of
from assay_extensions.machines.model.client import ModelClient, ModelFailed, Refusal, Reply
from assay_extensions.machines.model.evidence import Evidence, Status, digest_of

PROBABILITIES = (
    "probabilities/1"  # the parser of a reply that is a probability for each key, from the lowest grade
)
OF_MEMBERS = "members/1 "  # before the parser of a reply that has one for each member of a unit, as JSON
Question = Mapping[str, Any]  # what a program gets about a unit


class Judged(NamedTuple):
    """The key of a choice, or a `problem`; `seconds` that it took."""

    choice: str
    problem: str
    seconds: float
    evidence: Evidence | None


class UnitJudge(Protocol):
    """Judges units, in several threads."""

    def __call__(self, question: Question) -> Judged: ...


class ModelJudge:
    """A model that is asked with a template.

    Args:
        judging_round: 1, or more if the same units are judged again.
        kept: a folder for the prompts, each by its digest.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        cache: Cache | None = None,
        judging_round: int = 1,
        kept: Path | None = None,
    ) -> None:
        template = client.judge.prompt()
        if template is None:
            raise InputError("address: missing; a judge that asks a model has one")
        self.client, self.judge, self.template = client, client.judge, template
        self.cache, self.round, self.kept = cache, judging_round, kept

    def __call__(self, question: Question) -> Judged:
        """Raises BudgetSpent: the budget does not allow the next request."""
        grades, parser = question["grades"], self.template.parser
        values, replies, asked = values_of(question), list[_Asked](), list[list[dict[str, str]]]()
        choice = problem = ""
        status: Status = "read"
        try:
            for call in self.template.calls:
                asked.append(messages_of(call, values))
                replies.append(self._reply(call, asked[-1], grades))
                if replies[-1].problem:
                    raise UnreadableReply(replies[-1].problem)
                if call.key:
                    values[call.key] = number_in(replies[-1].reply.text)
            choice = choice_in([asked_call.reply.text for asked_call in replies], parser, grades)
        except UnreadableReply as error:
            problem, status = str(error), "unreadable"
        except Refusal as error:
            problem, status = str(error), "refused"
        except ModelFailed as error:
            return Judged("", str(error), 0.0, None)
        evidence = self._evidence(asked, replies, status, grades)
        if self.kept is not None:
            self._keep(evidence.prompt_sha256, asked)
        return Judged(choice, problem, evidence.milliseconds / 1000, evidence)

    def _reply(self, call: Call, messages: list[dict[str, str]], grades: Sequence[OfferedGrade]) -> "_Asked":
        """The reply to a call, from the cache or the model; one that cannot be read is requested once more."""
        key = key_of(self.judge, messages, self.round)
        cached = self.cache.get(key) if self.cache else None
        if cached is not None and not self._problem(call, cached, grades):
            return _Asked(cached, is_cached=True)
        reply = self.client.ask(messages)
        if self._problem(call, reply, grades):
            again = self.client.ask(messages)
            reply = _sum(again, reply)
        problem = self._problem(call, reply, grades)
        if not problem:
            is_answer = not call.key and self.template.parser != "sides/1"
            kept = answer_token(reply.text, reply.tokens, self.template.parser, grades) if is_answer else ()
            reply = reply._replace(tokens=kept)
            if self.cache:
                self.cache.put(key, reply)
        return _Asked(reply, problem=problem)

    def _problem(self, call: Call, reply: Reply, grades: Sequence[OfferedGrade]) -> str:
        """The reason why a reply cannot be read; empty if it can."""
        try:
            if call.key:
                number_in(reply.text)
            else:
                parser = PARSERS[self.template.parser]
                parser.read(reply.text, parser.names(grades))
        except UnreadableReply as error:
            return str(error)
        return ""

    def _evidence(
        self, asked: object, replies: Sequence["_Asked"], status: Status, grades: Sequence[OfferedGrade]
    ) -> Evidence:
        texts = [asked_call.reply.text for asked_call in replies]
        paid = [asked_call.reply for asked_call in replies if not asked_call.is_cached]
        probabilities = None
        is_last = len(texts) == len(self.template.calls)
        if status == "read" and self.template.parser != "sides/1" and is_last:
            last = replies[-1].reply
            probabilities = probabilities_in(last.text, last.tokens, self.template.parser, grades)
        tokens_in, tokens_out = (
            _total([getattr(asked_call.reply, name) for asked_call in replies])
            for name in ("tokens_in", "tokens_out")
        )
        cost = None
        if (
            replies
            and tokens_in is not None
            and tokens_out is not None
            and (self.judge.prices.input or self.judge.prices.output)
        ):
            paid_tokens = (sum(reply.tokens_in or 0 for reply in paid), sum(r.tokens_out or 0 for r in paid))
            cost = format(self.judge.prices.cost(*paid_tokens).normalize() + Decimal(0), "f")
        return Evidence(
            prompt_sha256=digest_of([asked]),
            reply=texts[0] if len(self.template.calls) == 1 and texts else json.dumps(texts),
            parser=self.template.parser,
            parse_status=status,
            probabilities=probabilities,
            model=replies[-1].reply.model if replies else "",
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost,
            currency=self.judge.prices.currency if cost is not None else "",
            milliseconds=sum(reply.milliseconds for reply in paid),
            attempts=sum(reply.attempts for reply in paid),
            is_cached=bool(replies) and not paid,
            round=self.round,
        )

    def _keep(self, digest: str, asked: object) -> None:
        assert self.kept is not None
        self.kept.mkdir(parents=True, exist_ok=True)
        (self.kept / f"{digest}.json").write_text(json.dumps(asked, ensure_ascii=False, indent=1))


class _Asked(NamedTuple):
    reply: Reply
    is_cached: bool = False
    problem: str = ""


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _sum(reply: Reply, before: Reply) -> Reply:
    """A reply with the tokens, tries and time of the one before it."""
    return reply._replace(
        tokens_in=_total([reply.tokens_in, before.tokens_in]),
        tokens_out=_total([reply.tokens_out, before.tokens_out]),
        attempts=reply.attempts + before.attempts,
        milliseconds=reply.milliseconds + before.milliseconds,
    )


def rendered(template: Template, question: Question) -> Iterator[list[dict[str, str]]]:
    """The messages of each call about a unit, for a dry run; the numbers of earlier calls are 0."""
    values = values_of(question) | {call.key: "0" for call in template.calls}
    for call in template.calls:
        yield messages_of(call, values)


def merged(results: Sequence[tuple[str, Judged]]) -> Evidence | None:
    """The evidence of a unit; of several members that were judged one after another, all of it, by docno."""
    named = [(docno, judged.evidence) for docno, judged in results if judged.evidence is not None]
    parts = [evidence for _, evidence in named]
    if len(parts) < 2:
        return parts[0] if parts else None
    costs = [Decimal(part.cost) for part in parts if part.cost is not None]
    return Evidence(
        prompt_sha256=digest_of([part.prompt_sha256 for part in parts]),
        reply=json.dumps({docno: evidence.reply for docno, evidence in named}),
        parser=OF_MEMBERS + parts[0].parser,
        parse_status=parts[-1].parse_status,
        model=parts[-1].model,
        tokens_in=_total([part.tokens_in for part in parts]),
        tokens_out=_total([part.tokens_out for part in parts]),
        cost=format(sum(costs, Decimal(0)), "f") if costs else None,
        currency=parts[0].currency,
        milliseconds=sum(part.milliseconds for part in parts),
        attempts=sum(part.attempts for part in parts),
        is_cached=all(part.is_cached for part in parts),
        round=parts[0].round,
    )


def has_parser(evidence: Evidence) -> bool:
    """Return whether a stored reply can be read again; programs name parsers of their own."""
    return evidence.parser.removeprefix(OF_MEMBERS) in {*PARSERS, PROBABILITIES}


def replayed(evidence: Evidence, grades: Sequence[OfferedGrade]) -> dict[str, str]:
    """The keys of the grades in a stored reply, read again without a model, by docno of the member.

    The reply to a unit without members has an empty docno.

    Raises UnreadableReply: a reply cannot be read, or its parser is not one of these.
    """
    try:
        if evidence.parser.startswith(OF_MEMBERS):
            parser, texts = evidence.parser.removeprefix(OF_MEMBERS), strict_json(evidence.reply)
            return {docno: _replayed(text, parser, grades) for docno, text in texts.items()}
        return {"": _replayed(evidence.reply, evidence.parser, grades)}
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise UnreadableReply(f"not the reply of {evidence.parser}: {error}") from None


def _replayed(reply: str, parser: str, grades: Sequence[OfferedGrade]) -> str:
    if parser == PROBABILITIES:
        return most_probable(strict_json(reply))
    if parser not in PARSERS:
        raise UnreadableReply(f"there is no parser {parser}")
    replies = [reply]
    if reply.startswith("["):
        try:
            listed = json.loads(reply)
            replies = listed if listed and all(isinstance(text, str) for text in listed) else replies
        except ValueError:
            pass
    return choice_in(replies, parser, grades)


def most_probable(probabilities: Mapping[str, float]) -> str:
    """The key with the highest probability; the first one of several.

    >>> most_probable({"not": 0.4, "relevant": 0.4, "highly": 0.2})
    'not'
    """
    return max(probabilities, key=lambda key: probabilities[key])
