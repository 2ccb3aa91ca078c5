"""The support of an answer: the sentence, table row or command of a passage that is shown with it."""

import pytest
from openai_server import OpenAIServer

from quorum import Context, Passage, Result, answer
from quorum.core.state import Citation, Evidence
from quorum.evaluation.shown.headline import make_headline
from quorum.evaluation.shown.support import add_supporting_statement_and_language_note, find_support

HANDBOOK = [
    Passage(
        id="hours",
        title="Handbook",
        text="Working hours\nThe office opens at 7:30. Core time is 10:00 to 14:30. A week has 37.5 hours.",
    ),
    Passage(id="table", title="Handbook", text="What: Hotel; Limit: 140 euros\nWhat: Lunch; Limit: 24 euros"),
    Passage(id="desk", title="Handbook", text="New laptops are handed out by Maren Solvik in room 2.14."),
]


def make_result(answer_text: str, *evidence: Evidence, unknown: bool = False) -> Result:
    return Result(answer=answer_text, unknown=unknown, evidence=list(evidence), passages=HANDBOOK)


async def test_a_chat_models_answer_is_shown_in_the_sentence_of_its_evidence() -> None:
    start = HANDBOOK[0]["text"].index("10:00")
    result = make_result("10:00", Evidence(passage="hours", start=start, end=start + 5))
    support = await find_support("When is core time?", result, Context(model="openai:test"))
    assert support is not None
    assert (support["sentence"], support["span"]) == ("Core time is 10:00 to 14:30.", [start, start + 5])
    assert (support["certainty"], support["is_certain"]) == (None, True)
    assert HANDBOOK[0]["text"][support["start"] : support["end"]] == support["sentence"]


async def test_a_span_over_a_line_end_is_cut_to_its_sentence() -> None:
    text = HANDBOOK[1]["text"]
    result = make_result(
        "140 euros What", Evidence(passage="table", start=text.index("140"), end=text.index(": Lunch"))
    )
    support = await find_support("How much?", result, Context(model="openai:test"))
    assert support is not None
    assert support["span"] is not None
    assert text[slice(*support["span"])] == "140 euros"


@pytest.mark.parametrize("result", [make_result("yes"), make_result("unknown", unknown=True)])
async def test_an_answer_that_nothing_supports_has_no_sentence(result: Result) -> None:
    support = await find_support("Does the garden have a fountain?", result, Context(model="openai:test"))
    assert support is not None
    assert (support["state"], support["sentence"], support["passage"]) == ("none", None, None)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is the limit for a hotel?", "What: Hotel; Limit: 140 euros"),
        ("What is the limit for lunch?", "What: Lunch; Limit: 24 euros"),
        ("Who hands out new laptops?", "New laptops are handed out by Maren Solvik in room 2.14."),
        ("How many hours has a week?", "A week has 37.5 hours."),
    ],
)
async def test_the_embedded_reader_finds_rows_and_sentences(question: str, sentence: str) -> None:
    result = await answer(question, "concat", Context(), given=HANDBOOK)
    shown_result = await add_supporting_statement_and_language_note(question, result, Context())
    support = shown_result["support"]
    assert support is not None
    headline = make_headline(shown_result)
    assert sentence in (headline.quote, headline.closest)  # the second where the reader's answer stands elsewhere
    assert support["certainty"] is not None
    assert 0 <= support["certainty"] <= 1


async def test_a_question_without_an_answer_gets_unknown_or_an_unsure_answer() -> None:
    question = "Which dentist does the company recommend?"
    supported_result = await add_supporting_statement_and_language_note(
        question, await answer(question, "concat", Context(), given=HANDBOOK), Context()
    )
    assert supported_result["unknown"] or not make_headline(supported_result).is_sure


async def test_an_answer_outside_the_best_sentence_is_not_sure() -> None:
    question = "Who hands out new laptops?"
    supported_result = await add_supporting_statement_and_language_note(question, make_result("37.5 hours"), Context())
    assert supported_result["support"] is not None
    assert not make_headline(supported_result).is_sure


async def test_without_passages_or_words_in_the_question_there_is_no_support() -> None:
    unknown_result = Result(answer="unknown", unknown=True, evidence=[], passages=[])
    for question, result in (("Who is it?", unknown_result), ("?", make_result("unknown", unknown=True))):
        support = await find_support(question, result, Context())
        assert support is not None
        assert (support["state"], support["sentence"], support["closest"]) == ("none", None, None)


async def test_the_answer_of_a_model_on_a_server_has_its_sentence(openai_server: OpenAIServer) -> None:
    openai_server.reply("37.5 hours")
    context = Context(model="openai:test")
    result = await answer("How long is a week?", "concat", context, given=HANDBOOK)
    support = await find_support("How long is a week?", result, context)
    assert support is not None
    assert support["sentence"] == "A week has 37.5 hours."


@pytest.mark.usefixtures("sample_vectors")
async def test_a_german_question_gets_the_note_that_the_embedded_reader_reads_english_only() -> None:
    unknown_result = make_result("unknown", unknown=True)
    supported_result = await add_supporting_statement_and_language_note(
        "Wann öffnet das Büro?", unknown_result, Context()
    )
    assert (supported_result["note"] or "").startswith(
        "The question looks like German, and the built-in reader reads English"
    )
    assert (await add_supporting_statement_and_language_note("When does it open?", unknown_result, Context()))[
        "note"
    ] is None
    assert (
        await add_supporting_statement_and_language_note(
            "Wann öffnet das Büro?", unknown_result, Context(model="openai:test")
        )
    )["note"] is None


@pytest.mark.parametrize("follow_up", ["Who hands out new laptops?", "Which one?"])
async def test_the_support_of_a_follow_up_answers_the_rewritten_question(follow_up: str) -> None:
    result = make_result("Maren Solvik") | {"question": "Who hands out new laptops?"}
    supported_result = await add_supporting_statement_and_language_note(follow_up, result, Context())  # type: ignore[arg-type]
    assert supported_result["support"] is not None
    assert supported_result["support"]["sentence"] == HANDBOOK[2]["text"]


async def test_for_a_how_question_the_span_is_the_whole_command() -> None:
    # "heron back" is an invented command.
    text = "heron back\nBrings files back:\nheron back --all --into /tmp/restore"
    passage = Passage(id="c", title="heron", text=text)
    result = Result(answer="unknown", unknown=True, evidence=[], passages=[passage])
    support = await find_support("How do I restore all files with heron back into a folder?", result, Context())
    assert support is not None
    assert support["closest"] is not None
    assert support["closest"]["span"] == [support["closest"]["start"], support["closest"]["end"]]


@pytest.mark.parametrize(("supported", "state"), [(2, "by_content"), (1, "none")])
async def test_a_long_answer_is_supported_if_half_of_its_marks_cite_what_supports_it(
    supported: int, state: str
) -> None:
    claims = ["Painters came in May", "A bridge fell", "The core is hollow"]
    text = " ".join(f"{claim} [{n}]." for n, claim in enumerate(claims, start=1))
    citations = [
        Citation(
            n=n, at=[[text.index(f"[{n}]"), text.index(f"[{n}]") + 3]], passage=passage["id"], start=start, end=end
        )
        for n, passage in enumerate(HANDBOOK, start=1)
        for start, end in [(0, 10) if n <= supported else (None, None)]
    ]
    result = Result(
        answer=" ".join(claims), answer_text=text, unknown=False, evidence=[], passages=HANDBOOK, citations=citations
    )
    support = await find_support("What happened?", result, Context(model="openai:test", answer_type="long"))
    assert support is not None
    assert support["state"] == state
