"""`read_answer` reads a short answer out of a reply in any wording: by rules, then by the embedded reader."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorum
from quorum.core.text import is_unknown, normalize
from quorum.models.embedded.batching import WORKER
from quorum.models.embedded.reply_reading import read_reply_answer_blocking, tidy_span

TOWER = "When was the Lumen Tower finished?"
ARCHITECT = "Who designed the Lumen Tower?"
PACKAGE = "Which package logs JSON?"

STRIPPED = [
    (PACKAGE, "Based on the passages, the answer is **pino**.", "pino"),
    (PACKAGE, "Sure! According to passage [2], **pino** is the package that logs JSON. Ask me for more!", "pino"),
    (TOWER, "1931 (passage 3)", "1931"),
    (TOWER, "[1] 1931", "1931"),
    (TOWER, "1931 [1][3].", "1931"),
    (TOWER, "1931, because the strike had ended by then.", "1931"),
    (TOWER, "In 1931", "1931"),
    (TOWER, "finished in 1931", "1931"),
    (TOWER, "Great question! The passages state that work on the tower ended in **1931**, after a strike.", "1931"),
    (TOWER, "Here is the answer:\n\n- **1931**", "1931"),
    (ARCHITECT, "**Answer:** Ada Moreau\n\n**Explanation:** Passage 2 names her.", "Ada Moreau"),
    (ARCHITECT, "The Lumen Tower was designed by the architect Ada Moreau, who also planned it.", "Ada Moreau"),
    (ARCHITECT, "Ada Moreau designed the Lumen Tower.", "Ada Moreau"),
    (ARCHITECT, "Ada Moreau designed it.", "Ada Moreau"),
    (ARCHITECT, f'The answer to the question "{ARCHITECT}" is Ada Moreau.', "Ada Moreau"),
    (ARCHITECT, "<think>Was it Korn?</think>Designed by Ada Moreau.", "Ada Moreau"),
    ("How tall is the tower?", "$\\boxed{214\\text{ metres}}$", "214 metres"),
    ("What is the capital of Norway?", "What is the capital of Norway? Oslo.", "Oslo"),
    ("What is the capital of Norway?", "Oslo is the capital of Norway【4†source】.", "Oslo"),
    ("What command starts the server?", "Run `quorum serve` to start the server.", "quorum serve"),
    ("What command starts the server?", "```bash\nquorum serve\n```", "quorum serve"),
    ("Which film won?", 'The film that won is "The Hurt Locker".', "The Hurt Locker"),
    (
        "Which film won?",
        "The Lord of the Rings: The Return of the King",
        "The Lord of the Rings: The Return of the King",
    ),
    ("Is the tower taller than the mast?", "Yes, the Lumen Tower is taller than the Iron Mast [2].", "yes"),
    ("Is the tower taller than the mast?", "Based on the passages, no. The mast is taller.", "no"),
]
READ = [
    (TOWER, "The Lumen Tower was finished in 1931 [1][3].", "1931"),
    (TOWER, "It was completed in 1931, after a two-year strike had delayed the works.", "1931"),
    (ARCHITECT, "From the context provided, I can see that Ada Moreau drew the plans of the tower.", "Ada Moreau"),
    ("How many bells does the tower have?", "The tower has 12 bells, and the largest weighs 4 tonnes.", "12"),
    ("What does a ticket cost?", "A ticket costs 165 EUR for adults.", "165 EUR"),
    ("How tall is the Lumen Tower?", "The Lumen Tower is 214 metres (702 ft) tall.", "214 metres"),
    ("Where is the office?", "The office is located at 12 Harbour Street, Bergen.", "12 Harbour Street, Bergen"),
    ("How long is parental leave?", "Employees may take up to 26 weeks of parental leave.", "26 weeks"),
]


@pytest.mark.parametrize(("question", "reply", "answer"), STRIPPED)
def test_what_surrounds_a_short_answer_is_stripped(question: str, reply: str, answer: str) -> None:
    reading = quorum.read_answer(question, reply)
    assert (normalize(reading.answer), reading.how, reading.unknown) == (normalize(answer), "stripped", False)


@pytest.mark.parametrize(("question", "reply", "answer"), READ)
def test_the_embedded_reader_reads_sentences(question: str, reply: str, answer: str) -> None:
    reading = quorum.read_answer(question, reply)
    assert (normalize(reading.answer), reading.how) == (normalize(answer), "reader")
    assert reading.answer_text == reply


@pytest.mark.parametrize(
    ("reply", "how"),
    [
        ('{"answer": "Goethe"}', "json"),
        ('{"answer": "The tragedy Faust was written by Goethe in Weimar."}', "reader"),
    ],
)
def test_the_field_of_json_is_the_answer_unless_it_is_a_sentence(reply: str, how: str) -> None:
    reading = quorum.read_answer("Who wrote the tragedy?", reply)
    assert (reading.answer, reading.how) == ("Goethe", how)


@pytest.mark.parametrize(
    "reply",
    [
        "I don't know.",
        "Unknown",
        "",
        '{"answer": null}',
        "Sure! Unfortunately, the passages do not mention who wrote it.",
        "Sure!\n\nThe passages do not contain the answer.",
        "I looked at every passage. The answer is not given in the passages.",
        "Based on the passages provided, it is not stated who wrote it.",
    ],
)
def test_a_refusal_stays_unknown_whatever_precedes_it(reply: str) -> None:
    reading = quorum.read_answer("Who wrote it?", reply)
    assert (reading.answer, reading.unknown) == ("unknown", True)


def test_a_question_that_the_reader_does_not_read_leaves_the_reply_as_it_is() -> None:
    reply = "Der Turm wurde im Jahr 1931 nach einem langen Streik der Arbeiter fertiggestellt"
    reading = quorum.read_answer("Wann wurde der Turm fertiggestellt?", f"{reply}.")
    assert (reading.answer, reading.how) == (reply, "as_is")
    assert quorum.read_answer("Wann wurde der Turm fertiggestellt?", "**1931**").answer == "1931"


def test_a_yes_no_question_without_a_verdict_is_not_read_by_the_reader() -> None:
    assert quorum.read_answer("Are both towers in Bergen?", "Both towers are in Bergen.").how == "as_is"


def test_a_list_of_short_items_is_kept_whole_and_one_of_sentences_is_read() -> None:
    reading = quorum.read_answer("In what order did the films come?", "1. Dawn (2011)\n2. Noon (2014)\n3. Dusk (2016)")
    assert (reading.answer, reading.how) == ("Dawn (2011); Noon (2014); Dusk (2016)", "stripped")
    reply = "Key points:\n- The Lumen Tower was finished in 1931.\n- It has twelve bells."
    assert quorum.read_answer(TOWER, reply).answer == "1931"


async def test_the_asynchronous_function_reads_alike_and_does_not_block_the_event_loop() -> None:
    question, reply, _ = READ[1]
    expected = quorum.read_answer(question, reply)
    is_free = threading.Event()
    WORKER.submit(is_free.wait)  # the encoder's thread is busy
    try:
        task = asyncio.create_task(quorum.read_answer_async(question, f"{reply} The tower still stands."))
        for _ in range(5):
            await asyncio.sleep(0)  # the event loop still runs
        assert not task.done()
    finally:
        is_free.set()
    reading = await task
    assert (reading.answer, reading.how) == (expected.answer, "reader")


@pytest.mark.parametrize(
    ("span", "answer"),
    [
        ("along the coast. It is in Lee County", "along the coast"),
        ("the engineer Ida Brenn (1871-1949), who planned it", "the engineer Ida Brenn"),
        ('"The Mast"', "The Mast"),
        ("Muno (the red cyclops", "Muno"),
        ("Ida Brenn, also known as I. B.", "Ida Brenn"),
    ],
)
def test_a_span_ends_with_its_sentence_and_has_paired_marks(span: str, answer: str) -> None:
    assert tidy_span(span) == answer


def test_a_vague_span_is_passed_over() -> None:
    reply = "The revolt was led by various figures, including Ida Brenn."
    assert "various" not in read_reply_answer_blocking("The revolt was led by whom?", reply).answer


WORDS = [
    "the",
    "answer",
    "is",
    "**Oslo**",
    "[3]",
    "Sure!",
    "Based on",
    "the passages,",
    "\n",
    "- ",
    '"',
    "not",
    "1931.",
]
SOURCES = ["passages", "documents you gave me", "context provided", "search results"]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))
def test_any_reply_is_read_and_no_unknown_becomes_an_answer(reply: str) -> None:
    reading = quorum.read_answer("What is the capital of Norway?", reply)
    assert reading.unknown == (reading.answer == "unknown")
    if is_unknown(quorum.read_reply("answer", reply).value):
        assert reading.unknown
    if not reading.unknown:
        assert reading.answer.strip()


@given(
    answer=st.sampled_from(["Oslo", "Ida Brenn", "12 May 1931", "3.5 km", "São Paulo", "O'Neill & Sons", "C++"]),
    greeting=st.sampled_from(["", "Sure! ", "Certainly. ", "Great question! "]),
    source=st.sampled_from(["", *(f"Based on the {source}, " for source in SOURCES), "According to passage 2, "]),
    lead=st.sampled_from(["the answer is ", "the correct answer is: ", "it is ", ""]),
    marks=st.sampled_from([("**", "**"), ('"', '"'), ("", ""), ("*", "*"), ("`", "`")]),
    citation=st.sampled_from(["", " [2]", "[1][3]", " (passage 2)", " (see documents 1 and 4)"]),
)
def test_every_combination_of_usual_wordings_is_stripped(
    answer: str, greeting: str, source: str, lead: str, marks: tuple[str, str], citation: str
) -> None:
    reply = f"{greeting}{source}{lead}{marks[0]}{answer}{marks[1]}{citation}."
    reading = quorum.read_answer("What is meant?", reply)
    assert (normalize(reading.answer), reading.how) == (normalize(answer), "stripped"), reply
