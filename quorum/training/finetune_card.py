"""The model card of a trained filter or generator."""

from pathlib import Path
from string import Template
from typing import Any

from quorum.models.pretrained import ModelManifest

CARD_TEMPLATE = Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))
FILTER_COMMANDS = {  # by the prompt that the filter was trained on
    "filter_sentences": "quorum ask QUESTION --method filco --set context_filter=transformers:$folder",
    "filter_passages": "quorum ask QUESTION --method filco --set context_filter=transformers:$folder "
    "--set filter_mode=psg",
}
GENERATOR_COMMANDS = {  # by the context that the generator was trained on
    "silver": "quorum ask QUESTION --method filco --model transformers:$folder "
    "--set context_filter=transformers:FILTER",
    "full": "quorum ask QUESTION --method concat --model transformers:$folder",
}
LEARNED_TASKS = {  # what a filter learned, by the prompt that it was trained on
    "filter_sentences": "copies the sentences of retrieved passages that help to answer a question",
    "filter_passages": "names the retrieved passages that help to answer a question",
}


def make_card_text(manifest: ModelManifest, record: dict[str, Any], folder: str) -> str:
    """The text of the model card.

    manifest: the content of `quorum.json`, which describes the model; record: that of `quorum.training.json`, which
    describes the training run; folder: the name of the model's folder.
    """
    run, report = record["run"], record["report"]
    first_prompt = next(iter(manifest.prompts))
    is_silver = run["task"]["context"] == "silver"
    context = "silver sentences, which a measure chose by the gold answers" if is_silver else "whole passages"
    command = FILTER_COMMANDS.get(first_prompt) or GENERATOR_COMMANDS[run["task"]["context"]]
    return CARD_TEMPLATE.substitute(
        kind=manifest.kind,
        learned_task=LEARNED_TASKS.get(first_prompt, f"answers a question from {context}"),
        prompts=", ".join(f"`{name}` (version {version})" for name, version in manifest.prompts.items()),
        base=run["base"]["name"],
        trained_weights="low-rank adapters; the base is needed as well" if manifest.adapter else "all weights",
        measure=manifest.measure,
        data=run["data"]["file"],
        sha256=run["data"]["sha256"],
        examples=report["examples"],
        left_out=report["left_out"],
        shortened=report["shortened"],
        losses=", ".join(f"{loss:.3f}" for loss in report["losses"]),
        rate=run["settings"]["rate"],
        epochs=run["settings"]["epochs"],
        batch=run["settings"]["batch"],
        seed=run["settings"]["seed"],
        length=manifest.length,
        output=manifest.output,
        versions=", ".join(f"{name} {number}" for name, number in record["versions"].items()),
        command=Template(command).substitute(folder=folder),
    )
