"""Turns recorded answers into the tables for cascade design.

For each method and question they hold the answer's worth, its cost, and what the test of a stage reads: the answer's
confidence, which other answers equal it, and whether its vote is certain to stay the same if one passage is replaced.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quorum.algorithms.cascades import RecordedAnswers
from quorum.algorithms.certificate import certify_votes
from quorum.core.errors import SetupError
from quorum.evaluation.decisions.recorded_results import RecordedResults
from quorum.evaluation.metrics.prices import Price, Prices
from quorum.evaluation.run.details import LineIndex
from quorum.prompts.registry import find_prompt

Unit = Literal["tokens", "calls", "dollars"]
COST_UNITS: tuple[Unit, ...] = ("tokens", "calls", "dollars")
Call = tuple[str, int, int, str]  # prompt, tokens in, tokens out, reply
NO_CALL = "no call of a chat model: "  # begins what stands for the reply
WEIGHTED_METHODS = ("rerank", "replug")  # their votes have weights, and only votes without weights can be certified


def make_answer_table(
    results: RecordedResults, unit: Unit, *, wrong_cost: float = 0.0, prices: Path | None = None
) -> RecordedAnswers:
    """The answers of the methods that were asked every question.

    unit: how cost is counted: in tokens, in calls, or in dollars by the table of prices. Which calls two methods share
    is known only if the results have details; `quorum compare` writes them.
    """
    methods, ids = results.complete_methods, results.ids
    if not methods:
        raise SetupError(f"No method of {results.folder} was asked every question; finish the comparison first.")
    lowest_worth, highest_worth = (
        np.array(bounds) for bounds in zip(*(results.bound_worth(name, wrong_cost) for name in methods), strict=True)
    )
    has_failed = np.array([results.find_failed_questions(name) for name in methods])
    is_unknown = np.array([results.get_numbers(name, "unknown") == 1 for name in methods])
    calls, certificates = read_calls_and_certificates(results, methods)
    prices_of_methods = [find_prices(results, name, unit, Prices(prices)) for name in methods]
    cost, shared_cost = compute_costs(results, methods, calls, unit, prices_of_methods)
    return RecordedAnswers(
        methods=tuple(methods),
        lowest_worth=lowest_worth,
        highest_worth=highest_worth,
        is_known=~has_failed & ~is_unknown,
        has_failed=has_failed,
        answer_number=number_answers(results, methods),
        confidence=np.array([results.get_numbers(name, "confidence") for name in methods]),
        is_certified=np.array([[certificates.get((name, id_), False) for id_ in ids] for name in methods]),
        cost=cost,
        shared_cost=shared_cost,
        question_groups=results.group_numbers,  # equal for questions of the same document or conversation
    )


def number_answers(results: RecordedResults, methods: Sequence[str]) -> np.ndarray:
    """A number for each answer; answers that are equal after normalisation have the same number."""
    number_of_answer: dict[str, int] = {}
    return np.array(
        [
            [number_of_answer.setdefault(answer, len(number_of_answer)) for answer in results.get_vote_keys(name)]
            for name in methods
        ]
    )


def read_calls_and_certificates(
    results: RecordedResults, methods: Sequence[str]
) -> tuple[dict[tuple[str, str], Counter[Call]], dict[tuple[str, str], bool]]:
    """Read details.jsonl. Returns, by (method, question id), the calls and the certificates. A certificate says whether
    the vote's answer is certain to stay the same if one passage is replaced.
    """
    calls: dict[tuple[str, str], Counter[Call]] = {}
    certificates: dict[tuple[str, str], bool] = {}
    with LineIndex(results.folder / "details.jsonl") as details:
        for name in methods:
            method = results.get_settings(name).get("method", name)  # `name` may have settings in brackets
            for id_ in results.ids:
                detail = details.get(name, id_)
                if detail is None:
                    continue
                try:
                    # The + 0 raises a TypeError if a count is not a number.
                    calls[name, id_] = Counter(
                        (call["name"], call["input_tokens"] + 0, call["output_tokens"] + 0, call["reply"])
                        for call in detail["calls"]
                    ) + count_uncalled_work(name, detail)
                    votes = detail.get("votes") or []
                    certificates[name, id_] = method not in WEIGHTED_METHODS and (certify_votes(votes) or 0) >= 1
                except (KeyError, TypeError, AttributeError):
                    raise SetupError(
                        f"{results.folder / 'details.jsonl'} has an invalid line, for the method {name!r} and the "
                        f"question {id_!r}; remove the line."
                    ) from None
    return calls, certificates


def count_uncalled_work(method: str, detail: Mapping[str, Any]) -> Counter[Call]:
    """What the answer's usage counts beyond its calls: no chat model is called when a context filter scores sentences,
    or a reranker passages. No other method shares this work.
    """
    work: Counter[Call] = Counter()
    usage = detail.get("usage") or {}
    if sum(counts["calls"] for counts in usage.values()) <= len(detail["calls"]):
        return work
    for prompt, counts in usage.items():
        calls = [call for call in detail["calls"] if call["name"].split(":")[0] == prompt]
        missing_calls = counts["calls"] - len(calls)
        if missing_calls > 0:
            input_tokens, output_tokens = (
                max(0, counts[kind] - sum(call[kind] for call in calls)) for kind in ("input_tokens", "output_tokens")
            )
            reply = f"{NO_CALL}{method}"  # stands in no other method's calls
            work[prompt, 0, 0, reply] += missing_calls - 1
            work[prompt, input_tokens, output_tokens, reply] += 1
    return work


def find_prices(results: RecordedResults, method: str, unit: Unit, prices: Prices) -> Mapping[str, Price]:
    """{role: price} for the method's "model" and "verifier"; empty if the unit is not dollars.

    A user's own system costs nothing here, because config.json records the embedded model for it, which is free.
    """
    if unit != "dollars":
        return {}
    settings = results.get_settings(method)
    price_of_role = {}
    for role in ("model", "verifier"):
        model = settings.get(role)
        if model is None:
            continue
        spec = f"{model['provider']}:{model['model']}" if isinstance(model, Mapping) else str(model)
        price = prices.find_price("embedded" if spec.startswith("embedded") else spec)
        if price is None:
            raise SetupError(
                f"{spec} has no price, so that a cost in dollars is not known; give its price with --prices FILE, or "
                "choose --cost tokens."
            )
        price_of_role[role] = price
    return price_of_role


def price_call(call: Call, unit: Unit, prices: Mapping[str, Price]) -> float:
    """The cost of one call. A context filter's calls are priced like calls of the method's model; the work of a model
    in this process costs no dollars.
    """
    name, input_tokens, output_tokens, reply = call
    if unit == "calls":
        return 1.0
    if unit == "tokens":
        return float(input_tokens + output_tokens)
    if reply.startswith(NO_CALL):
        return 0.0
    prompt = find_prompt(name.split(":")[0])
    is_verifier = "verifier" in prices and prompt is not None and prompt.model == "verifier"
    role = "verifier" if is_verifier else "model"
    return prices[role].compute_cost(input_tokens, output_tokens)


def compute_costs(
    results: RecordedResults,
    methods: Sequence[str],
    calls: Mapping[tuple[str, str], Counter[Call]],
    unit: Unit,
    prices_of_methods: Sequence[Mapping[str, Price]],
) -> tuple[np.ndarray, np.ndarray]:
    """The cost of every answer, and the cost of the calls that two methods share.

    The first array is [method, question]. It is computed from the answer's calls in details.jsonl, or estimated if they
    are missing. The second is [A, B, question]: the cost of those calls of method B that method A makes as well.
    """
    count, n = len(methods), len(results.ids)
    models = [
        json.dumps([results.get_settings(name).get("model"), results.get_settings(name).get("verifier")])
        for name in methods
    ]
    cost, shared_cost = np.zeros((count, n)), np.zeros((count, count, n))
    for method_index, name in enumerate(methods):
        cost[method_index] = estimate_costs(results, name, unit, prices_of_methods[method_index])
    for question_index, id_ in enumerate(results.ids):
        for method_index, name in enumerate(methods):
            own_calls = calls.get((name, id_))
            if own_calls is None:
                continue
            cost[method_index, question_index] = sum(
                number * price_call(call, unit, prices_of_methods[method_index]) for call, number in own_calls.items()
            )
            for other_index, other in enumerate(methods):
                if other_index != method_index and models[other_index] == models[method_index]:
                    shared_calls = own_calls & calls.get((other, id_), Counter())
                    shared_cost[other_index, method_index, question_index] = sum(
                        number * price_call(call, unit, prices_of_methods[method_index])
                        for call, number in shared_calls.items()
                    )
    return cost, shared_cost


def estimate_costs(results: RecordedResults, method: str, unit: Unit, prices: Mapping[str, Price]) -> np.ndarray:
    """The cost of each answer from the counts in results.jsonl. A failed answer costs the mean of the others. In
    dollars, all calls are priced as calls of the method's model, because the counts do not separate the
    verifier's calls from them.
    """
    input_tokens, output_tokens = (
        results.get_numbers(method, "input_tokens"),
        results.get_numbers(method, "output_tokens"),
    )
    costs = results.get_numbers(method, "calls") if unit == "calls" else input_tokens + output_tokens
    if unit == "dollars":
        costs = np.array(
            [
                prices["model"].compute_cost(input_count, output_count)
                for input_count, output_count in zip(input_tokens, output_tokens, strict=True)
            ]
        )
    mean: Any = np.nanmean(costs) if np.isfinite(costs).any() else 0.0
    return np.where(np.isnan(costs), mean, costs)
