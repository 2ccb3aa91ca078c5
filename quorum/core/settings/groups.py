"""The groups in which a form shows the settings."""

from quorum.core.context import get_setting_schemas

SETTING_GROUPS: dict[str, tuple[str, ...]] = {
    "Documents": ("collection", "where", "store", "embeddings", "title_key"),
    "Search": ("retriever", "language", "k", "documents", "retrieve", "reranker", "rerank_from"),
    "Filter": ("context_filter", "filter_mode", "silver_measure", "scorer"),
    "Model": ("model", "verifier", "temperature", "top_p", "samples", "seed", "context_window", "structured"),
    "Answer": ("answer_type", "answer_measure", "shorten", "citations", "calibration"),
    "Methods": (
        *("candidates", "ranking", "sure_parts", "queries", "filter_turns", "filter_union"),
        *("evaluator", "crag_upper", "crag_lower", "second_retriever"),
        *("iterations", "max_steps", "seed_search", "speculative", "vote", "examples", "prompts"),
    ),
    "Calls": (
        "timeout",
        "attempts",
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "embedding_batch",
        "journal",
    ),
}
OTHER_GROUP = "More"  # settings that no group names


def group_settings() -> dict[str, list[str]]:
    """{group: the names of its settings}. Every setting is in one group.

    >>> group_settings()["Search"]
    ['retriever', 'language', 'k', 'documents', 'retrieve', 'reranker', 'rerank_from']
    """
    names = list(get_setting_schemas())
    groups = {group: [name for name in members if name in names] for group, members in SETTING_GROUPS.items()}
    grouped = {name for members in groups.values() for name in members}
    others = [name for name in names if name not in grouped]
    return groups | ({OTHER_GROUP: others} if others else {})
