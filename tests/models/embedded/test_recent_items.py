"""What the embedded reader remembers of passages that it has read."""

from quorum.core.state import Passage
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import Job, find_recent_result, get_recent_readings, read_jobs
from quorum.models.embedded.embeddings import RECENT_VECTORS, EmbeddedEmbeddings, embed_without_memory
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.question_words import is_no_answer
from quorum.models.embedded.reading import Calibration, make_reading, make_windows
from quorum.models.embedded.recent_items import RecentItems

PASSAGES = [
    Passage(id="1", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau in 1732. " * 40),
    Passage(id="2", title="", text="He died in Vienna, in 1809.\nRohrau is a village, not Vienna."),
    Passage(id="3", title="Joseph Haydn", text="Haydn was born in ROHRAU."),
]


def test_the_items_used_last_are_kept() -> None:
    items = RecentItems[str, int](2)
    items.put("a", 1)
    items.put("b", 2)
    assert items.get("a") == 1
    items.put("c", 3)
    assert (items.get("a"), items.get("b"), items.get("c")) == (1, None, 3)
    items.clear()
    assert items.get("a") is None


def test_a_job_has_the_same_reading_as_one_run_of_the_encoder_over_all_its_windows() -> None:
    model, calibration = get_encoder(), Calibration.from_manifest(read_manifest())
    for question in ("Where was Haydn born?", "When did Haydn die?", "in 1732 Vienna"):
        windows = make_windows(model, question, PASSAGES, calibration.window)
        logits = model.read([window.ids for window in windows], [window.types for window in windows])
        (result,) = read_jobs([Job(question, PASSAGES)])
        reading = make_reading(windows, logits, PASSAGES, calibration)
        assert result.reading.score == reading.score
        assert result.reading.spans == [span for span in reading.spans if not is_no_answer(span.text, question)]
        assert result.windows == windows
        assert [window_logits.answerable for window_logits in result.logits] == [
            window_logits.answerable for window_logits in logits
        ]


def test_a_job_is_answered_at_once_when_all_its_passages_have_been_read() -> None:
    get_recent_readings(get_encoder()).clear()
    job = Job("Where was Haydn born?", PASSAGES[::-1])
    assert find_recent_result(job) is None
    read_jobs([Job(job.question, PASSAGES[:1])])
    assert find_recent_result(job) is None
    (result,) = read_jobs([job])
    recent = find_recent_result(job)
    assert recent is not None
    assert recent.reading == result.reading
    assert {span.passage for span in recent.reading.spans} == {0, 1, 2}


def test_counting_a_text_line_by_line_gives_the_number_of_its_tokens() -> None:
    text = "Question: who?\r\n\n" + "An unbelievable line, çà et là. " * 9 + "\n\u0301accent\n\n日本 語" + "x" * 300
    for _ in range(2):  # the second time the counts of the lines are remembered
        assert get_encoder().count_tokens(text) == len(get_encoder().tokenize(text).ids)


def test_remembered_vectors_stay_right_even_if_a_caller_changes_the_returned_ones() -> None:
    RECENT_VECTORS.clear()
    texts = ["Where was Haydn born?", "tea", "Where was Haydn born?"]
    returned_vectors = EmbeddedEmbeddings().embed_documents(texts)
    assert returned_vectors == embed_without_memory(texts)
    returned_vectors[0][0] = 9.0
    assert EmbeddedEmbeddings().embed_documents(texts) == embed_without_memory(texts)


def test_hidden_states_stored_by_a_reading_equal_newly_computed_ones() -> None:
    model, calibration = get_encoder(), Calibration.from_manifest(read_manifest())
    windows = make_windows(model, "Where was Haydn born?", PASSAGES, calibration.window)
    rows, types = [window.ids for window in windows], [window.types for window in windows]
    model.recent_hidden_states.clear()
    computed_states = model.get_hidden_states(rows, types)
    model.recent_hidden_states.clear()
    model.read(rows, types)
    assert all(
        (new_states == stored_states).all()
        for new_states, stored_states in zip(computed_states, model.get_hidden_states(rows, types), strict=True)
    )
