"""Fine-tuning of FILCO's filter and generator on silver data (extra `train`), for `quorum filter train` and
`quorum generator train`.

A run keeps its state in the folder OUT.training, so that it can continue after an interruption. The folder OUT appears
when the run is complete.
"""

import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import file_digest, sha256
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.datasets.silver import SilverLine
from quorum.models.pretrained import (
    Codec,
    ModelManifest,
    hash_base,
    is_seq2seq,
    load_base,
    require_transformers,
    silence_transformers,
    write_model_manifest,
)
from quorum.prompts import get_text
from quorum.training.finetune_card import make_card_text
from quorum.training.pairs import TrainingTask, name_measures

if TYPE_CHECKING:  # PyTorch is an extra
    from quorum.training.steps import ReportStep, TokenizedExample, Training

OUTPUT_TOKENS = {"filter": 512, "generator": 128}  # the largest number of tokens of a reply (section 3.3)


@dataclass(frozen=True)
class Settings:
    """The settings of a training run; the defaults are the paper's (section 3.3).

    rate: the learning rate at the start; batch: examples in a step of the optimiser; length, output: the largest
    numbers of tokens of a prompt and of a reply (output None: see OUTPUT_TOKENS); lora: whether to train low-rank
    adapters (None: for causal models only); at_once: examples in one pass through the model, which changes the memory
    needed but not the result; save_every: seconds between checkpoints.
    """

    rate: float = 5e-5
    epochs: int = 3
    batch: int = 32
    length: int = 1024
    output: int | None = None
    lora: bool | None = None
    seed: int = 0
    at_once: int = field(default=4, compare=False)
    save_every: float = field(default=300.0, compare=False)

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "length", "at_once"):
            if getattr(self, name) < 1:
                raise SetupError(f"{name}={getattr(self, name)} does not fit; give a whole number of at least 1.")
        if not 0 < self.rate < 1:
            raise SetupError(f"rate={self.rate} does not fit; give a learning rate between 0 and 1, such as 5e-5.")
        if self.output is not None and self.output < 1:
            raise SetupError(f"output={self.output} does not fit; give a whole number of at least 1.")


@dataclass(frozen=True)
class Report:
    """What a training run did.

    examples: how many examples the model was trained on; left_out: how many other examples were not used, because they
    were too long; shortened: from how many of the `examples` the last passages were removed to make them fit; losses:
    the mean loss of each epoch, in nats per token.
    """

    examples: int
    left_out: int
    shortened: int
    losses: list[float]


def finetune_model(
    task: TrainingTask,
    lines: Sequence[SilverLine],
    data: Path,
    base: str,
    out: Path,
    settings: Settings,
    report_step: "ReportStep",
) -> Report:
    """Train the model `base` for the task, write the trained model to the folder `out`, and return the report.

    lines: the silver data; data: the file that holds them, whose hash helps to identify the run. If the same call is
    repeated, it continues an interrupted run; for a finished run it returns the stored report. Raises SetupError if the
    base cannot be trained or if `out` holds anything else than the result of this run.
    """
    require_transformers(f"Training a {task.kind}")
    base = str(Path(base).resolve()) if Path(base).is_dir() else base
    run_description = describe_run(task, lines, data, base, settings)
    if (finished_report := read_finished_report(out, run_description)) is not None:
        return finished_report
    seq2seq = is_seq2seq(base)
    lora, output = uses_lora(settings, seq2seq), settings.output or OUTPUT_TOKENS[task.kind]
    model, tokenizer = load_base(base, half=lora)
    check_window(model, base, settings.length, output)
    working_folder, codec = open_working_folder(out, run_description), Codec(tokenizer, seq2seq)
    examples, shortened_count = encode_lines(task, lines, codec, settings.length, output)
    training = prepare_training(model, codec, examples, settings, lora, working_folder)
    report = Report(len(examples), len(lines) - len(examples), shortened_count, training.run(report_step))
    manifest = ModelManifest(
        kind=task.kind,
        prompts=task.list_prompt_versions(lines),
        measure=name_measures(lines),
        length=settings.length,
        output=output,
        base=base,
        base_hash=hash_base(base),
        adapter=lora,
        weights="",
    )
    write_model_folder(out, training.model, tokenizer, manifest, run_description, report)
    shutil.rmtree(working_folder)
    return report


def encode_lines(
    task: TrainingTask, lines: Sequence[SilverLine], codec: Codec, length: int, output: int
) -> "tuple[list[TokenizedExample], int]":
    """Return the encoded examples that fit, and how many of them lost passages to fit.

    length, output: the largest numbers of tokens of a prompt and of a reply.
    """
    from quorum.training.steps import encode_examples

    makers = [partial(make_prompt_and_target, task, line) for line in lines]
    examples, shortened_count = encode_examples(
        makers, [len(task.select_passages(line)) for line in lines], codec, length, output
    )
    if not examples:
        raise SetupError(
            f"None of {len(lines)} examples fits into {length} tokens for the prompt and {output} for the reply; "
            "give a larger --length or --output."
        )
    return examples, shortened_count


def make_prompt_and_target(task: TrainingTask, line: SilverLine, passage_count: int) -> tuple[str, str]:
    """(prompt, target) of an example with its first `passage_count` passages."""
    pair = task.make_pair(line, passage_count)
    return pair.prompt, pair.target


def uses_lora(settings: Settings, seq2seq: bool) -> bool:
    return not seq2seq if settings.lora is None else settings.lora


def prepare_training(
    model: Any,
    codec: Codec,
    examples: "Sequence[TokenizedExample]",
    settings: Settings,
    lora: bool,
    working_folder: Path,
) -> "Training":
    """The training of the model on the examples. lora: add adapters to the model first; the seed initialises them."""
    import torch

    from quorum.training.lora import add_adapters
    from quorum.training.steps import Plan, Training

    torch.manual_seed(settings.seed)
    if lora:
        model = add_adapters(model, codec.seq2seq)
    plan = Plan(settings.rate, settings.epochs, settings.batch, settings.at_once, settings.seed, settings.save_every)
    return Training(
        model, codec.tokenizer.pad_token_id, codec.seq2seq, examples, plan, working_folder / "checkpoint.pt"
    )


def check_window(model: Any, base: str, length: int, output: int) -> None:
    """Raise a `SetupError` if the model's context window is too short for a prompt and a reply."""
    limit = getattr(model.config, "max_position_embeddings", None) or getattr(model.config, "n_positions", None)
    # The config of these models (T5 and its successors) names a length, but the models take texts of any length.
    has_no_limit = model.config.model_type in ("t5", "mt5", "umt5", "longt5")
    needed = max(length, output) if model.config.is_encoder_decoder else length + output
    if limit and not has_no_limit and needed > limit:
        raise SetupError(
            f"The model {base!r} takes {limit} tokens and would need {needed} (--length {length}, --output {output}); "
            "give smaller values for these options, or a base with a longer window."
        )


def describe_run(
    task: TrainingTask, lines: Sequence[SilverLine], data: Path, base: str, settings: Settings
) -> dict[str, Any]:
    """What identifies a run: its task, data, base and settings. Runs with equal descriptions are the same run."""
    return {
        "task": asdict(task) | {"prompts": task.list_prompt_versions(lines)},
        "data": {"file": data.name, "sha256": hash_files(data), "questions": len(lines)},
        "base": {"name": base, "hash": hash_base(base)},
        "settings": {name: value for name, value in asdict(settings).items() if name not in ("at_once", "save_every")},
    }


def read_finished_report(out: Path, run_description: dict[str, Any]) -> Report | None:
    """The stored report if `out` holds the result of the run described; None if `out` does not exist.

    Raises `SetupError` if `out` holds anything else.
    """
    if not out.exists():
        return None
    record_file = out / "quorum.training.json"
    stored_record = json.loads(record_file.read_text(encoding="utf-8")) if record_file.is_file() else {}
    if stored_record.get("run") != run_description:
        difference = (
            describe_difference(stored_record["run"], run_description)
            if "run" in stored_record
            else "no training run has written it"
        )
        raise SetupError(f"{out} is there already ({difference}); name another folder with --out, or remove it.")
    return Report(**stored_record["report"])


def open_working_folder(out: Path, run_description: dict[str, Any]) -> Path:
    """The folder OUT.training: that of the same run if it was interrupted, else a new one.

    Raises `SetupError` if the folder holds another run.
    """
    working_folder = out.with_name(out.name + ".training")
    description_file = working_folder / "run.json"
    if description_file.is_file():
        stored_description = json.loads(description_file.read_text(encoding="utf-8"))
        if stored_description != run_description:
            raise SetupError(
                f"{working_folder} holds another interrupted run "
                f"({describe_difference(stored_description, run_description)}); finish that run, or remove the folder."
            )
        return working_folder
    working_folder.mkdir(parents=True, exist_ok=True)
    unfinished_file = working_folder / "run.json.part"
    unfinished_file.write_text(json.dumps(run_description, indent=2), encoding="utf-8")
    unfinished_file.replace(description_file)
    return working_folder


def describe_difference(stored_description: dict[str, Any], run_description: dict[str, Any]) -> str:
    """The first difference between a stored run and this run, in words."""
    for part, values in run_description.items():
        for name, value in values.items():
            stored_value = stored_description.get(part, {}).get(name)
            if stored_value != value:
                return f"{part}.{name} is {stored_value!r} there, and {value!r} in this run"
    return "it is from an older version"


def hash_files(*files: Path) -> str:
    """The sha256 of the sha256 digests of the files, in their order. For one file it is not that file's sha256."""
    digest = sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return digest.hexdigest()


def write_model_folder(
    out: Path, model: Any, tokenizer: Any, manifest: ModelManifest, run_description: dict[str, Any], report: Report
) -> None:
    """Write weights, tokenizer, `quorum.json`, prompts and the model card (README.md).

    The folder appears when it is complete.
    """
    unfinished_folder = out.with_name(out.name + ".part")
    shutil.rmtree(unfinished_folder, ignore_errors=True)
    with silence_transformers():
        model.save_pretrained(unfinished_folder)
    tokenizer.save_pretrained(unfinished_folder)
    manifest = replace(manifest, weights=hash_files(*sorted(unfinished_folder.glob("*.safetensors"))))
    write_model_manifest(unfinished_folder, manifest)
    (unfinished_folder / "prompts").mkdir()
    for name in manifest.prompts:
        (unfinished_folder / "prompts" / f"{name}.md").write_text(get_text(name) + "\n", encoding="utf-8")
    versions = {name: metadata.version(name) for name in ("torch", "transformers")} | {
        "python": platform.python_version()
    }
    record = {"run": run_description, "report": asdict(report), "versions": versions}
    (unfinished_folder / "quorum.training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    (unfinished_folder / "README.md").write_text(make_card_text(manifest, record, out.name), encoding="utf-8")
    unfinished_folder.replace(out)
