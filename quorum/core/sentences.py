"""Splits a text into sentences by rules, without a model."""

import re


def make_word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# What separates two blocks (paragraphs, list items, table rows). A heading is matched whole.
BLOCK_BREAK = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]*(?:#{1,6} |[-*+•|>] |\d{1,3}[.)] ))|(?<=\n)#{1,6} [^\n]*\n")
SENTENCE_END = re.compile(r"""(?<![.!?…؟।۔])[.!?…؟।۔]++['"”’»)\]*_]*(?=\s)|[。！？｡]+[」』”’）】]*""")
UNSPACED_END = frozenset("。！？｡")  # these end a sentence even if no white space follows
LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d{1,3}$")  # "1. First item"
LAST_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
OPENING_MARKS = "\"'“‘«([*_"
# A full stop after one of these words never ends a sentence.
NEVER_LAST_WORDS = make_word_set(
    """mr mrs ms messrs dr prof st mt gen col lt capt sgt cpl maj adm rev hon gov sen rep pres supt fr e.g i.e cf viz vs
    ca fig figs eq ch vol vols pp ed eds trans nos approx est feat"""
)
# A full stop after one of these words ends a sentence only before one of SENTENCE_STARTERS.
SELDOM_LAST_WORDS = make_word_set(
    """al inc ltd co corp bros etc jr sr esq dept univ assn ave blvd
    jan feb mar apr jun jul aug sep sept oct nov dec"""
)
# A full stop between one of these words and a number ends no sentence: "no. 5".
WORDS_BEFORE_NUMBERS = make_word_set("no c p v n op art sec")
SENTENCE_STARTERS = make_word_set(
    """the a an it he she they we you i this that these those its his her their our in on at as by for from with after
    before when while where since although though if but and however there what who which how why one both all some
    many most"""
)


def find_sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, in order. Only white space is outside the sentences.

    A sentence ends at one or more of the marks ".", "!", "?" and "…" (or those of Arabic, Urdu and Hindi) if white
    space follows and the next word does not begin with a lower-case letter; at the end marks of scripts without
    spaces, such as "。"; and at the end of a paragraph, heading, list item or table row (but not at the end of a
    heading in the text's first line if prose follows in the next line).
    The full stop of a decimal, of a list number or of a title such as "Dr." ends no sentence. The full stop of an
    initial or of an abbreviation such as "Inc." ends a sentence only before a word that often begins one, such as
    "The", without a quotation mark or bracket before it.

    >>> find_sentences("Dr. Li left. Why?")
    [(0, 12), (13, 17)]
    """
    spans, start = [], 0
    for end in [*sorted(find_sentence_ends(text)), len(text)]:
        piece = text[start:end]
        if piece and not piece.isspace():
            spans.append((end - len(piece.lstrip()), start + len(piece.rstrip())))
        start = end
    return spans


def find_sentence_ends(text: str) -> set[int]:
    """The positions where sentences end: both ends of every break between blocks (paragraphs, headings, list items,
    table rows), and the ends of those end marks for which `is_sentence_end` holds.
    """
    ends = {place for block_break in BLOCK_BREAK.finditer(text) for place in block_break.span()}
    sentence_start = 0
    for mark in SENTENCE_END.finditer(text):
        if is_sentence_end(text, sentence_start, mark):
            sentence_start = mark.end()
            ends.add(sentence_start)
    return ends


def is_sentence_end(text: str, sentence_start: int, mark: re.Match[str]) -> bool:
    """Whether a full stop, question mark or other end mark ends the sentence that starts at `sentence_start`.

    This depends on the words before and after the mark.
    """
    following = text[mark.end() : mark.end() + 60].split(maxsplit=1)
    if mark.group()[0] in UNSPACED_END or not following:
        return True
    if following[0].lstrip(OPENING_MARKS)[:1].islower():
        return False
    if mark.group() != ".":
        return True
    last_word = LAST_WORD.search(text, max(sentence_start, mark.start() - 40), mark.start())
    word_before = last_word.group() if last_word else ""
    word_after = re.sub(r"\W+$", "", following[0]).lower()
    lower_before = word_before.lower()
    if lower_before in NEVER_LAST_WORDS or (lower_before in WORDS_BEFORE_NUMBERS and word_after.isdigit()):
        return False
    is_initial = len(word_before) == 1 and word_before.isupper() and word_before != "I"
    has_inner_dots = "." in word_before.strip(".")  # as in "U.S."
    if is_initial or has_inner_dots or lower_before in SELDOM_LAST_WORDS:
        return word_after in SENTENCE_STARTERS
    return not LIST_NUMBER.search(text, max(sentence_start, mark.start() - 8), mark.start())
