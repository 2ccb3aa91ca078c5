"""A `Prompt` is all that Quorum needs to know about a prompt, also about one that is no part of Quorum."""

import subprocess
import sys
from collections.abc import Iterator
from string import Template
from typing import Any

import pytest
from langgraph.runtime import Runtime

from quorum import Context, SetupError, read_reply
from quorum.evaluation.compare.rehearsal import guess_reply_tokens
from quorum.models.embedded.responders import RESPONDERS
from quorum.models.scripted import ScriptedModel
from quorum.nodes.ask import ask
from quorum.parsing.answers import Parsed
from quorum.prompts import BUILT_IN
from quorum.prompts.prompt import KNOWN_PROMPTS, Prompt
from quorum.prompts.registry import PROMPTS

PASSAGES = [{"id": "p", "title": "Vell", "text": "The tower of Vell was built in 1931."}]


async def reply_with_title(inputs: Any, sampler: Any) -> str:
    return f"Title: {inputs['passages'][0]['title']}"


def parse_title(reply: str, count: int) -> Parsed[str]:
    label, _, title = reply.partition(": ")
    return Parsed(f"{title} of {count}", malformed=label != "Title")


@pytest.fixture
def title_prompt() -> Iterator[Prompt[str]]:
    yield Prompt(
        "title", parse=parse_title, reply="short", offline=reply_with_title, text="$passages\nName a title: $question"
    )
    for table in (KNOWN_PROMPTS, BUILT_IN, RESPONDERS):
        table.pop("title")  # type: ignore[attr-defined]


async def test_a_prompt_of_ones_own_is_asked_read_counted_and_overridden(title_prompt: Prompt[str]) -> None:
    """The embedded reader, `read_reply` and the estimates know it by its name."""
    replies = await ask(title_prompt, Runtime(context=Context()), question="Which?", passages=PASSAGES)  # type: ignore[arg-type]
    assert (replies.values, replies.state_update["usage"]["title"]["calls"]) == (["Vell of 1"], 1)
    assert read_reply("title", "Tea", count=3) == Parsed(" of 3", malformed=True)
    assert guess_reply_tokens("title") == title_prompt.reply_tokens == 12
    model = ScriptedModel().on("title", "Title: Tea")
    context = Context(model=model, prompts={"title": "Short! $passages $question"})
    await ask(title_prompt, Runtime(context=context), question="Which?", passages=PASSAGES)  # type: ignore[arg-type]
    assert model.history[-1].text.startswith("Short! ")


async def test_a_prompt_with_other_variables_says_which_one_is_missing(title_prompt: Prompt[str]) -> None:
    with pytest.raises(SetupError, match=r"Prompt 'title' uses \$question, which has no value"):
        await ask(title_prompt, Runtime(context=Context()), passages=PASSAGES)  # type: ignore[arg-type]


NAMED_AS_A_BUILT_IN_PROMPT = """
import os, sys
from quorum import SetupError
from quorum.parsing.answers import Parsed
from quorum.prompts.prompt import Prompt

assert "quorum.prompts.registry" not in sys.modules
for imports_first in (True, False):
    for text in ("Words: $question", None):
        sys.stdout.flush()
        if os.fork():
            assert os.wait()[1] == 0
            continue
        if imports_first:
            import quorum.prompts.registry
        try:
            Prompt("keywords", parse=lambda reply: Parsed(reply, malformed=False), reply="list", offline="-", text=text)
        except SetupError as error:
            print(error)
        from quorum.prompts.registry import PROMPTS
        print(PROMPTS["keywords"].short_answer, PROMPTS["keywords"].parse.__module__, flush=True)
        os._exit(0)
"""


def test_a_prompt_of_ones_own_cannot_have_the_name_of_a_built_in_one() -> None:
    """With and without a text, before and after the built-in prompts are imported: each in a fork of a new process."""
    done = subprocess.run(
        [sys.executable, "-c", NAMED_AS_A_BUILT_IN_PROMPT], stdout=subprocess.PIPE, text=True, check=True
    )
    refused = [
        "A prompt of Quorum has the name 'keywords'; give yours another name.",
        f"{PROMPTS['keywords'].short_answer} {PROMPTS['keywords'].parse.__module__}",
    ]
    assert done.stdout.splitlines() == refused * 4


def test_a_kind_of_reply_that_does_not_exist_is_refused() -> None:
    kind: Any = "lst"
    with pytest.raises(SetupError, match="reply='lst'; the kinds of replies are: word, short, sentence, list, long"):
        Prompt("title", parse=parse_title, reply=kind, offline="-", text="$question")
    assert "title" not in PROMPTS


def test_a_copy_that_is_read_otherwise_does_not_replace_the_prompt(title_prompt: Prompt[str]) -> None:
    other = title_prompt.read_with(lambda reply: Parsed(len(reply), malformed=False))
    assert other.parse("four").value == 4
    assert PROMPTS["title"] is title_prompt


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_what_a_prompt_says_about_itself_fits_together(name: str) -> None:
    prompt = PROMPTS[name]
    variables = set(Template(BUILT_IN[name]).get_identifiers())
    assert all(variant.name == f"{name}_{variant.answer_type}" for variant in prompt.variants)
    assert prompt.reply == "short" or prompt.short_answer != "reply"  # a reply that is a short answer is short
    assert prompt.form is None or prompt.reply != "long"
    assert ("passages" in variables) or prompt.model != "context_filter"
