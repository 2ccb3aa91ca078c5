"""Parsing replies that should hold a question; drawing passages to write questions about; recognising questions that
repeat an earlier one or mention their passage.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.evaluation.questions.check import POINTING_PHRASE, EarlierQuestions
from quorum.evaluation.questions.draw import (
    QUESTION_KINDS,
    Draw,
    DrawQueue,
    Kind,
    find_partner,
    generate_draws,
    order_by_documents,
    read_mix,
    select_long_passages,
    split_by_mix,
)
from quorum.parsing.answers import Parsed
from quorum.parsing.written_questions import WrittenQuestion, parse_written_question

TOWN_QUESTION, LUND_ANSWERS = "In which town did she go to school?", ["Lund"]

REPLIES = {  # reply -> question, answers, malformed
    f"Question: {TOWN_QUESTION}\nAnswer: Lund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f" {TOWN_QUESTION}\nAnswer: Lund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"{TOWN_QUESTION}\n\nAnswer: Lund.\nAlso: Lund, Sweden | the town of Lund": (
        TOWN_QUESTION,
        ["Lund", "Lund, Sweden", "the town of Lund"],
        False,
    ),
    f"Question: {TOWN_QUESTION}\nAnswer: Lund\nAlso: none": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Question: {TOWN_QUESTION}\nAnswer: Lund | lund | LUND.": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"**Question:** {TOWN_QUESTION}\n**Answer:** Lund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"**Question**: {TOWN_QUESTION}\n\n**Answer**: **Lund**": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"### Question\n{TOWN_QUESTION}\n\n### Answer\nLund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"```\nQuestion: {TOWN_QUESTION}\nAnswer: Lund\n```": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"```text\nQuestion: {TOWN_QUESTION}\nAnswer: Lund\n```": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Sure! Here is a question:\n\nQuestion: {TOWN_QUESTION}\nAnswer: Lund\n\nI hope this helps.": (
        TOWN_QUESTION,
        LUND_ANSWERS,
        False,
    ),
    f'Question: "{TOWN_QUESTION}"\nAnswer: "Lund"': (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Q: {TOWN_QUESTION}\nA: Lund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Question: {TOWN_QUESTION}\n\nThe answer is: Lund\n\nThe passage tells it.": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Question: {TOWN_QUESTION}\n\nAnswer: Lund\n\nQuestion:": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Q1: {TOWN_QUESTION}\nA1: Lund": (TOWN_QUESTION, LUND_ANSWERS, False),
    f"Question: {TOWN_QUESTION} Answer: Lund Also: Lund, Sweden": (TOWN_QUESTION, ["Lund", "Lund, Sweden"], False),
    f"1. Question: {TOWN_QUESTION}\n   Answer: Lund\n2. Question: When was it?\n   Answer: 1889": (
        TOWN_QUESTION,
        LUND_ANSWERS,
        True,
    ),
    f"Question: {TOWN_QUESTION}\nAnswer: Lund\n\nQuestion: When?\nAnswer: 1889": (TOWN_QUESTION, LUND_ANSWERS, True),
    f'{{"question": "{TOWN_QUESTION}", "answer": "Lund"}}': (TOWN_QUESTION, LUND_ANSWERS, False),
    f'```json\n{{"Question": "{TOWN_QUESTION}", "answers": ["Lund", "Lund, Sweden"]}}\n```': (
        TOWN_QUESTION,
        ["Lund", "Lund, Sweden"],
        False,
    ),
    f'[{{"question": "{TOWN_QUESTION}", "answer": "Lund"}}, {{"question": "When?", "answer": 1889}}]': (
        TOWN_QUESTION,
        LUND_ANSWERS,
        False,
    ),
    '{"question": "How many?", "answer": 4, "also": ["four"]}': ("How many?", ["4", "four"], False),
    f"{TOWN_QUESTION}": (TOWN_QUESTION, [], False),
    f"Here is one that the passage leaves open:\n{TOWN_QUESTION}": (TOWN_QUESTION, [], False),
    f"Question: {TOWN_QUESTION}\nAnswer: Unknown": (TOWN_QUESTION, [], False),
    f"Question: {TOWN_QUESTION}\nAnswer:": (TOWN_QUESTION, [], False),
    "Question: Name the river of Vell.\nAnswer: Orm": ("Name the river of Vell", ["Orm"], False),
    "質問です\nQuestion: 塔の高さは?\nAnswer: 80": ("塔の高さは?", ["80"], False),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_the_question_and_its_answers_are_read(reply: str) -> None:
    parsed_question = parse_written_question(reply)
    assert parsed_question.value is not None
    assert (parsed_question.value.question, parsed_question.value.answers, parsed_question.malformed) == REPLIES[reply]


def test_an_unpaired_surrogate_is_replaced_so_that_the_question_can_be_stored() -> None:
    parsed_question = parse_written_question('{"question": "Who lit it\\ud800?", "answer": "Ida\\udfff"}').value
    assert parsed_question == WrittenQuestion("Who lit it\ufffd?", ["Ida\ufffd"])


@pytest.mark.parametrize(
    "reply", ["none", " None.", "Question: none", "**Question:** None", '{"question": "none"}', '{"question": null}']
)
def test_a_model_may_decline_to_write_a_question(reply: str) -> None:
    assert (parse_written_question(reply).value, parse_written_question(reply).malformed) == (None, False)


@pytest.mark.parametrize(
    "reply",
    [
        *("", " ", "?", "Question:", "Answer: Lund", "I cannot help with that.", "{", '{"question": ["x"]}', "[{}]"),
        *('{"question": "Who', "Question: ???\nAnswer: x", "Question: " + "why " * 200, "{" * 5000, "One.\nTwo."),
    ],
)
def test_replies_without_a_question_are_malformed(reply: str) -> None:
    assert (parse_written_question(reply).value, parse_written_question(reply).malformed) == (None, True)


@pytest.mark.parametrize(
    "text",
    [
        *("The lighthouse was built in 1874.", "Ada Korn", "The man who built it was Ada Korn"),
        "In the year when it was built, the king died.",
    ],
)
def test_a_statement_in_place_of_a_question_is_malformed(text: str) -> None:
    for reply in (f"Question: {text}\nAnswer: x", f"{text}\nAnswer: x", f'{{"question": "{text}", "answer": "x"}}'):
        assert parse_written_question(reply) == Parsed(None, malformed=True)


@pytest.mark.parametrize(
    "text",
    [
        *("Name the builder of the lighthouse", "In which year was it built", "How old is it", "Is it older than Vell"),
        *(
            "Welche Stadt liegt am Rhein",
            "Quelle ville est sur la Seine",
            "Who built it, and when?",
            "誰が建てましたか",
        ),
    ],
)
def test_a_question_or_a_request_needs_no_question_mark(text: str) -> None:
    parsed_reply = parse_written_question(f"Question: {text}\nAnswer: x")
    assert parsed_reply == Parsed(WrittenQuestion(text, ["x"]))


REPLY_PIECES = [
    "Question",
    "Answer",
    "Also",
    ":",
    "**",
    "\n",
    " ",
    "?",
    "Q",
    "A",
    "none",
    "|",
    '"',
    "{",
    "}",
    "```",
    "1.",
    "Lund",
    "é",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(REPLY_PIECES), max_size=40).map("".join)))
def test_any_reply_is_read(reply: str) -> None:
    parsed_question = parse_written_question(reply).value
    if parsed_question is not None:
        assert isinstance(parsed_question, WrittenQuestion)
        assert 0 < len(parsed_question.question) <= 400
        assert "\n" not in parsed_question.question
        assert len(parsed_question.answers) <= 6
        assert all(answer.strip() for answer in parsed_question.answers)


WORDS = st.text("abcdefg ", min_size=1, max_size=20).filter(lambda text: any(c.isalpha() for c in text))


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_replies_in_the_right_form_are_read(question: str, answers: list[str]) -> None:
    written_question, (first, *others) = (
        f"Which {' '.join(question.split())}?",
        [f"x{' '.join(answer.split())}" for answer in answers],
    )
    parsed_question = parse_written_question(f"{written_question}\nAnswer: {first}\nAlso: {' | '.join(others)}")
    assert parsed_question.value is not None
    distinct_answers = {normalize(answer): answer for answer in reversed([first, *others])}
    assert (parsed_question.value.question, set(parsed_question.value.answers)) == (
        written_question,
        set(distinct_answers.values()),
    )
    assert parsed_question.value.answers[0] == first
    assert not parsed_question.malformed


@given(st.integers(1, 500), st.lists(st.floats(0, 100), min_size=3, max_size=3).filter(any))
def test_the_counts_of_the_kinds_add_up_and_follow_their_shares(n: int, shares: list[float]) -> None:
    mix = dict(zip(QUESTION_KINDS, shares, strict=True))
    counts = split_by_mix(n, mix)
    assert sum(counts.values()) == n
    assert all(abs(counts[kind] - n * mix[kind] / sum(shares)) < 1 for kind in QUESTION_KINDS)


def test_the_mix_of_kinds_is_read_and_split() -> None:
    assert read_mix("single=70, two=15,unanswerable=15") == {"single": 70, "two": 15, "unanswerable": 15}
    assert split_by_mix(100, read_mix("two=1")) == {"single": 0, "two": 100, "unanswerable": 0}


def make_passages_of_documents(sizes: list[int]) -> list[Passage]:
    """The passages of some documents. sizes: the number of passages in each document."""
    return [
        Passage(id=f"{document}-{n}", title=f"D{document}", text=f"Text {n} of document {document}.")
        for document, count in enumerate(sizes)
        for n in range(count)
    ]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.text(max_size=3))
def test_every_document_has_its_turn_before_any_has_a_second(sizes: list[int], seed: str) -> None:
    order = order_by_documents(make_passages_of_documents(sizes), seed)
    assert order == order_by_documents(make_passages_of_documents(sizes), seed)
    assert sorted(item["id"] for item in order) == sorted(item["id"] for item in make_passages_of_documents(sizes))
    assert len({item["title"] for item in order[: len(sizes)]}) == len(sizes)


def test_a_passage_without_a_title_counts_as_a_document() -> None:
    untitled_passages = [Passage(id=f"untitled-{n}", title="", text="x") for n in range(4)]
    order = order_by_documents([*make_passages_of_documents([2]), *untitled_passages], "seed")
    # each of the five documents has its turn before the titled one has a second
    assert order[5]["title"] == "D0"


def test_the_order_of_passages_depends_on_the_seed() -> None:
    untitled_passages = [Passage(id=str(n), title="", text="x") for n in range(4)]
    orders = {tuple(item["id"] for item in order_by_documents(untitled_passages, str(seed))) for seed in range(20)}
    assert len(orders) > 5


def test_short_passages_are_left_out() -> None:
    texts = ["a few words", "word " * 20, "東京都の塔は高いです" * 5]
    passages = [Passage(id=str(n), title="", text=text) for n, text in enumerate(texts)]
    assert [item["id"] for item in select_long_passages(passages, min_words=20)] == ["1", "2"]


def make_passage(id_: str, text: str, title: str = "") -> Passage:
    return Passage(id=id_, title=title, text=text)


def test_a_partner_mentions_the_same_name() -> None:
    passage = make_passage("a", "The lighthouse was drawn by Ida Brenn.", "Light")
    neighbours = [
        make_passage("b", "The lighthouse was dark.", "Other"),
        make_passage("c", "Later Ida Brenn left.", "Light"),
        make_passage("d", "At school was Ida Brenn.", "School"),
        make_passage("e", "Ida Brenn, too short.", "E"),
    ]
    allowed_ids = {"a", "b", "c", "d"}
    # `or passage`: find_partner may return None, and the type checker must not complain
    assert (find_partner(passage, neighbours, allowed_ids, {}) or passage)["id"] == "d"
    assert (find_partner(passage, neighbours[:2], allowed_ids, {}) or passage)["id"] == "c"
    assert find_partner(passage, neighbours[:1], allowed_ids, {}) is None
    # a passage without names gets the nearest neighbour
    nameless_passage = make_passage("f", "the lighthouse was dark")
    assert (find_partner(nameless_passage, neighbours, allowed_ids, {}) or passage)["id"] == "b"


def test_a_rarer_name_is_the_stronger_link() -> None:
    passage = make_passage("a", "The lighthouse of Skarvoy was drawn by Ida Brenn.", "Light")
    neighbours = [make_passage("b", "Somebody left Skarvoy.", "B"), make_passage("c", "Once Ida Brenn sang.", "C")]
    name_counts = {"Skarvoy": 9, "Ida": 3, "Brenn": 2}
    assert (find_partner(passage, neighbours, {"a", "b", "c"}, name_counts) or passage)["id"] == "c"


def test_a_pair_is_drawn_once() -> None:
    two_passages = [make_passage("a", "Ida Brenn sang."), make_passage("b", "Ida Brenn danced.")]
    draws = list(generate_draws("two", two_passages, seed=0, search_neighbours=lambda text, k: two_passages))
    assert [sorted(passage["id"] for passage in draw.passages) for draw in draws] == [["a", "b"]]


def make_queue(passage_count: int, finished_ids: set[str], most_draws: dict[Kind, int]) -> DrawQueue:
    """A queue of draws from one document of `passage_count` passages, none of which has a partner."""
    passages = make_passages_of_documents([passage_count])
    return DrawQueue(passages, 0, lambda text, k: [], finished_ids, most_draws)


def test_drawing_ends_when_the_corpus_or_the_allowed_draws_are_used_up() -> None:
    finished_ids = {Draw("single", (make_passages_of_documents([4])[0],)).id}
    queue = make_queue(4, finished_ids, most_draws={"single": 9, "two": 9, "unanswerable": 2})
    assert len(queue.take_draws({"single": 2, "unanswerable": 1})) == 3
    assert len(queue.take_draws({"single": 2, "unanswerable": 1})) == 2
    assert queue.take_draws({"single": 1, "two": 1, "unanswerable": 1}) == []
    assert queue.end_reasons == {"single": "corpus", "two": "corpus", "unanswerable": "tries"}


def test_drawing_ends_at_once_if_earlier_runs_took_more_draws_than_allowed() -> None:
    queue = make_queue(4, set(), most_draws={"single": -3, "two": 0, "unanswerable": 0})
    assert (queue.take_draws({"single": 1}), queue.end_reasons) == ([], {"single": "tries"})


def test_a_round_has_at_most_32_draws() -> None:
    queue = make_queue(80, set(), most_draws={"single": 70, "two": 0, "unanswerable": 9})
    assert [len(queue.take_draws({"single": 60, "unanswerable": 9})) for _ in range(2)] == [32, 32]
    assert len(queue.take_draws({"single": 6, "unanswerable": 9})) == 15
    assert queue.end_reasons == {}


def test_repeated_questions_are_recognised() -> None:
    earlier_questions = EarlierQuestions()
    earlier_questions.add("Who designed the lighthouse on the island of Skarvoy?")
    assert earlier_questions.has_duplicate("who designed the Lighthouse on the island of Skarvoy")
    assert earlier_questions.has_duplicate("Who was it who designed the lighthouse of the island Skarvoy?")
    assert not earlier_questions.has_duplicate("Who lit the lighthouse on the island of Skarvoy in 1889?")
    assert not earlier_questions.has_duplicate("Who designed the lighthouse on the island of Tromsdal?")


@pytest.mark.parametrize(
    "question",
    [
        "According to the passage, who drew it?",
        "What does this passage say of Vell?",
        "In the text, who is named?",
        "Who is named in passage 2?",
        "Who drew what the first passage describes?",
    ],
)
def test_questions_that_mention_their_passage_are_found(question: str) -> None:
    assert POINTING_PHRASE.search(question)


@pytest.mark.parametrize(
    "question",
    [
        "Who found the Northwest Passage?",
        "Who is the author of Faust?",
        "Which document ended the war of 1618?",
        "From which text did Luther translate?",
    ],
)
def test_questions_that_do_not_mention_their_passage_are_kept(question: str) -> None:
    assert not POINTING_PHRASE.search(question)
