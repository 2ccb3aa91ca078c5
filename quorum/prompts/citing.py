"""Chooses the texts of the prompts: those that ask the model to cite passages (`Context.citations`), and the papers'
wordings.
"""

from collections.abc import Mapping

from quorum.prompts import Overrides, list_texts, load_overrides

# The prompts for long answers and for turns of a conversation, in a wording that asks for no citations.
UNCITED_TEXTS = list_texts("uncited")
# The papers' wordings: yes or no in one word, without the sentence why; two summaries are never a tie; and so on.
PLAIN_TEXTS = list_texts("plain")


def choose_texts(overrides: Overrides, *, cites: bool, is_plain: bool = False) -> Mapping[str, str]:
    """The texts that replace the built-in ones, by the prompts' names: those of the user and, unless the answer shall
    cite passages, those that ask for no citations. The user's win. is_plain: the papers' wordings.

    >>> sorted(choose_texts({"answer_long": "$passages $question"}, cites=True))
    ['answer_long']
    >>> sorted(choose_texts(None, cites=False))
    ['answer_candidates_dialogue', 'answer_candidates_long', 'answer_dialogue', 'answer_long']
    """
    return {**({} if cites else UNCITED_TEXTS), **(PLAIN_TEXTS if is_plain else {}), **load_overrides(overrides)}
