"""Writes composed.json: the stages of a designed cascade, its certificate, and the questions and the source of passages
that it was designed on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorum.algorithms.cascades import Stage
from quorum.cascades.composed_file import FILE_KIND
from quorum.core.errors import SetupError
from quorum.evaluation.decisions.compose import ComposeResult, Guarantee
from quorum.evaluation.decisions.recorded_results import RecordedResults
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.result_files import write_json
from quorum.prompts import BUILT_IN

ROUNDED_DIGITS = 6


def make_composed_content(results: RecordedResults, composition: ComposeResult, guarantee: Guarantee) -> dict[str, Any]:
    """The content of composed.json: the stages with their settings, the certificate, the expected score and cost, and
    the questions and the source of passages that they were computed from.
    """
    cascade_certificate = composition.certificate
    certificate = None
    if cascade_certificate is not None:
        certificate = {
            "lose_at_most": guarantee.lose_at_most,
            "confidence_level": round(1 - guarantee.error, 12),
            "p": round(cascade_certificate.p_value, ROUNDED_DIGITS),
            "hardest_rival": cascade_certificate.hardest_rival,  # the single method with the largest p-value
            "loss": round(cascade_certificate.loss, ROUNDED_DIGITS),
            "questions": composition.certifying_count,
            "seed": guarantee.seed,
            "wrong_cost": guarantee.wrong_cost,
            "measure": results.measure,
        }
    return {
        "kind": FILE_KIND,
        "stages": [describe_stage(results, stage) for stage in composition.cascade],
        "certificate": certificate,
        "expected": {
            "score": round(composition.score, ROUNDED_DIGITS),
            guarantee.unit: round(composition.cost, ROUNDED_DIGITS),
            # for each stage, the share of the questions that reach it
            "reached": {name: round(share, ROUNDED_DIGITS) for name, share in composition.stage_shares.items()},
            "best": composition.best,  # the best single method
            "best_score": round(composition.best_score, ROUNDED_DIGITS),
            f"best_{guarantee.unit}": round(composition.best_cost, ROUNDED_DIGITS),
        },
        # how the best single method was asked: quorum serve --watch asks it beside the cascade
        "best_method": None if certificate is None else describe_best(results, composition.best),
        # of the single methods, by the rule of quorum compare
        "recommended": composition.choice.recommended,
        "certain": composition.choice.is_certain,
        "questions": composition.question_count,
        "questions_needed": composition.questions_needed,
        "data": dict(results.data_and_source),
        "answer_measure": results.answer_measure,
        "collection": describe_collection(results),
    }


def describe_collection(results: RecordedResults) -> dict[str, str | None] | None:
    """The searched collection's name and revision; None if the passages came from a corpus or with the questions."""
    source = results.config.get("source") or {}
    if source.get("collection") is None:
        return None
    return {"name": str(source["collection"]), "revision": source.get("revision")}


def describe_stage(results: RecordedResults, stage: Stage) -> dict[str, Any]:
    """A stage with the settings that it was measured with, and the versions of the prompts that it sent."""
    # "graph" is the hash of a user's own graph, not a setting
    settings = {name: value for name, value in results.get_settings(stage.method).items() if name != "graph"}
    # an experiment sets "top" (how many of the best passages are read) or "gold" (where gold passages are placed)
    if "top" in settings or "gold" in settings:
        raise SetupError(
            f"An experiment chose which passages {stage.method} read, so this method cannot be part of a cascade; "
            "compare it without the experiment."
        )
    method = settings.pop("method", stage.method)
    accept = None if stage.accept is None else {"test": stage.accept.test, "at_least": stage.accept.at_least}
    own_system_hash = settings.pop("system", None)
    versions = {**results.config.get("prompts", {}), **(settings.get("prompts") or {})}
    # without details, all built-in prompts are recorded, because any of them may have been sent
    sent_prompts = list_prompts(results, stage.method) or set(BUILT_IN)
    return {
        "name": stage.method,
        "method": method,
        "accept": accept,
        "settings": settings,
        "prompts": {name: versions[name] for name in sorted(sent_prompts) if name in versions},
        **({} if own_system_hash is None else {"system": own_system_hash}),
    }


def describe_best(results: RecordedResults, method: str) -> dict[str, Any] | None:
    """The best single method as a stage; None if an experiment chose which passages it read."""
    try:
        return describe_stage(results, Stage(method, None))
    except SetupError:
        return None


def list_prompts(results: RecordedResults, method: str) -> set[str]:
    """The names of the prompts that the method sent in these results; empty if there is no details.jsonl."""
    prompts: set[str] = set()
    with LineIndex(results.folder / "details.jsonl") as details:
        for id_ in results.ids:
            line = details.get(method, id_)
            prompts |= set(line["usage"]) if line is not None else set()
    return prompts


def write_composed(path: Path, content: Mapping[str, Any]) -> None:
    """Write `content` to the file `path` as JSON, whole or not at all. Raises `SetupError` if it cannot be written."""
    if not path.parent.is_dir():
        raise SetupError(f"{path} cannot be written: there is no folder {path.parent}; give another file with --out.")
    write_json(path, content)
