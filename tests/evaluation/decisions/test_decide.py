"""What a comparison adds to its recommendation: the cross-fitted score, and what a race says.

The cross-fitted score is that of a method which is chosen on one half of the questions and scored on the other half.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from report_folder import METHODS, make_decision

from quorum.evaluation.decisions import decide as decide_module
from quorum.evaluation.run.race_result import RaceResult, Standing


def test_a_sentence_states_the_cross_fitted_score(tmp_path: Path) -> None:
    decision = make_decision(tmp_path / "out", 60)
    cross_fitted_sentence = next(
        sentence for sentence in decision.recommendation.sentences if sentence.startswith("Chosen on one half")
    )
    cross_fitted = json.loads((tmp_path / "out" / "recommendation.json").read_text())["cross_fitted"]
    assert f"{100 * cross_fitted:.1f}%" in cross_fitted_sentence
    best = max(figure.quality for figure in decision.figures)
    assert best - 0.1 < cross_fitted <= best
    assert decision.recommendation.sentences[-1].startswith("Answers that failed")


def test_few_questions_give_no_cross_fitted_score(tmp_path: Path) -> None:
    sentences = make_decision(tmp_path / "out", 12).recommendation.sentences
    assert not any(sentence.startswith("Chosen on one half") for sentence in sentences)


def test_a_race_that_has_not_ended_names_the_remaining_methods_first_and_failures_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = make_decision(tmp_path / "out", 60)
    standings = {
        method: Standing(method, asked_count=30, mean=0.5, low=0.3, high=0.7, dropped=False) for method in METHODS
    }
    race = RaceResult(
        mode="questions",
        error=0.05,
        seed=0,
        measure="em",
        units=tuple((f"q{number}",) for number in range(60)),  # the steps of the race: one question each
        settled_count=30,
        standings=standings,
    )
    monkeypatch.setattr(decide_module, "describe_cascade", lambda *_: ["A cascade would save tokens."])
    sentences = decide_module.decide(replace(decision.scores, race=race), decision.spent).recommendation.sentences
    assert sentences[0].startswith("The race stopped before its end, after 30 of 60 questions. Still in the race, ")
    assert METHODS[0] in sentences[0]
    assert sentences[1] == "A cascade would save tokens."
    assert sentences[2].startswith("Answers that failed")
