"""Nodes that write BlendFilter's queries.

A query is the question alone ("q"), or generated knowledge followed by the question. The model generates the knowledge
from passages ("ex", external) or from its memory ("in", internal).
"""

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.core.text import find_sentences, is_unknown
from quorum.nodes.answer_types import choose_variant
from quorum.nodes.ask import ask
from quorum.nodes.reason import ask_for_reasoning
from quorum.parsing.reasoning import parse_free_text
from quorum.prompts.blendfilter import INTERNAL, REASON, TOPIC


async def write_external_knowledge(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> external_knowledge."""
    # The prompt is `reason` or `reason_yes_no`; call_subject is part of the call's name in traces: "reason: external".
    prompt = choose_variant(REASON, state["question"], runtime).read_with(parse_free_text)
    replies = await ask_for_reasoning(prompt, state, runtime, call_subject="external")
    return {"external_knowledge": replies.values[0], **replies.state_update}


async def write_internal_knowledge(state: State, runtime: Runtime[Context]) -> State:
    """question -> internal_knowledge."""
    replies = await ask(INTERNAL, runtime, question=state["question"])
    return {"internal_knowledge": replies.values[0], **replies.state_update}


async def name_topic(state: State, runtime: Runtime[Context]) -> State:
    """question -> topic."""
    replies = await ask(TOPIC, runtime, question=state["question"])
    return {"topic": replies.values[0], **replies.state_update}


async def blend_queries(state: State, runtime: Runtime[Context]) -> State:
    """question, external_knowledge, internal_knowledge -> queries."""
    question = state["question"]
    queries = {
        "q": question,
        "ex": blend_query(state.get("external_knowledge"), question),
        "in": blend_query(state.get("internal_knowledge"), question),
    }
    return {"queries": [queries[name] for name in get_context(runtime).queries.split("+")]}


def blend_query(generated_text: str | None, question: str) -> str:
    """The generated text, then the question (Wang et al. 2024, section 3.2).

    Sentences that say that the answer is unknown are left out, such as "So the answer is Unknown." Without any other
    sentence, the query is the question alone.

    >>> blend_query("The tower stands in Vell. So the answer is Unknown.", "Who built it?")
    'The tower stands in Vell.\\nWho built it?'
    """
    known_text = remove_unknown_sentences(generated_text or "")
    return f"{known_text}\n{question}" if known_text else question


def remove_unknown_sentences(text: str) -> str:
    """The text without the sentences that say that the answer is unknown; unchanged if there is none."""
    sentences = [text[start:end] for start, end in find_sentences(text)]
    known_sentences = [sentence for sentence in sentences if not is_unknown(sentence)]
    return text if len(known_sentences) == len(sentences) > 0 else " ".join(known_sentences)
