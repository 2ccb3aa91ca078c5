"""The plain name of each method and the family under which a page lists it, for people who know no paper."""

from quorum.cascades.written_cascade import split_steps

TITLES_BY_FAMILY: dict[str, dict[str, str]] = {
    "Read all passages at once": {
        "concat": "One answer from all passages",
        "base": "One short answer from all passages",
        "direct": "Three examples, then one answer",
        "pruning": "Rule out passages, answer from the rest",
        "summary": "Summarize what is relevant, then answer",
        "sum_and_pred": "Summarize, then answer from the summary alone",
        "hyde": "Search with a made-up passage, then one answer",
        "full_documents": "One answer from whole documents",
        "self_route": "All passages at once; if unknown, whole documents",
    },
    "Read each passage alone and vote": {
        "post_fusion": "Each passage votes",
        "concat_pf": "All passages at once; if unknown, each passage votes",
        "pf_concat": "Each passage answers, then one prompt over those that did",
        "rerank": "Votes weighted by shared words",
        "replug": "Votes weighted by meaning",
    },
    "Propose answers and choose one": {
        "sure": "Candidates with summaries, verified and ranked",
        "mcq": "Candidates as choices of one question",
        "self_verification": "Several answers, each checked backwards",
    },
    "Filter the passages first": {
        "filco": "Keep the sentences that help",
        "blendfilter": "Blended queries, filtered passages",
        "crag": "Grade the passages, search again if none is good",
    },
    "Think step by step": {
        "zero_shot_cot": "Step by step over all passages",
        "cot": "Step by step, after worked examples",
        "selection_inference": "Rank the passages, take notes one by one",
    },
    "Search several times": {
        "react": "Thoughts and searches in turn",
        "agent": "The model calls a search tool",
        "self_ask": "Follow-up questions, each looked up",
        "iter_retgen": "Rounds of search and reasoning",
    },
    "Ask the model alone": {
        "no_retrieval": "No passages, from the model's memory",
    },
}
OTHER_FAMILY = "Others"  # methods of installed packages, and cascades


def describe_method(name: str) -> tuple[str, str]:
    """(family, plain name) of a method. A method of an installed package has its own name.

    >>> describe_method("concat")
    ('Read all passages at once', 'One answer from all passages')
    >>> describe_method("concat>sure[k=3]")
    ('Cascades', 'One answer from all passages; if unknown: Candidates with summaries, verified and ranked')
    """
    if ">" in name:
        return "Cascades", "; if unknown: ".join(describe_method(step.method)[1] for step in split_steps(name))
    for family, titles in TITLES_BY_FAMILY.items():
        if name in titles:
            return family, titles[name]
    return OTHER_FAMILY, name
