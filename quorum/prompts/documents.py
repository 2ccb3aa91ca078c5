"""Writes whole documents in the form that prompts show."""

from collections.abc import Sequence
from itertools import groupby, takewhile

from quorum.core.state import Passage
from quorum.documents.document_names import name_document
from quorum.documents.pieces import get_headings
from quorum.prompts.escape import escape


def format_documents(passages: Sequence[Passage]) -> str:
    """The documents of these passages, numbered from 1: 'Document 1: title > headings', then the texts of its passages,
    with a blank line between two. Passages of a document stand side by side. What in them looks like a part of the
    prompt is escaped (`quorum.prompts.escape`); an empty list is '(none)'.

    >>> texts = ["It is hot.", "It is green."]
    >>> print(format_documents([Passage(id=text, title="Tea", text=text) for text in texts]))
    Document 1: Tea
    <BLANKLINE>
    It is hot.
    <BLANKLINE>
    It is green.
    """
    return write_documents(passages, [escape(passage["text"].strip()) for passage in passages])


def format_numbered_documents(passages: Sequence[Passage]) -> str:
    """As `format_documents`, with the number of each passage, '[1] text', for an answer that cites passages."""
    numbered = enumerate(passages, start=1)
    return write_documents(
        passages, [f"[{number}] {escape(passage['text'].strip(), begins_line=False)}" for number, passage in numbered]
    )


def write_documents(passages: Sequence[Passage], texts: Sequence[str]) -> str:
    """The documents, with these texts for their passages."""
    pairs = zip(passages, texts, strict=True)
    parts: list[str] = []
    for number, (_, members) in enumerate(groupby(pairs, lambda pair: name_document(pair[0])), start=1):
        document = list(members)
        heading = describe_document([passage for passage, _ in document])
        parts.append(f"Document {number}: {escape(heading, begins_line=False)}" if heading else f"Document {number}")
        parts += [text for _, text in document]
    return "\n\n".join(parts) or "(none)"


def describe_document(passages: Sequence[Passage]) -> str:
    """'title > headings' of a document's passages: the headings that stand above all of them, without the first if it
    is the title.
    """
    title = " ".join(passages[0]["title"].split())
    by_level = zip(*(get_headings(passage) for passage in passages), strict=False)
    common = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, by_level)]
    return " > ".join(part for part in [title, *(common[1:] if common[:1] == [title] else common)] if part)
