"""The reader's replies to questions that ask for more than a short answer: for steps, an explanation, or yes or no.

The reader only quotes. A question how to do something gets the list or the paragraph that holds the steps, any other
question for an explanation the sentences that help most. A yes/no question gets the verdict and the sentence that
decides it.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from quorum.algorithms.codes import find_missing_codes
from quorum.algorithms.filco_measures import Piece
from quorum.algorithms.question_kind import asks_how
from quorum.core.state import Passage
from quorum.core.statements import find_statements
from quorum.models.embedded import judging
from quorum.models.embedded.replies import UNKNOWN, Inputs, Sampler, cite, join_lines, remove_label_colons
from quorum.models.embedded.replies_blend import choose_verdict
from quorum.models.embedded.replies_compare import answer_by_rule, write_verdict
from quorum.models.embedded.replies_filter import choose_best_pieces, score_pieces
from quorum.models.embedded.statements import Statement, describe_headings, find_certainty, rank_statements

MAX_SENTENCES = 3  # of an explanation
# Below it, and if the filter keeps no sentence, the passages do not answer.
LOWEST_CERTAINTY = {"long": 0.15, "yes_no": 0.03}
LIST_ITEM = re.compile(r"[ \t]*(?:\d{1,3}[.)]|[-*+•])[ \t]+")
NUMBERED_ITEM = re.compile(r"[ \t]*\d{1,3}[.)][ \t]+")
ENDS_SENTENCE = re.compile(r"[.!?…]['\"”’)\]*`]*$")


async def answer_long(inputs: Inputs, sampler: Sampler) -> str:
    """The steps if the question asks how to do something, else the sentences most likely to help."""
    if asks_how(inputs["question"]) and (steps := await find_steps(inputs)):
        return steps
    return await explain(inputs)


async def explain(inputs: Inputs) -> str:
    """The sentences most likely to help, each with the number of its passage; Unknown if the filter keeps none.

    Of a piece of several lines, such as rows of a table, only the line that answers best.
    """
    pieces = await choose_best_pieces(inputs, MAX_SENTENCES)
    ranked_statements = await rank_statements(inputs["question"], inputs["passages"]) if pieces else []
    sentences = [cite(find_best_line(piece, ranked_statements), piece.rank + 1) for piece in pieces]
    return "".join(f"{text} " if ENDS_SENTENCE.search(text) else f"{text}\n" for text in sentences).rstrip() or UNKNOWN


def find_best_line(piece: Piece, ranked_statements: Sequence[Statement]) -> str:
    """The first of the ranked statements that lies in the piece, if the piece has several lines; else the piece."""
    if "\n" not in piece.text.strip():
        return piece.text
    inside = (
        piece.text[statement.start - piece.start : statement.end - piece.start]
        for statement in ranked_statements
        if statement.passage == piece.rank and piece.start <= statement.start and statement.end <= piece.end
    )
    return next(inside, piece.text)


async def find_steps(inputs: Inputs) -> str | None:
    """The lines that hold the steps, each with the number of its passage; None if the passages do not answer."""
    statement = await find_answering_statement(inputs, LOWEST_CERTAINTY["long"])
    if statement is None:
        return None
    lines = choose_lines(inputs["passages"][statement.passage], statement)
    return "\n".join(cite(line, statement.passage + 1) for line in lines)


async def find_answering_statement(inputs: Inputs, lowest_certainty: float) -> Statement | None:
    """The statement of the passages that answers best; None if neither the ranking nor the filter finds that one of
    them helps. Statements that name every code of the question, such as E-4021, come before others.
    """
    statements = await rank_statements(inputs["question"], inputs["passages"])
    ranked_statements = sorted(statements, key=lambda item: bool(list_missing_codes(inputs, item)))
    if not ranked_statements:
        return None
    if find_certainty(ranked_statements, agrees=False) >= lowest_certainty:
        return ranked_statements[0]
    pieces = await score_pieces(inputs["question"], inputs["passages"])
    is_helpful = max((score for score, _ in pieces), default=0.0) >= await judging.get_filter_threshold()
    return ranked_statements[0] if is_helpful else None


def list_missing_codes(inputs: Inputs, statement: Statement) -> list[str]:
    """The codes of the question that neither the statement nor its headings name."""
    passage = inputs["passages"][statement.passage]
    text = f"{describe_headings(passage)}\n{passage['text'][statement.start : statement.end]}"
    return find_missing_codes(inputs["question"], text)


def choose_lines(passage: Passage, statement: Statement) -> list[str]:
    """The lines of a passage around a statement that hold the steps, in order.

    A numbered list is taken whole, and so are the lines under one that ends with a colon, such as commands; of a list
    with other marks only the item, of prose the paragraph. A sentence with a colon before these lines comes with them.
    """
    lines, here = split_lines(passage["text"], statement.start)
    if not lines:
        return []
    if here == 0 and len(lines) > 1 and not re.search(r"[.:!?;,]", lines[here]):
        here = 1  # the first line is a heading
    belongs = NUMBERED_ITEM.match if NUMBERED_ITEM.match(lines[here]) else is_command
    first = last = here
    while first > 1 and belongs(lines[here]) and belongs(lines[first - 1]):
        first -= 1
    if lines[here].endswith(":"):
        last += len(list(takewhile(lambda line: is_command(line) or LIST_ITEM.match(line), lines[here + 1 :])))
    elif belongs(lines[here]):
        last += len(list(takewhile(belongs, lines[here + 1 :])))
    if lines[here].endswith(":"):
        return [find_lead(lines[here]) or lines[here], *lines[here + 1 : last + 1]]
    is_led = first > 0 and (LIST_ITEM.match(lines[first]) or is_command(lines[first]))
    lead = find_lead(lines[first - 1]) if is_led else None
    return [*([lead] if lead else []), *lines[first : last + 1]]


def split_lines(text: str, place: int) -> tuple[list[str], int]:
    """The lines of a text that are not blank, and the index of the one that holds the character at `place`."""
    lines, here, end = [], 0, 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        if line.strip():
            lines.append(line.strip())
            if end <= place:
                here = len(lines)
    return lines, min(here, len(lines) - 1)


def is_command(line: str) -> bool:
    """Whether a line is neither prose nor an item of a list nor an introduction: a command, code, a row."""
    return not LIST_ITEM.match(line) and not line.endswith(":") and not ENDS_SENTENCE.search(line)


def find_lead(line: str) -> str | None:
    """The last sentence of a line if it ends with a colon ("To open it:"); else None."""
    sentences = find_statements(line)
    return line[sentences[-1][0] : sentences[-1][1]] if sentences and line.endswith(":") else None


async def answer_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """ "Yes." or "No." and the sentence that decides it; Unknown if the verdict is unknown or no sentence helps.

    A rule for questions that compare two things comes first; its verdict needs no sentence, and an option that it
    chooses has none.
    """
    question, passages = inputs["question"], inputs["passages"]
    rule_answer = answer_by_rule(inputs)
    verdict = await choose_verdict(question, passages) if rule_answer is None else write_verdict(rule_answer)
    if verdict not in ("Yes", "No"):
        return verdict
    statement = await find_answering_statement(inputs, LOWEST_CERTAINTY["yes_no"])
    if statement is None:
        return UNKNOWN if rule_answer is None else verdict
    sentence = passages[statement.passage]["text"][statement.start : statement.end]
    return f"{verdict}. {remove_label_colons(join_lines(sentence))}"
