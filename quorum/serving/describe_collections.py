"""Describes the content of a collection in a sentence for agents."""

from quorum.core.errors import QuorumError

FIRST_PASSAGES, MOST_TITLES = 300, 12  # passages that are read; titles that are named


def describe_collection(store: str, name: str) -> str:
    """A sentence such as '5 passages, among them from: Ada Korn; Vell.' Blocks."""
    from quorum.retrievers.store import open_store

    opened_store = open_store(store)
    try:
        count = opened_store.count(name)
        with opened_store.open_client():
            stored = opened_store.fetch_undamaged_collection(name).get(limit=FIRST_PASSAGES, include=["metadatas"])
    except QuorumError:
        return "cannot be read now."
    titles = dict.fromkeys(" ".join(str((item or {}).get("title") or "").split()) for item in stored["metadatas"] or [])
    named = [title[:80] for title in titles if title][:MOST_TITLES]
    return f"{count:,} passage{'' if count == 1 else 's'}{', among them from: ' + '; '.join(named) if named else ''}."
