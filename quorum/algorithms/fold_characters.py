"""Folds what differs only in typography: quotes, dashes, hyphens, full-width forms, ligatures, composed and decomposed
letters, accents of Latin letters, spaces, and characters that nobody sees. Votes (`quorum.algorithms.vote_key`) and
measures (`quorum.algorithms.answer_measures`) share it.
"""

import re
import unicodedata
from functools import lru_cache

# The kinds of Unicode's compatibility forms that look different and mean the same. Superscripts and fractions are not
# among them, because 10² is not 102, and 1½ is not 11/2 (see `fold_power` and FRACTION); numbers in circles stay.
FOLDED_FORMS = frozenset(
    f"<{name}>"
    for name in "wide narrow noBreak compat font square vertical small sub initial medial final isolated".split()  # noqa: SIM905
)
# A plain sign -> the signs that are folded to it. Dashes (Unicode's category Pd) are folded to "-" as well.
VARIANTS_OF_SIGN = {
    "'": "’‘ʼ‛‚ʻʹ`´′",
    '"': "“”„‟«»‹›″",
    "-": "−⁃",
    "~": "〜",
    "/": "⁄∕",
    ".": "٫",  # the decimal separator in Arabic
    ",": "٬",  # the thousands separator in Arabic
    # Not seen: soft hyphen, zero-width space, word joiner, byte order mark, marks of direction. Only seen: tatweel,
    # which stretches an Arabic word, and trade marks. (U+200C and U+200D stay: in some scripts they change words.)
    "": "\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069ـ®™℠",
}
PLAIN_SIGN = {ord(variant): sign for sign, variants in VARIANTS_OF_SIGN.items() for variant in variants}
NON_ASCII = re.compile(r"[^\x00-\x7f]")
LATIN_ACCENTS = re.compile(r"(?<=[\x00-\x7f])[\u0300-\u036f]+")
FRACTION = re.compile("(?<=[0-9])(?=[¼-¾⅐-⅞])")  # between a whole number and a fraction
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
POWER = re.compile(r"(?P<base>[0-9)]?)(?P<exponent>[⁰¹²³⁴-⁹⁺⁻]+)")


def fold_characters(text: str) -> str:
    """The text with plain quotes, dashes, digits and letters, with single spaces, and with Latin letters without their
    accents. Letter case stays, and so do all other letters.

    >>> fold_characters("« Sean O’Brien »"), fold_characters("１９１４–１９１８"), fold_characters("the ﬁrst Café")
    ('" Sean O\\'Brien "', '1914-1918', 'the first Cafe')
    >>> fold_characters("10² m², 1½")
    '10^2 m2, 1 1/2'
    """
    if text.isascii():
        return " ".join(text.replace("`", "'").split())
    spaced_text = FRACTION.sub(" ", unicodedata.normalize("NFC", text))
    plain_text = NON_ASCII.sub(fold_match, POWER.sub(fold_power, spaced_text)).replace("`", "'")
    without_accents = LATIN_ACCENTS.sub("", unicodedata.normalize("NFD", plain_text))
    return " ".join(unicodedata.normalize("NFC", without_accents).split())


def fold_match(match: re.Match[str]) -> str:
    return fold_character(match[0])


@lru_cache(maxsize=4096)
def fold_character(character: str) -> str:
    """The plain form of a character that is not ASCII; the character itself if it has none.

    >>> fold_character("–"), fold_character("ﬁ"), fold_character("４"), fold_character("४"), fold_character("é")
    ('-', 'fi', '4', '4', 'é')
    """
    if ord(character) in PLAIN_SIGN:
        return PLAIN_SIGN[ord(character)]
    category, (form, _, parts) = unicodedata.category(character), unicodedata.decomposition(character).partition(" ")
    if category == "Pd":
        return "-"
    if category == "Nd":
        return str(unicodedata.decimal(character))
    # The second test leaves out accents that stand alone, such as "¨", whose plain form would begin with a space.
    if form in FOLDED_FORMS and not (parts.startswith("0020 ")):
        return unicodedata.normalize("NFKC", character).translate(PLAIN_SIGN)
    if form == "<fraction>":
        return unicodedata.normalize("NFKC", character).translate(PLAIN_SIGN)
    return character


def fold_power(match: re.Match[str]) -> str:
    """A superscript number as "^2" after a number or a bracket, else as plain digits: "10²" -> "10^2", "m²" -> "m2"."""
    return match["base"] + ("^" if match["base"] else "") + match["exponent"].translate(SUPERSCRIPTS)
