"""Prices of model calls, from a table that the user can extend.

A model that is not listed has no price, except that models that run in this process are free.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.files import read_regular
from quorum.core.state import Usage
from quorum.models.model_spec import read_spec
from quorum.models.rerankers import RERANK_USAGE, get_reranking_model
from quorum.prompts.prompt import ModelRole
from quorum.prompts.registry import find_prompt

BUILT_IN_PRICES = Path(__file__).with_name("prices.toml")
THOUSAND, MILLION = 1_000, 1_000_000
DATE_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
FREE_PROVIDERS = ("embedded", "transformers")  # run in this process: free of charge
FREE_EMBEDDINGS = ("embedded", "huggingface")  # also of embeddings
PRICE_FILE_FORM = (
    'expected a table of models, each with numbers: ["openai:NAME"] input = 0.15, output = 0.60; of a reranker '
    '["api:NAME"] search_unit = 2.00'
)


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens; `cached` for input from the provider's prompt cache. search_unit: for a
    thousand requests to a reranker, of at most a hundred passages each.
    """

    input: float
    output: float
    cached: float
    search_unit: float = 0.0

    def compute_cost(
        self, input_tokens: float, output_tokens: float, cached_tokens: float = 0.0, calls: float = 0.0
    ) -> float:
        """Dollars for these tokens and calls; the cached tokens are part of the input."""
        uncached_tokens = max(0.0, input_tokens - cached_tokens)
        tokens = uncached_tokens * self.input + cached_tokens * self.cached + output_tokens * self.output
        return tokens / MILLION + calls * self.search_unit / THOUSAND


FREE_PRICE = Price(0.0, 0.0, 0.0)


class Prices:
    """Prices by model: those of `file` (TOML or JSON), then the built-in ones."""

    def __init__(self, file: Path | None = None) -> None:
        self.table = read_built_in_prices() | (read_table(file) if file is not None else {})

    def find_price(self, model: Any) -> Price | None:
        """The price of a model; None for a model given as an object. If the table does not list the model's name, the
        name is looked up without a date or "-latest" at its end. If neither name is listed, a model that runs in this
        process is free, and any other has no price, None.
        """
        if not isinstance(model, str):
            return None
        name = read_spec(model).text
        return (
            self.table.get(name) or self.table.get(DATE_SUFFIX.sub("", name)) or (FREE_PRICE if is_free(name) else None)
        )

    def find_embeddings_price(self, embeddings: Any) -> Price | None:
        """The price of embeddings; None for those given as an object. Those that run in this process are free."""
        is_free = isinstance(embeddings, str) and embeddings.partition(":")[0] in FREE_EMBEDDINGS
        return FREE_PRICE if is_free else self.find_price(embeddings)

    def compute_embedding_cost(self, usage: Mapping[str, Mapping[str, int]]) -> float | None:
        """Total dollars for the `tokens` of embeddings by model; None if a price is missing."""
        found = [(self.find_price(model), counts["tokens"]) for model, counts in usage.items()]
        return add_costs([None if price is None else price.compute_cost(tokens, 0) for price, tokens in found])

    def compute_cost(self, context: Context, usage: Mapping[str, Usage]) -> float | None:
        """Total dollars for the calls of one answer, each at the price of the model that replied; None if a price is
        missing. Cached input gets no discount: a method that runs alone would not find it in the cache.

        usage: the tokens by prompt name.
        """
        total = 0.0
        for prompt, counts in usage.items():
            price = self.find_price(find_model_of_prompt(prompt, context))
            if price is None:
                return None
            total += price.compute_cost(counts["input_tokens"], counts["output_tokens"], calls=counts["calls"])
        return total


def check_limit(cost: float | None, max_cost: float | None, *, basis: str = "", instead: str) -> None:
    """Raises `SetupError` if the estimate is above the limit, or if there is a limit but no price. basis: what the
    estimate is based on, such as " even if every draft is kept"; instead: what to do at a lower cost, such as "ask for
    fewer questions with --n".
    """
    if max_cost is None:
        return
    if cost is None:
        raise SetupError(
            f"A limit of ${max_cost:g} is given, but a model has no price; write its price into a table and give "
            "the table with --prices FILE, or leave --max-cost out."
        )
    if cost > max_cost:
        raise SetupError(
            f"This would cost about ${cost:.2f}{basis}, more than --max-cost {max_cost:g}; "
            f"{instead}, or raise --max-cost."
        )


def add_costs(costs: Sequence[float | None]) -> float | None:
    """The sum of costs; None if one is not known.

    >>> add_costs([0.5, 0.25]), add_costs([0.5, None])
    (0.75, None)
    """
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def is_free(name: str) -> bool:
    return name.partition(":")[0] in FREE_PROVIDERS


def find_model_of_prompt(name: str, context: Context) -> Any:
    """The model that the prompt of this name is sent to, or that scored passages; for any other name, the context's
    model.
    """
    if name == RERANK_USAGE:
        return get_reranking_model(context)
    prompt = find_prompt(name)
    return find_model("model" if prompt is None else prompt.model, context)


def find_model(role: ModelRole, context: Context) -> Any:
    """The context's model for a role: the model, the verifier, or the context filter."""
    if role == "verifier" and context.verifier is not None:
        return context.verifier
    filter_name = context.context_filter or ""
    if role == "context_filter" and filter_name.startswith(("llm:", *FREE_PROVIDERS)):
        return filter_name.removeprefix("llm:")
    return context.model


@cache
def read_built_in_prices() -> dict[str, Price]:
    """The prices that come with Quorum."""
    return read_table(BUILT_IN_PRICES)


def read_table(file: Path) -> dict[str, Price]:
    """The prices in a file. Raises `SetupError` if it cannot be read or is not a price table."""
    try:
        text = read_regular(file).decode("utf-8")
        values = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SetupError(
            f"The price table {file} cannot be read ({error.strerror}); give a TOML or JSON file."
        ) from None
    except ValueError as error:
        raise SetupError(f"The price table {file} cannot be read ({error}); {PRICE_FILE_FORM}.") from None
    if not isinstance(values, dict):
        raise SetupError(f"{file} is not a price table; {PRICE_FILE_FORM}.")
    return {read_spec(name).text: read_price(name, value, file) for name, value in values.items()}


def read_price(name: str, value: Any, file: Path) -> Price:
    values = value if isinstance(value, dict) else {}
    numbers = {key: values.get(key) for key in ("input", "output", "cached", "search_unit") if key in values}
    is_valid = all(
        isinstance(number, int | float) and not isinstance(number, bool) and number >= 0 for number in numbers.values()
    )
    is_complete = {"input", "output"} <= numbers.keys() or numbers.keys() in ({"search_unit"}, {"search_unit", "input"})
    if not is_valid or not is_complete or values.keys() - numbers.keys():
        raise SetupError(f"The price of {name!r} in {file} does not fit ({value}); {PRICE_FILE_FORM}.")
    input_price: float = values.get("input", 0.0)
    return Price(
        input_price, values.get("output", 0.0), values.get("cached", input_price), values.get("search_unit", 0.0)
    )
