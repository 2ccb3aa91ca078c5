"""Tests of the functions on which the benchmarks rely."""

from importlib import import_module

from benchmarks.bench import BENCHMARKS, compare_ratios
from benchmarks.fuzz import PARSERS, check_parsed
from benchmarks.poison import KINDS, Case, GullibleReader, make_poison, poison_case
from benchmarks.replies import VARIABLE, recognise_prompt
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.graphs import answer
from quorum.prompts import BUILT_IN


def test_every_parser_is_found_and_reads_an_empty_reply() -> None:
    assert {
        "parse_short_answer",
        "parse_candidates",
        "parse_passage_ids",
        "parse_copied_sentences",
        "parse_step",
    } <= set(PARSERS)
    for parse in PARSERS.values():
        check_parsed(parse(""))


def test_poison_replaces_the_given_number_of_passages() -> None:
    passages = [Passage(id=f"p{n}", title="", text=f"It was {'Rohrau' if n == 2 else 'there'}.") for n in range(5)]
    record = Record(id="1", question="Where?", answers=["Rohrau"], passages=passages, gold=[])
    for kind in KINDS:
        for count in (1, 2):
            result = poison_case(Case(record, passages, "Vienna"), kind, count)
            changed_passages = [new for old, new in zip(passages, result, strict=True) if new != old]
            assert result[2] == passages[2]
            assert sorted(p["id"] for p in changed_passages) == [f"poison-{n}" for n in range(count)]
            assert all("Vienna" in p["text"] for p in changed_passages)


async def test_a_gullible_model_believes_a_poisoned_passage_and_otherwise_reads() -> None:
    passages = [Passage(id="a", title="", text="Haydn was born in Rohrau. He died in 1809.")]
    context = Context(model=GullibleReader(), journal="off")
    assert (await answer("Where was Haydn born?", "concat", context, given=passages))["answer"] == "Rohrau"
    poisons = [make_poison(kind, "Where was Haydn born?", "Vienna", 0) for kind in KINDS]
    for poison in poisons:
        assert (await answer("Where was Haydn born?", "concat", context, given=[*passages, poison]))[
            "answer"
        ] == "Vienna"


def test_every_prompt_is_recognised_by_its_fixed_text() -> None:
    for name, text in BUILT_IN.items():
        filled_prompt = VARIABLE.sub(lambda match: f"some {match[1] or match[2]}\n", text)
        assert recognise_prompt(filled_prompt)[0] == name.partition(".")[0]


def test_a_ratio_that_fell_by_more_than_a_tenth_is_slower() -> None:
    recorded_ratios = {"a": 0.5, "b": 0.5, "c": 0.5}
    verdicts = [row[-1] for row in compare_ratios({"a": 0.44, "b": 0.46, "c": 0.6, "d": 1.0}, recorded_ratios)]
    assert verdicts == ["slower", "same", "faster", "new"]


def test_every_short_benchmark_measures_ratios() -> None:
    assert all(callable(import_module(f"benchmarks.{name}").measure_ratios) for name in BENCHMARKS)
