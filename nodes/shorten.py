"""The node that asks the model to cut a wordy answer down to its short one.

Votes, candidates, notes and the answers to follow-up questions are cut where they are written: a node of its own would
hold all other passages up until the slowest had replied.
"""

from typing import cast

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import CountedReplies, Draft, State
from quorum.core.text import UNKNOWN
from quorum.nodes.answer import choose_sample
from quorum.nodes.answer_types import resolve_for_prompt
from quorum.nodes.ask import choose_model, read_prompt_overrides
from quorum.nodes.cuts import count_cuts, cut_texts
from quorum.nodes.leaks import is_leaked
from quorum.nodes.steps import get_steps
from quorum.prompts.prompt import KNOWN_PROMPTS


async def shorten(state: State, runtime: Runtime[Context]) -> State:
    """question, draft, passages -> answer, confidence (of the samples), passages (those that the prompt showed)."""
    draft = state.get("draft")
    if draft is None:  # in a graph without the router shorten_if_wordy
        return {}
    prompt, question = KNOWN_PROMPTS[draft["prompt"]], state["question"]
    cut_draft, counters = await ask_for_cuts(question, draft, runtime)
    context = resolve_for_prompt(get_context(runtime), prompt, question)
    chosen = choose_sample(cut_draft["answers"], cut_draft["texts"], context)
    shown: State = {} if chosen["unknown"] else {"passages": state["passages"][: draft["shown"]]}
    return {**chosen, **shown, "draft": None, **counters}


async def shorten_last_step(state: State, runtime: Runtime[Context]) -> State:
    """question, draft, steps -> steps (the last one with a short answer), answer_text."""
    draft = state["draft"]
    assert draft is not None  # shorten_or routes here only with a draft
    cut_draft, counters = await ask_for_cuts(state["question"], draft, runtime)
    *earlier_steps, last = get_steps(state)
    steps = [*earlier_steps, {**last, "answer": cut_draft["answers"][0]}]
    return cast(State, {"steps": steps, "answer_text": cut_draft["texts"][0] or None, "draft": None, **counters})


async def ask_for_cuts(question: str, draft: Draft, runtime: Runtime[Context]) -> tuple[Draft, State]:
    """(the draft with short answers, the counters). An answer stays wordy if the model cuts it to no excerpt, and
    becomes unknown if it is leaked from the prompt's demonstrations.
    """
    prompt = KNOWN_PROMPTS[draft["prompt"]]
    context = resolve_for_prompt(get_context(runtime), prompt, question)
    overrides, model = await read_prompt_overrides(context), choose_model(prompt, context)
    wordy = {index: text for index, text in enumerate(draft["to_cut"]) if text is not None}
    cuts = await cut_texts(question, [*wordy.values()], context, overrides, model)
    answers, texts, malformed = [*draft["answers"]], [*draft["texts"]], list[str]()
    for index, text in wordy.items():
        if (cut := cuts[text]) is not None and cut.answer is not None:
            answers[index] = cut.answer
        if is_leaked(answers[index], draft["leaks"]):
            answers[index], texts[index] = UNKNOWN, ""
            malformed += [reply for reply in (draft["malformed"][index],) if reply is not None]
    counters = count_cuts([cut for text in wordy.values() if (cut := cuts[text]) is not None])
    if malformed:
        leaked = {prompt.name: CountedReplies(count=len(malformed), replies=malformed)}
        counters = {**counters, "malformed": {**counters["malformed"], **leaked}}
    return Draft(**{**draft, "answers": answers, "texts": texts}), cast(State, counters)
