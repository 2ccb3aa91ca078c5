"""Describes the content of a collection in a sentence for agents."""

from dataclasses import replace

from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.core.text import format_count
from quorum.core.where import format_where

MAX_PASSAGES_READ, MAX_TITLES = 300, 12  # how many passages are read for titles; how many titles are named


def describe_collection(context: Context, name: str) -> str:
    """What a collection of the context's store holds: a sentence such as '5 passages, with titles such as: Ada Korn;
    Vell.'; 'cannot be read now.' if reading fails.

    It blocks while it reads the store, so async callers run it in a thread.
    """
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    try:
        located_context = locate_collection(replace(context, collection=name))
        opened_store = open_store(located_context.store)
        where = format_where(context.where)
        passing_ids = None if where is None else sorted(opened_store.fetch_matching_ids(name, where))
        count = opened_store.count_passages(name) if passing_ids is None else len(passing_ids)
        read_ids = None if passing_ids is None else passing_ids[:MAX_PASSAGES_READ]
        if read_ids == []:
            return "0 passages."
        with opened_store.open_client():
            stored_rows = opened_store.fetch_undamaged_collection(name).get(
                ids=read_ids, limit=MAX_PASSAGES_READ, include=["metadatas"]
            )
    except QuorumError:
        return "cannot be read now."
    titles = dict.fromkeys(
        " ".join(str((metadata or {}).get("title") or "").split()) for metadata in stored_rows["metadatas"] or []
    )
    shown_titles = [title[:80] for title in titles if title][:MAX_TITLES]
    examples = f", with titles such as: {'; '.join(shown_titles)}" if shown_titles else ""
    return f"{format_count(count, 'passage')}{examples}."
