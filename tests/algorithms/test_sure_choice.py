"""SuRe's choice by validity and ranking, over all outcomes: lazy ranking makes the same choice with fewer calls."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_fixtures import PASSAGES, QUESTION, make_runtime

from quorum.algorithms.sure_choice import Choice, choose_candidate, choose_next_pairs, list_pairs, list_validity
from quorum.core.context import Context
from quorum.core.state import Preference, State, SummaryValidity
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.rank_summaries import rank_pair
from quorum.nodes.select_candidate import select_candidate

# {(first, second) of a comparison: the preferred one of these two candidates, None for a tie or a malformed reply}
Outcome = dict[tuple[int, int], int | None]


def make_preferences(outcome: Outcome) -> list[Preference]:
    return [Preference(first=i, second=j, preferred=preferred) for (i, j), preferred in outcome.items()]


def compute_scores_by_definition(validity: Sequence[bool] | None, outcome: Outcome, count: int) -> list[float]:
    """The score of each candidate by equations 4 to 6 of the SuRe paper.

    It is the candidate's validity, 0 or 1, plus a term for every other candidate: the mean result of the two
    comparisons with that candidate.
    """
    scores = []
    for k in range(count):
        score = float(validity[k]) if validity else 0.0
        for i in range(count):
            if i != k:
                comparisons = [outcome[k, i], outcome[i, k]]
                score += sum(0.5 if preferred is None else float(preferred == k) for preferred in comparisons) / 2
        scores.append(score)
    return scores


def list_outcomes(count: int) -> list[Outcome]:
    """All outcomes that the comparisons of `count` candidates can have."""
    pairs = list_pairs(count)
    return [dict(zip(pairs, preferences, strict=True)) for preferences in product(*((i, j, None) for i, j in pairs))]


def choose_lazily(count: int, validity: list[bool] | None, outcome: Outcome) -> tuple[Choice, int]:
    """The choice, and the number of comparisons that were asked for it."""
    asked_pairs: Outcome = {}
    while pairs := choose_next_pairs(count, validity, make_preferences(asked_pairs)):
        assert not set(pairs) & set(asked_pairs)
        asked_pairs |= {pair: outcome[pair] for pair in pairs}
    return choose_candidate(count, validity, make_preferences(asked_pairs)), len(asked_pairs)


def compare_eager_and_lazy(count: int, validity: list[bool] | None, outcome: Outcome) -> int:
    """Choose for one outcome, eagerly and lazily. Returns the number of comparisons that lazy ranking asked for."""
    scores = compute_scores_by_definition(validity, outcome, count)
    eager_choice = choose_candidate(count, validity, make_preferences(outcome))
    lazy_choice, asked_count = choose_lazily(count, validity, outcome)
    assert eager_choice.scores == scores
    assert eager_choice.best == lazy_choice.best == scores.index(max(scores))
    assert eager_choice.margin is not None
    assert 0 <= eager_choice.margin <= 1
    has_all_scores = asked_count == len(outcome)
    assert (lazy_choice.scores, lazy_choice.margin) == (
        (scores, eager_choice.margin) if has_all_scores else (None, None)
    )
    return asked_count


@pytest.mark.parametrize("has_verdicts", [True, False])
def test_eager_and_lazy_ranking_agree_on_all_outcomes_of_two_candidates(has_verdicts: bool) -> None:
    for validity, outcome in product(product((True, False), repeat=2), list_outcomes(2)):
        asked_count = compare_eager_and_lazy(2, list(validity) if has_verdicts else None, outcome)
        assert asked_count == (0 if has_verdicts and validity == (True, False) else 2)


def test_eager_and_lazy_ranking_agree_on_all_outcomes_of_three_candidates() -> None:
    asked_counts = [
        compare_eager_and_lazy(3, list(validity), outcome)
        for validity in product((True, False), repeat=3)
        for outcome in list_outcomes(3)
    ]
    assert set(asked_counts) == {4, 6}
    assert sum(asked_counts) / len(asked_counts) < 5.2


@given(st.integers(2, 5), st.booleans(), st.data())
def test_eager_and_lazy_ranking_agree_on_sampled_outcomes(count: int, has_verdicts: bool, data: st.DataObject) -> None:
    validity = data.draw(st.lists(st.booleans(), min_size=count, max_size=count)) if has_verdicts else None
    compare_eager_and_lazy(
        count, validity, {pair: data.draw(st.sampled_from([*pair, None])) for pair in list_pairs(count)}
    )


def test_a_certain_winner_needs_no_more_comparisons() -> None:
    """Four candidates: the first is valid and beats the other three, so these are not compared with each other."""
    first_wins: Outcome = {pair: 0 for pair in list_pairs(4) if 0 in pair}
    assert choose_next_pairs(4, [True] * 4, make_preferences(first_wins)) == []
    other_pairs = [pair for pair in list_pairs(4) if 0 not in pair]
    for winner in (1, 2, 3):
        later_comparisons = {pair: winner if winner in pair else None for pair in other_pairs}
        assert choose_candidate(4, [True] * 4, make_preferences(first_wins | later_comparisons)).best == 0


def test_the_margin_is_0_for_a_tie_and_1_for_the_widest_lead() -> None:
    for count in range(2, 6):
        wins: Outcome = {pair: 0 if 0 in pair else None for pair in list_pairs(count)}
        tie: Outcome = dict.fromkeys(list_pairs(count))
        only_first_is_valid = [rank == 0 for rank in range(count)]
        assert choose_candidate(count, only_first_is_valid, make_preferences(wins)).margin == 1
        assert choose_candidate(count, None, make_preferences(wins)).margin == 1
        assert choose_candidate(count, [True] * count, make_preferences(tie)).margin == 0


def test_preferring_the_same_position_twice_is_a_tie() -> None:
    position_bias: Outcome = {(0, 1): 0, (1, 0): 1}
    assert choose_candidate(2, [False, True], make_preferences(position_bias)) == Choice(1, [0.5, 1.5], 0.5)
    assert choose_candidate(2, [True, True], make_preferences(position_bias)) == Choice(0, [1.5, 1.5], 0.0)


def test_one_candidate_has_no_scores() -> None:
    assert choose_candidate(1, None, []) == Choice(0, None, None)
    assert (choose_next_pairs(1, None, []), choose_next_pairs(0, None, [])) == ([], [])


def test_validity_is_in_the_order_of_the_candidates() -> None:
    assert list_validity([SummaryValidity(rank=1, valid=True), SummaryValidity(rank=0, valid=False)]) == [False, True]
    assert list_validity([]) is None


def make_judge(validity_replies: Sequence[str], outcome: Outcome) -> ScriptedModel:
    """A model with scripted replies: it proposes one candidate for each reply in `validity_replies`.

    It gives that reply when asked whether the candidate's summary is valid. Of each pair it prefers the candidate that
    `outcome` names; None stands for a malformed reply.
    """
    candidates = ["1931", "1950", "1929"][: len(validity_replies)]
    candidates_reply = " ".join(f"({'abc'[n]}) {candidate}" for n, candidate in enumerate(candidates))
    model = ScriptedModel().on("candidates", candidates_reply)
    for n, reply in enumerate(validity_replies):
        model.on(f"conditional_summary: candidate {n + 1}", f"It says {candidates[n]}. [DONE]")
        model.on(f"validity: candidate {n + 1}", reply)
    for (i, j), preferred in outcome.items():
        reply = "Hm." if preferred is None else f"Passage {1 + [i, j].index(preferred)}"
        model.on(f"ranking: candidates {i + 1} and {j + 1}", reply)
    return model


VERDICT_OF_REPLY = {"True": True, "False": False, "Hm.": False}


async def compare_graph_runs(validity_replies: Sequence[str], outcome: Outcome) -> int:
    """Run the graph with eager and with lazy ranking and compare both with the definition. Returns the number of calls
    that lazy ranking saved.
    """
    results: list[Any] = []
    for ranking in ("eager", "lazy"):
        context = Context(
            model=make_judge(validity_replies, outcome), candidates=len(validity_replies), ranking=ranking
        )
        results.append(await answer(QUESTION, "sure", context, given=PASSAGES[:2]))
    eager, lazy = results
    verdicts = [VERDICT_OF_REPLY[reply] for reply in validity_replies]
    scores = compute_scores_by_definition(verdicts, outcome, len(verdicts))
    equal_keys = ("answer", "unknown", "rationale", "validity", "candidates", "summaries", "evidence", "passages")
    assert {key: eager[key] for key in equal_keys} == {key: lazy[key] for key in equal_keys}
    assert (eager["scores"], eager["answer"]) == (scores, ["1931", "1950", "1929"][scores.index(max(scores))])
    malformed_counts = {"validity": list(validity_replies).count("Hm."), "ranking": list(outcome.values()).count(None)}
    assert {name: replies["count"] for name, replies in eager["malformed"].items()} == {
        k: v for k, v in malformed_counts.items() if v
    }
    eager_calls, lazy_calls = (sum(usage["calls"] for usage in result["usage"].values()) for result in results)
    # one call for the candidates; one for each candidate's summary, and one for its validity; one for each comparison
    assert eager_calls == 1 + 2 * len(validity_replies) + len(outcome)
    return eager_calls - lazy_calls


async def test_graph_runs_agree_with_the_definition_on_all_outcomes_of_two_candidates() -> None:
    """All 36 outcomes, each ranked eagerly and lazily.

    A verdict is true or false; a reply to a ranking prompt prefers the first or the second summary, or is malformed.
    """
    for validity_replies in product(("True", "False"), repeat=2):
        for outcome in list_outcomes(2):
            saved_calls = await compare_graph_runs(validity_replies, outcome)
            first_is_valid, second_is_valid = (VERDICT_OF_REPLY[reply] for reply in validity_replies)
            assert saved_calls == (2 if first_is_valid and not second_is_valid else 0)


SAMPLED_OUTCOMES = list_outcomes(3)[::91]  # 9 of 729


async def test_graph_runs_agree_with_the_definition_on_sampled_outcomes_of_three_candidates() -> None:
    """Some of the replies about validity are malformed; they count as false."""
    reply_triples = list(product(VERDICT_OF_REPLY, repeat=3))  # 27; steps of 5 take varied ones for the 9 outcomes
    saved_calls = [
        await compare_graph_runs(reply_triples[5 * n % len(reply_triples)], outcome)
        for n, outcome in enumerate(SAMPLED_OUTCOMES)
    ]
    assert set(saved_calls) == {0, 2}


async def test_sure_nodes_give_the_expected_updates() -> None:
    model = ScriptedModel().on("ranking: candidates 3 and 1", "Passage 1").on("ranking: candidates 1 and 3", "Both")
    state = State(question=QUESTION, pair=[2, 0], summaries=["late", "early"])  # only the summaries of this pair
    update = await rank_pair(state, make_runtime(model))
    assert update["preferences"] == [Preference(first=2, second=0, preferred=2)]
    update = await rank_pair({**state, "pair": [0, 2]}, make_runtime(model))
    assert (update["preferences"], update["malformed"]) == ([Preference(first=0, second=2, preferred=None)], {})
    update_without_candidates = await select_candidate(
        {"question": QUESTION, "passages": PASSAGES[:1], "candidates": []}, make_runtime()
    )
    assert update_without_candidates == {"answer": "unknown", "answer_text": None, "unknown": True}
