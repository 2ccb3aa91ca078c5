"""Answers whether two things share a trait, from the passages about them. Rules decide, without a model.

Such questions are "Are A and B both X?" and "Are A and B from the same country?".
"""

import re
from collections.abc import Sequence

from quorum.algorithms.comparison_questions import BRACKETED_TEXT, ROLE, WORD, find_text_about_person
from quorum.core.sentences import make_word_set

YES_NO_OPENING = re.compile(r"^(?:are|were|is|was|do|did|does|can|could|have|has|both)\b", re.IGNORECASE)
SAME_COUNTRY = re.compile(r"\bsame (?:country|nationality)|\bnationality\b", re.IGNORECASE)
SAMENESS_WORD = re.compile(r"\b(?:same|share|different|similar)\b", re.IGNORECASE)
COUNTRIES = {  # lower-case word -> the country that it stands for
    name: country
    for country, names in {
        "usa": "american us usa u.s. america",
        "uk": "british english scottish welsh england scotland wales britain uk",
        "canada": "canada canadian",
        "ireland": "ireland irish",
        "australia": "australia australian",
        "new zealand": "zealand",
        "france": "france french",
        "germany": "germany german",
        "austria": "austria austrian",
        "switzerland": "switzerland swiss",
        "italy": "italy italian",
        "spain": "spain spanish",
        "portugal": "portugal portuguese",
        "netherlands": "netherlands dutch",
        "belgium": "belgium belgian",
        "denmark": "denmark danish",
        "norway": "norway norwegian",
        "sweden": "sweden swedish",
        "finland": "finland finnish",
        "iceland": "iceland icelandic",
        "poland": "poland polish",
        "czech": "czech czechoslovak",
        "hungary": "hungary hungarian",
        "romania": "romania romanian",
        "bulgaria": "bulgaria bulgarian",
        "greece": "greece greek",
        "turkey": "turkey turkish",
        "russia": "russia russian soviet",
        "ukraine": "ukraine ukrainian",
        "serbia": "serbia serbian yugoslav",
        "israel": "israel israeli",
        "iran": "iran iranian",
        "iraq": "iraq iraqi",
        "egypt": "egypt egyptian",
        "tunisia": "tunisia tunisian",
        "algeria": "algeria algerian",
        "morocco": "morocco moroccan",
        "south africa": "africa",
        "nigeria": "nigeria nigerian",
        "kenya": "kenya kenyan",
        "botswana": "botswana",
        "india": "india indian",
        "pakistan": "pakistan pakistani",
        "bangladesh": "bangladesh bangladeshi",
        "nepal": "nepal nepalese",
        "china": "china chinese",
        "japan": "japan japanese",
        "korea": "korea korean",
        "vietnam": "vietnam vietnamese",
        "thailand": "thailand thai",
        "philippines": "philippines filipino philippine",
        "indonesia": "indonesia indonesian",
        "malaysia": "malaysia malaysian",
        "mexico": "mexico mexican",
        "brazil": "brazil brazilian",
        "argentina": "argentina argentine argentinian",
        "chile": "chile chilean",
        "colombia": "colombia colombian",
        "peru": "peru peruvian",
        "cuba": "cuba cuban",
        "cape verde": "verde",
        "azerbaijan": "azerbaijan azerbaijani",
        "armenia": "armenia armenian",
        "georgia": "georgian",
    }.items()
    for name in names.split()
}
# Countries are read only from the first 260 characters of a text, because its opening names the country of origin.
OPENING_LENGTH = 260
# In "Are A and B both X?", these words do not belong to the trait X.
COMMON_WORDS = make_word_set(
    """are were is was do did does can could have has both the a an of in on to and or by for from with considered be
    type types kind kinds what which located made used known also as at film films movie movies band bands
    magazine magazines their they it its that this"""
)


def answer_about_both(question: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """Answer "yes" or "no" to the question whether two things share a trait; None if it is another question.

    passages: (title, text) of each. The two things are the titles that the question contains. The answer is None, too,
    if these are not exactly two, or if the question is about countries and a text names none. For "Are A and B both X?"
    the answer is "yes" if both texts have every word of X, else "no", even if a text says nothing about X.

    >>> passages = [("Ada Lovelace", "Ada Lovelace was an English writer."), ("Ida Rhodes", "An American scientist.")]
    >>> answer_about_both("Are Ada Lovelace and Ida Rhodes from the same country?", passages)
    'no'
    """
    if not YES_NO_OPENING.match(question.strip()) or not re.search(r"\b(?:and|both)\b", question, re.IGNORECASE):
        return None
    named_passages = find_named_passages(question, passages)
    if len(named_passages) != 2:
        return None
    texts = [text for _, text in named_passages]
    if SAME_COUNTRY.search(question):
        return compare_countries(question, texts, passages)
    if SAMENESS_WORD.search(question) or not re.search(r"\bboth\b", question, re.IGNORECASE):
        return None
    question_without_titles = question
    for title, _ in named_passages:
        # The question may write a title with other punctuation, which `find_named_passages` ignores.
        title_pattern = r"\W+".join(map(re.escape, WORD.findall(title)))
        question_without_titles = re.sub(title_pattern, " ", question_without_titles, count=1, flags=re.IGNORECASE)
    trait_words = {
        stem_word(word) for word in WORD.findall(question_without_titles.lower()) if word not in COMMON_WORDS
    }
    if not trait_words:
        return None
    return (
        "yes"
        if all(trait_words <= {stem_word(word) for word in WORD.findall(text.lower())} for text in texts)
        else "no"
    )


def find_named_passages(question: str, passages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(title, text) of the passages whose titles the question contains, longer titles first.

    Titles are compared and returned without text in brackets. A title that occurs only inside a longer title of another
    passage does not count.
    """
    remaining_question = " ".join(WORD.findall(question.lower()))
    named_passages: list[tuple[str, str]] = []
    for title, text in sorted(passages, key=lambda passage: -len(passage[0])):
        short_title = BRACKETED_TEXT.sub("", title)
        words = " ".join(WORD.findall(short_title.lower()))
        if words and re.search(rf"\b{re.escape(words)}\b", remaining_question):
            remaining_question = re.sub(rf"\b{re.escape(words)}\b", " ", remaining_question, count=1)
            named_passages.append((short_title, text))
    return named_passages


def compare_countries(question: str, texts: Sequence[str], passages: Sequence[tuple[str, str]]) -> str | None:
    """ "yes" if the openings of the two texts name a common country, else "no"; None if one of them names no country.

    If the question contains "directors" or a role of `ROLE` in the singular ("performer"), the passages about the
    people who have this role in the two works are compared in place of the texts about the works; None if a passage
    about one of these people is not found. Other plurals ("performers") are not recognised.
    """
    role = ROLE.search(question.replace("directors", "director"))
    if role is not None:
        texts_about_people = [find_text_about_person(role.group().lower(), text, passages) for text in texts]
        if any(text is None for text in texts_about_people):
            return None
        texts = [text or "" for text in texts_about_people]
    first, second = (list_countries(text) for text in texts)
    if not first or not second:
        return None
    return "yes" if first & second else "no"


def list_countries(text: str) -> set[str]:
    """The countries that the opening of a text names."""
    opening = (
        text[:OPENING_LENGTH].replace("United States", "USA").replace("United Kingdom", "UK").replace("U.S.", "USA")
    )
    words = {word.lower() for word in WORD.findall(opening) if word != "us"}  # "US" is a country, "us" a pronoun
    return {COUNTRIES[word] for word in words if word in COUNTRIES}


def stem_word(word: str) -> str:
    """A word of four letters or more without its final "s" ("ies" becomes "y"); a shorter word as it is."""
    for ending, replacement in (("ies", "y"), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) > 3:
            return word.removesuffix(ending) + replacement
    return word
