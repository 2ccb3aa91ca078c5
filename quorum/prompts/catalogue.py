"""Describes each prompt: its family, its variables, its version, and the methods that send it."""

from collections.abc import Mapping
from dataclasses import dataclass

from quorum.prompts import BUILT_IN, PROMPTS_FOLDER, Overrides, load_overrides, read_template

__all__ = ["SENT_BY", "Description", "describe_prompts", "list_senders"]

RATIONALE_RERANKER_USERS = "any method with reranker=rationale"
LLM_FILTER_USERS = "any method with context_filter=llm"
ANSWER_PROMPT_USERS = ("concat", "post_fusion", "concat_pf", "pf_concat", "rerank", "replug", "filco")
# For each prompt, the methods and the commands ("quorum ...") that send it. A test compares this table with what the
# methods really send.
SENT_BY: Mapping[str, tuple[str, ...]] = {
    "answer": ANSWER_PROMPT_USERS,
    "answer_base": ("base",),
    "answer_base_closed": ("no_retrieval",),
    "answer_candidates": ("pf_concat",),
    "answer_choices": ("mcq",),
    "answer_summaries": ("sure",),
    "answer_summary": ("sum_and_pred",),
    "candidates": ("sure", "mcq", RATIONALE_RERANKER_USERS),
    "choose": ("blendfilter",),
    "conditional_summary": ("sure", RATIONALE_RERANKER_USERS),
    "correctness": ("quorum eval --judge", "quorum compare --judge"),
    "direct": ("direct",),
    "direct_from_memory": ("direct",),
    "extract_answer": ("blendfilter",),
    "filter_passages": ("filco", LLM_FILTER_USERS),
    "filter_sentences": ("filco", LLM_FILTER_USERS),
    "generic_summary": ("sum_and_pred", "any method with reranker=summary"),
    "inference": ("selection_inference",),
    "internal": ("blendfilter",),
    "judge": ("blendfilter",),
    "judge_and_choose": ("blendfilter",),
    "mask_condition": ("self_verification",),
    "preference": ("quorum experiment",),
    "pruning": ("pruning",),
    "question_single": ("quorum questions",),
    "question_two": ("quorum questions",),
    "question_unanswerable": ("quorum questions",),
    "rank_passages": ("selection_inference", "any method with reranker=listwise"),
    "ranking": ("sure", RATIONALE_RERANKER_USERS),
    "react": ("react",),
    "react_action": ("react",),
    "reason": ("blendfilter", "cot", "iter_retgen"),
    "reason_from_memory": ("cot",),
    "recover_condition": ("self_verification",),
    "self_ask": ("self_ask",),
    "self_ask_answer": ("self_ask",),
    "self_ask_final": ("self_ask",),
    "shorten": ("any method with shorten=auto or shorten=model",),
    "stand_alone": ("quorum chat", "any method with a history"),
    "summary": ("summary",),
    "topic": ("blendfilter",),
    "validity": ("sure", RATIONALE_RERANKER_USERS),
    "zero_shot_cot": ("zero_shot_cot", "self_verification"),
}
# For an answer type other than short, NAME_yes_no, NAME_label, ... is sent instead of the prompt NAME.
VARIANT_ENDINGS = ("_yes_no", "_label", "_dialogue", "_long")


@dataclass(frozen=True)
class Description:
    """What is known about one prompt.

    family: the folder of its file; version: a short hash of its text; sent_by: see `list_senders`; overridden: whether
    the setting `prompts` gives it a text that differs from the built-in one.
    """

    family: str
    name: str
    variables: tuple[str, ...]
    version: str
    sent_by: tuple[str, ...]
    overridden: bool


def describe_prompts(overrides: Overrides = None) -> list[Description]:
    """Every prompt, ordered by family and name.

    overrides: the value of the setting `prompts`, whose texts replace the built-in ones.

    >>> next(description.variables for description in describe_prompts() if description.name == "answer")
    ('passages', 'question')
    """
    texts = {**BUILT_IN, **load_overrides(overrides)}
    families = {path.stem: path.parent.name for path in PROMPTS_FOLDER.glob("*/*.md")}
    descriptions = []
    for name, text in texts.items():
        template = read_template(text)
        variables = tuple(sorted(template.variables or ()))
        is_overridden = text != BUILT_IN[name]
        descriptions.append(
            Description(families[name], name, variables, template.version, list_senders(name), is_overridden)
        )
    return sorted(descriptions, key=lambda description: (description.family, description.name))


def list_senders(name: str) -> tuple[str, ...]:
    """The methods and commands that send a prompt under some settings.

    For a prompt of another answer type ("answer_yes_no") and for another text of a prompt ("candidates.paper"), they
    are those of the plain prompt ("answer", "candidates").
    """
    plain_name = name.partition(".")[0]
    for ending in VARIANT_ENDINGS:
        if plain_name not in SENT_BY:
            plain_name = plain_name.removesuffix(ending)
    return SENT_BY.get(plain_name, ())
