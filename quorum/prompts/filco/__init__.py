"""FILCO's prompts: they ask a context filter for the sentences, or the passages, that help."""

from collections.abc import Sequence

from quorum.core.state import Passage
from quorum.models.embedded import replies_filter
from quorum.parsing.answers import Parsed
from quorum.parsing.kept_sentences import parse_chosen_passages, parse_copied_sentences
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.reply_forms import NUMBER_LIST_FORM
from quorum.prompts.prompt import Prompt


def read_copied_sentences(reply: str, candidates: Sequence[str]) -> Parsed[list[str]]:
    """The sentences that a reply copies, as texts in reading order. candidates: the texts of the passages."""
    shown = [Passage(id=str(rank), title="", text=text) for rank, text in enumerate(candidates)]
    copied_sentences = parse_copied_sentences(reply, shown)
    return Parsed([piece.text for piece in copied_sentences.value], copied_sentences.malformed)


FILTER_SENTENCES = Prompt(
    "filter_sentences",
    parse=parse_copied_sentences,
    read=read_copied_sentences,
    reply="long",
    model="context_filter",
    offline=replies_filter.filter_sentences,
    sent_by=("any method with context_filter=llm",),
)
FILTER_PASSAGES = Prompt(
    "filter_passages",
    parse=parse_chosen_passages,
    read=parse_passage_ids,
    form=NUMBER_LIST_FORM,
    reply="word",
    model="context_filter",
    offline=replies_filter.filter_passages,
    sent_by=("any method with context_filter=llm",),
)
FILTER_PROMPTS = {"filco": FILTER_SENTENCES, "psg": FILTER_PASSAGES}  # by filter_mode
