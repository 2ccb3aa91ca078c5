"""What the benchmarks take for granted."""

from benchmarks.fuzz import PARSERS, sound


def test_every_parser_is_found_and_reads_nothing() -> None:
    assert {"short_answer", "candidate_answers", "passage_ids", "copied_sentences", "step_action"} <= set(PARSERS)
    for parse in PARSERS.values():
        sound(parse(""))
