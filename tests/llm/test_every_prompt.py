"""Every prompt is sent to a language model once: its reply is read, or counted as malformed."""

import json
from functools import partial
from string import Template
from typing import Any

import pytest
from langgraph.runtime import Runtime
from llm_fixtures import CANDIDATES, PASSAGES, QUESTION, VALUES

from benchmarks.fuzz import check_parsed, get_value_type
from quorum import Context, Parsed, read_reply
from quorum.models.call import call
from quorum.nodes.ask import ask, format_list
from quorum.nodes.demonstrations import format_demonstrations
from quorum.prompts import get_text, render_prompt
from quorum.prompts.passages import format_passages
from quorum.prompts.read_reply import ARGUMENT_DESCRIPTIONS
from quorum.prompts.registry import PROMPTS

READ_ARGUMENTS: dict[str, Any] = {"question": QUESTION, "candidates": CANDIDATES, "count": 2}
# What else a parser gets as its candidates.
OTHER_CANDIDATES = {"filter_sentences": [passage["text"] for passage in PASSAGES], "mask_condition": ["Ada Korn"]}


def read(prompt: str, reply: str) -> Parsed[Any]:
    arguments = {name: READ_ARGUMENTS[name] for name in ARGUMENT_DESCRIPTIONS}
    return read_reply(prompt, reply, **arguments | {"candidates": OTHER_CANDIDATES.get(prompt, CANDIDATES)})


async def make_inputs(prompt: str, context: Context) -> dict[str, str | list[str]]:
    """The variables of a prompt, except its passages."""
    demonstrations = await format_demonstrations(
        QUESTION, Runtime(context=context), with_reasoning=False, with_passages=False
    )
    names = set(Template(get_text(prompt)).get_identifiers()) - {"passages"}
    return {name: (VALUES | {"demonstrations": demonstrations})[name] for name in names}


@pytest.mark.parametrize("prompt", sorted(PROMPTS))
async def test_a_reply_is_read_or_counted_as_malformed(prompt: str, context: Context) -> None:
    value_type = get_value_type(partial(PROMPTS[prompt].read or PROMPTS[prompt].parse))
    replies: list[Parsed[Any]] = []

    def parse(reply: str) -> Parsed[Any]:
        replies.append(read(prompt, reply))
        print(f"{prompt}: {reply!r} -> {replies[-1]}")
        check_parsed(replies[-1], value_type)
        return replies[-1]

    has_passages = "passages" in Template(get_text(prompt)).get_identifiers()
    inputs = await make_inputs(prompt, context)
    outcome = await ask(
        PROMPTS[prompt].read_with(parse),
        Runtime(context=context),
        passages=PASSAGES if has_passages else None,
        **inputs,
    )
    assert len(outcome.values) == 1
    assert outcome.state_update["usage"][prompt]["calls"] == 1
    assert outcome.state_update["usage"][prompt]["input_tokens"] > 10
    malformed = outcome.state_update["malformed"].get(prompt, {"count": 0})["count"]
    if replies[0].malformed:
        assert malformed == 1


async def list_prompts_with_schema(context: Context) -> list[str]:
    """The prompts whose replies have a JSON schema."""
    return [prompt for prompt in sorted(PROMPTS) if PROMPTS[prompt].get_form(await make_inputs(prompt, context))]


async def test_a_reply_by_json_schema_is_read(context: Context) -> None:
    """The server forces the model to keep to the schema, so that no reply is malformed. A ranking may lack a passage,
    because a schema cannot say that a list holds each number once.
    """
    prompts = await list_prompts_with_schema(context)
    assert len(prompts) > 10
    for prompt in prompts:
        inputs = await make_inputs(prompt, context)
        form = PROMPTS[prompt].get_form(inputs, len(PASSAGES))
        assert form
        variables = {name: value if isinstance(value, str) else format_list(value) for name, value in inputs.items()}
        if "passages" in Template(get_text(prompt)).get_identifiers():
            variables["passages"] = format_passages(PASSAGES)
        (reply,) = await call(
            prompt, render_prompt(prompt, None, **variables).text, context=context, schema=form.schema
        )
        if reply.finish != "length":
            assert set(json.loads(reply.text)) == set(form.schema["properties"])
            parsed_reply = read(prompt, form.write_in_words(reply.text))
            assert prompt == "rank_passages" or not parsed_reply.malformed, (prompt, reply.text)
