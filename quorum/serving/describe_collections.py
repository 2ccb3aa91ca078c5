"""Describes the content of a collection in a sentence for agents."""

from quorum.core.errors import QuorumError
from quorum.core.text import format_count

MAX_PASSAGES_READ, MAX_TITLES = 300, 12  # how many passages are read for titles; how many titles are named


def describe_collection(store: str, name: str) -> str:
    """A sentence such as '5 passages, with titles such as: Ada Korn; Vell.'; 'cannot be read now.' if reading fails.

    It blocks while it reads the store, so async callers run it in a thread.
    """
    from quorum.retrievers.store import open_store

    opened_store = open_store(store)
    try:
        count = opened_store.count_passages(name)
        with opened_store.open_client():
            stored_rows = opened_store.fetch_undamaged_collection(name).get(
                limit=MAX_PASSAGES_READ, include=["metadatas"]
            )
    except QuorumError:
        return "cannot be read now."
    titles = dict.fromkeys(
        " ".join(str((metadata or {}).get("title") or "").split()) for metadata in stored_rows["metadatas"] or []
    )
    shown_titles = [title[:80] for title in titles if title][:MAX_TITLES]
    examples = f", with titles such as: {'; '.join(shown_titles)}" if shown_titles else ""
    return f"{format_count(count, 'passage')}{examples}."
