"""Strips from a reply what surrounds its short answer: lead-ins, the repeated question, citation marks, Markdown.

The rules look at the form of a reply only. What is still a sentence afterwards is for a reader
(`quorum.nodes.read_answer`).
"""

import re
from dataclasses import dataclass

from quorum.algorithms.question_kind import is_yes_no_question
from quorum.core.sentences import find_sentences
from quorum.core.text import normalize
from quorum.parsing.answers import clean_answer, list_lines
from quorum.parsing.lead_ins import remove_lead_ins
from quorum.parsing.question_words import (
    OR_WORD,
    QUESTION_WORD,
    fold_word,
    fold_words,
    list_content_words,
)

MOST_WORDS = 4  # an answer of at most so many words, articles aside, is not read again
MOST_WORDS_OF_PHRASE = 12  # nor is a longer one, such as a title, if it is no sentence

SOURCE = r"(?:passage|document|doc|source|snippet|excerpt|article|context|text|(?:search )?result|reference|ref)s?"
NUMBERS = rf"\d{{1,3}}(?:(?:\s*[,;&–-]\s*|\s+and\s+)(?:{SOURCE}\s*)?\d{{1,3}})*"
CITATION = re.compile(
    rf"\s*(?:\[(?:\^|{SOURCE}\s*#?\s*)?(?!0\]){NUMBERS}\]|【[^】]{{1,40}}】|<sup>\s*\[?{NUMBERS}\]?\s*</sup>"
    rf"|\(\s*(?:(?:see|from|cf\.?)\s+)?(?:the\s+)?(?:{SOURCE}\s*#?\s*\[?{NUMBERS}\]?(?:\s*(?:,|and)\s*\[\d{{1,3}}\])*"
    rf"|\[{NUMBERS}\])\s*\))",
    re.IGNORECASE,
)
BOLD = re.compile(r"(\*\*|__|(?<!`)`(?!`))(?=\S)([^`]{1,200}?)(?<=\S)\1")  # or code inside a line
MARKDOWN = re.compile(
    r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.!?,])[*_](?!\w)|`+|^[ \t]{0,3}#{1,6}[ \t]+|^[ \t]{0,3}>[ \t]?", re.MULTILINE
)
LIST_ITEM = re.compile(r"\s*(?:[-•*+]|\(?\d{1,2}[.)])\s+(?=\S)")
WHOLE_QUOTATION = re.compile(r"[\"“«‘'][^\"”»\n]{1,200}[\"”»’'][.!]?")
THE_ANSWER_IS = re.compile(
    r"\b(?:the|my|your)\s+(?:\w+\s+){0,2}answer(?:\s+to\s+(?:the|this|your|that)\s+question)?"
    r"(?:,?\s+[\"“][^\"”\n]{1,200}[\"”],?)?(?:,\s[^,\n]{1,60},)?"
    r"\s+(?:is|was|are|would\s+be|must\s+be|should\s+be|appears\s+to\s+be|seems\s+to\s+be)\s*:?\s+(?:that\s+)?",
    re.IGNORECASE,
)
PRONOUN_IS = re.compile(
    r"(?:it|this|that|these|those|they|he|she|there)(?:[’']s|\s+(?:is|was|are|were|has\s+been|had\s+been|have\s+been"
    r"|would\s+be|will\s+be))\s+",
    re.IGNORECASE,
)
PRONOUN = re.compile(r"(?:it|this|that|these|those|they|he|she|there|we|you|i)(?:[’']\w+)?\s", re.IGNORECASE)
DID_IT = re.compile(r"(?P<subject>\w.*)\s+(?P<verb>\w+)\s+(?:it|them|him|her|this|that|those|these)\W*\Z")
AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|may|might|must|[’']s been)\b"
    r"|\w(?:n[’']t|[’'](?:re|ve|ll))\b",
    re.IGNORECASE,
)
# Between the question that a sentence repeats and its answer: a colon, or "is", "was called", "was written by".
LINK = re.compile(
    r"(?::|\s+(?:is|are|was|were|would be|will be|has been|have been|had been)"
    r"(?:\s+\w+(?:\s+(?:and|or)\s+\w+)?\s+by|(?:\s+(?:also|likely|probably|officially|generally|usually|typically|actually"
    r"|indeed|simply|just|called|named|known as))*))\s+",
    re.IGNORECASE,
)
APPOSITION = re.compile(r",\s+(?:an?|the|who|which)\s")
IS_THE_ONE_THAT = re.compile(
    r"\s+(?:is|was|are|were)\s+(?:the|an?)\s+(?:\w+\s+){1,3}(?:that|who|which)\Z", re.IGNORECASE
)
ROLE_BEFORE_NAME = re.compile(r"\A(?:the|an?)\s+(?:[a-z][a-z-]*\s+){1,3}(?=[A-Z])")
VERB_AND_PREPOSITION = re.compile(r"(?P<verb>\w+)\s+(?:by|in|on|at|from)\s+(?=\S)", re.IGNORECASE)
PREPOSITION = re.compile(r"(?:in|on)\s+(?=\S)", re.IGNORECASE)
TIME_QUESTION = re.compile(r"\W*(?:when|(?:in |on )?(?:what|which) (?:year|date|day|month|century))\b", re.IGNORECASE)
GLOSS = re.compile(r"(?<=\w)\s+\([^()]*\)\Z")
REASON = re.compile(
    r"\s*(?:[,;–—(-]\s*)?\b(?:because|since|as (?:\w+ )?(?:stated|mentioned|noted|described|shown|indicated|given"
    r"|reported|seen|per)|according to|based on|which (?:is|was|are|were)|who (?:is|was)|also known as)\b.*\Z"
    r"|\s*,\s*(?:as|so|where|when|making|thus|who|which)\b.*\Z|\s+[–—]\s.*\Z",
    re.IGNORECASE | re.DOTALL,
)
YES_OR_NO = re.compile(r"\W*(yes|no)\b(?!\s+(?:one|evidence|information|mention)\b)(?![-’'])", re.IGNORECASE)
UNSPACED_CHARACTER = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
FINAL_COLON = (":", "：")


@dataclass(frozen=True)
class PlainWording:
    """A reply without its wrapping.

    answer: what is left of it, written as a short answer; is_short: whether this is the answer, so that nothing needs
    to read the reply again; text: the reply in plain words, for a reader.
    """

    answer: str
    is_short: bool
    text: str


def strip_wording(reply: str, question: str) -> PlainWording:
    """Strip from a reply what is not its answer.

    These are greetings ("Sure!"), lead-ins ("Based on the passages,", "The answer is"), Markdown, citation marks
    ("[3]", "(passage 3)"), the question if the reply repeats it, and a reason after the answer. A yes/no question that
    the reply answers with yes or no has this answer. A phrase that is the only bold one, and is not in the question, is
    the answer.

    >>> strip_wording("Based on the passages, the answer is **pino** [2].", "Which package logs?").answer
    'pino'
    """
    unmarked_reply = CITATION.sub("", reply).strip()
    text = remove_asked_question(remove_lead_ins(MARKDOWN.sub("", unmarked_reply).strip()), question)
    line = get_answer_line(text)
    if is_yes_no_question(question):
        verdict = YES_OR_NO.match(find_conclusion(text) or text)
        return PlainWording(verdict[1].lower() if verdict else clean_answer(line), bool(verdict), text)
    if items := list_items(text):
        return PlainWording("; ".join(items), all(is_phrase(item, question) for item in items), text)
    sentence = remove_lead_ins(get_first_sentence(find_conclusion(text) or line))
    said = remove_repeated_question(sentence, question)
    if said is not None and 0 < count_words(answer := remove_additions(said, question)) <= MOST_WORDS:
        return PlainWording(answer, True, text)
    answer = remove_additions(sentence, question)
    if not is_sentence_about(sentence, question) and is_short_answer(answer, question):
        return PlainWording(answer, True, text)
    if bold_answer := find_bold_answer(unmarked_reply, question):
        return PlainWording(bold_answer, True, text)
    return PlainWording(clean_answer(find_conclusion(text) or line), is_phrase(text, question), text)


def remove_asked_question(text: str, question: str) -> str:
    """The text without the question itself at its beginning."""
    end = text.find("?") + 1
    is_repeated = end and end < len(text.rstrip()) and normalize(text[:end]) == normalize(question)
    return remove_lead_ins(text[end:].strip()) if is_repeated else text


def find_conclusion(text: str) -> str | None:
    """The line after the last "the answer is" in a text."""
    conclusions = list(THE_ANSWER_IS.finditer(text))
    return get_answer_line(text[conclusions[-1].end() :]) or None if conclusions else None


def get_answer_line(text: str) -> str:
    """The first line that does not announce another one by its colon."""
    lines = list(list_lines(text))
    line = next((line for line in lines if not line.endswith(FINAL_COLON)), lines[0] if lines else "")
    return LIST_ITEM.sub("", line, count=1) if LIST_ITEM.match(line) else line


def get_first_sentence(line: str) -> str:
    spans = find_sentences(line)
    return line[slice(*spans[0])] if spans else line


def remove_repeated_question(sentence: str, question: str) -> str | None:
    """What a sentence says beside the whole question that it repeats; None if it does not repeat the whole question.

    >>> remove_repeated_question("The capital of Norway is Oslo.", "What is the capital of Norway?")
    'Oslo'
    >>> remove_repeated_question("Ida Brenn built the tower.", "Who built the tower?")
    'Ida Brenn'
    >>> remove_repeated_question("Ida Brenn built it.", "Who built the tower?")
    'Ida Brenn'
    """
    text, wanted_words = sentence.strip().rstrip(".!"), list_content_words(question)
    if not wanted_words or OR_WORD.search(question):
        return None
    for link in reversed(list(LINK.finditer(text))):
        words = list_content_words(text[: link.end()])
        if wanted_words <= words <= wanted_words | fold_words(question) | list_content_words(link.group()):
            return remove_role(text[link.end() :], question)
    did_it = DID_IT.fullmatch(text)
    if did_it and fold_word(did_it["verb"]) in wanted_words:
        return did_it["subject"]
    predicate = normalize(QUESTION_WORD.sub("", question.strip().rstrip("?"), count=1)).split()
    for word in re.finditer(r"\w+", text):
        if len(predicate) > 1 and normalize(text[word.start() :]).split() == predicate:
            subject = IS_THE_ONE_THAT.sub("", text[: word.start()].strip(" ,"))
            return remove_role(APPOSITION.split(subject)[0], question) or None
    return None


def remove_role(name: str, question: str) -> str:
    """A name without the role before it, for a question that asks who: "the architect Ida Brenn" -> "Ida Brenn"."""
    return ROLE_BEFORE_NAME.sub("", name, count=1) if question.lower().startswith("who") else name


def remove_additions(text: str, question: str) -> str:
    """An answer without "It is" or "built by" before it, and without a reason or a gloss in brackets after it."""
    pronoun = PRONOUN_IS.match(text)
    text = text[pronoun.end() :] if pronoun else text
    answer = GLOSS.sub("", clean_answer(REASON.sub("", text)) or clean_answer(text))
    asked_verb = VERB_AND_PREPOSITION.match(answer)
    if asked_verb and fold_word(asked_verb["verb"]) in list_content_words(question):
        answer = answer[asked_verb.end() :]
    preposition = PREPOSITION.match(answer)
    return answer[preposition.end() :] if preposition and TIME_QUESTION.match(question) else answer


def is_short_answer(answer: str, question: str) -> bool:
    """Whether an answer needs no further reading: it has at most MOST_WORDS words, does not speak of "it", and says
    more than the question.
    """
    words = list_content_words(answer)
    repeats_question = bool(words) and words <= list_content_words(question) and not OR_WORD.search(question)
    return 0 < count_words(answer) <= MOST_WORDS and not PRONOUN.match(answer) and not repeats_question


def is_sentence_about(sentence: str, question: str) -> bool:
    """Whether a text is a whole sentence that speaks of what is asked: "Brahms wrote four symphonies.", "Ida wrote it."

    It has a full stop and two words of the question, or ends in a pronoun.
    """
    shares_words = len(list_content_words(sentence) & list_content_words(question)) > 1
    return (sentence.endswith(".") and shares_words) or DID_IT.fullmatch(sentence) is not None


def is_phrase(text: str, question: str) -> bool:
    """Whether a text of one line is no sentence: a title, a name with its place, or a quotation."""
    line = text.strip()
    if WHOLE_QUOTATION.fullmatch(line):
        return True
    return (
        "\n" not in line
        and 0 < count_words(line) <= MOST_WORDS_OF_PHRASE
        and not line.endswith((".", *FINAL_COLON))
        and not AUXILIARY.search(line)
        and not PRONOUN.match(line)
        and len(list_content_words(line) & list_content_words(question)) < 2
    )


def list_items(text: str) -> list[str]:
    """The items of a reply that is a list of two items or more; no items of any other reply."""
    lines = [line for line in list_lines(text) if not line.endswith(FINAL_COLON)]
    if len(lines) < 2 or not all(LIST_ITEM.match(line) for line in lines):
        return []
    return [clean_answer(LIST_ITEM.sub("", line, count=1)) for line in lines]


def find_bold_answer(text: str, question: str) -> str | None:
    """The only bold phrase, if it is no label, is short and says more than the question; else None."""
    phrases = {clean_answer(match[2]) for match in BOLD.finditer(text) if not match[2].rstrip().endswith(FINAL_COLON)}
    phrase = phrases.pop() if len(phrases) == 1 else ""
    return phrase if is_short_answer(phrase, question) else None


def count_words(text: str) -> int:
    """The words of a text, articles aside. In scripts without spaces, two characters count as a word."""
    unspaced_count = len(UNSPACED_CHARACTER.findall(text))
    return len(normalize(UNSPACED_CHARACTER.sub(" ", text)).split()) + (unspaced_count + 1) // 2
