"""Writes numbers, ordinals and units in one form, whether the text has them in words or in digits."""

from collections.abc import Sequence
from decimal import Decimal

WORDS_TO_NINETEEN = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
WORDS_OF_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ORDINALS_TO_NINETEENTH = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
ORDINALS_OF_TENS = [
    "twentieth",
    "thirtieth",
    "fortieth",
    "fiftieth",
    "sixtieth",
    "seventieth",
    "eightieth",
    "ninetieth",
]
NUMBER_OF_WORD = {word: number for number, word in enumerate(WORDS_TO_NINETEEN)} | {
    word: 20 + 10 * n for n, word in enumerate(WORDS_OF_TENS)
}
NUMBER_OF_ORDINAL = {word: n for n, word in enumerate(ORDINALS_TO_NINETEENTH, 1)} | {
    word: 20 + 10 * n for n, word in enumerate(ORDINALS_OF_TENS)
}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

UNIT_SPELLINGS = {  # a unit: its other spellings
    "km": "kilometer kilometers kilometre kilometres kms",
    "m": "meter meters metre metres",
    "cm": "centimeter centimeters centimetre centimetres",
    "mm": "millimeter millimeters millimetre millimetres",
    "mile": "miles mi",
    "foot": "feet ft",
    "inch": "inches",
    "yard": "yards yd yds",
    "kg": "kilogram kilograms kilogramme kilogrammes kgs kilo kilos",
    "g": "gram grams gramme grammes",
    "lb": "lbs",
    "pound": "pounds",
    "ton": "tons",
    "mph": "",
    "hour": "hours hr hrs",
    "minute": "minutes min mins",
    "second": "seconds sec secs",
    "day": "days",
    "week": "weeks",
    "month": "months",
    "year": "years yr yrs",
    "dollar": "dollars",
    "euro": "euros",
    "degree": "degrees",
    "celsius": "",
    "percent": "",
    "bc": "bce",
    "ad": "ce",
}
UNIT_OF_WORD = {name: unit for unit, names in UNIT_SPELLINGS.items() for name in (unit, *names.split())}
CURRENCIES = {"$": "dollar", "€": "euro", "£": "gbp", "¥": "yen"}
MOST_SCALED_DIGITS = 15  # a longer number is not multiplied by a scale such as "million"


def rewrite_numbers(words: Sequence[str]) -> list[str]:
    """Write numbers and ordinals in digits, units after a number in one form, and currencies after their number.

    words: in lower case, without articles, except "a" or "an" before a scale word: "a million". Words that only look
    like numbers stay: "007", "no one", a lone "million". "second" is always an ordinal, never the unit of time; "sec"
    and "seconds" are the unit.

    >>> rewrite_numbers("one hundred and five miles".split()), rewrite_numbers(["$", "3.5", "million"])
    (['105', 'mile'], ['3500000', 'dollar'])
    >>> rewrite_numbers("twenty first".split()), rewrite_numbers(["fifth"]), rewrite_numbers(["no", "one"])
    (['21st'], ['5th'], ['no', 'one'])
    """
    rewritten_words: list[str] = []
    position = 0
    while position < len(words):
        number, end = read_number(words, position)
        if number is None or (rewritten_words and rewritten_words[-1] == "no" and words[position] == "one"):
            rewritten_words.append(
                normalize_unit(words[position])
                if rewritten_words and is_number(rewritten_words[-1])
                else words[position]
            )
            position += 1
            continue
        currency = CURRENCIES.get(rewritten_words[-1]) if rewritten_words and is_number(number) else None
        # The sign of a currency stands before its number; the currency's name is written after it.
        rewritten_words[len(rewritten_words) - bool(currency) :] = [number, *([currency] if currency else [])]
        position = end
    return rewritten_words


def normalize_unit(word: str) -> str:
    return UNIT_OF_WORD.get(word, word)


def is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdecimal()


def read_number(words: Sequence[str], position: int) -> tuple[str | None, int]:
    """The number or ordinal that begins at `position`, in digits, and the position after it.

    If none begins there: None, and `position` itself.
    """
    first = words[position]
    if first in NUMBER_OF_ORDINAL:
        return format_ordinal(NUMBER_OF_ORDINAL[first]), position + 1
    if is_number(first):
        return read_scaled_number(first, words, position + 1)
    if first not in NUMBER_OF_WORD and not (
        first in ("a", "an") and words[position + 1 : position + 2] and is_scale(words[position + 1])
    ):
        return None, position
    return read_number_words(words, position)


def is_scale(word: str) -> bool:
    return word == "hundred" or word in SCALES


def read_scaled_number(digits: str, words: Sequence[str], position: int) -> tuple[str, int]:
    """The number `digits` times the scale word at `position` ("3.5", "million" -> "3500000"), and the next position.

    If no scale word stands there, `digits` is too long, or the product is not whole: `digits` and `position` as given.
    """
    scale = SCALES.get(words[position]) if position < len(words) else None
    if scale is None or len(digits) > MOST_SCALED_DIGITS:
        return digits, position
    value = Decimal(digits) * scale
    return (str(int(value)), position + 1) if value == int(value) else (digits, position)


def read_number_words(words: Sequence[str], position: int) -> tuple[str, int]:
    """Read a number in words, such as "two thousand and five". Each scale must be smaller than the one before."""
    total, part, last_scale = 0, 0, 10**15  # part: what a following scale word multiplies; it is not in total yet
    room = 100  # the next word may add a number below this to the part
    start = position
    while position < len(words):
        word = "one" if position == start and words[position] in ("a", "an") else words[position]
        if word in NUMBER_OF_WORD and NUMBER_OF_WORD[word] < room:
            part += NUMBER_OF_WORD[word]
            room = 10 if NUMBER_OF_WORD[word] >= 20 else 0
            room = room if NUMBER_OF_WORD[word] else 0
        elif word in NUMBER_OF_ORDINAL and NUMBER_OF_ORDINAL[word] < room and word != "second":
            return format_ordinal(total + part + NUMBER_OF_ORDINAL[word]), position + 1
        elif word == "hundred" and 0 < part < 10:
            part, room = part * 100, 100
        elif SCALES.get(word, last_scale) < last_scale and part:
            total, part, last_scale, room = total + part * SCALES[word], 0, SCALES[word], 100
        elif not (word == "and" and room == 100 and total + part and is_number_word(words, position + 1)):
            break
        position += 1
    return str(total + part), position


def is_number_word(words: Sequence[str], position: int) -> bool:
    return position < len(words) and words[position] in NUMBER_OF_WORD and NUMBER_OF_WORD[words[position]] > 0


def format_ordinal(number: int) -> str:
    """5 -> "5th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
