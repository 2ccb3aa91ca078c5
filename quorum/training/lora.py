"""Low-rank adapters (Hu et al. 2022): training learns small updates to the frozen weights of a model."""

from typing import Any

from quorum.models.pretrained import silence_transformers

RANK, SCALE, DROPOUT = 16, 32, 0.05  # our choice: the FILCO paper does not state its values


def add_adapters(model: Any, seq2seq: bool) -> Any:
    """The model with adapters on all linear layers except the output layer. Only the adapters are trained."""
    from peft import LoraConfig, TaskType, get_peft_model

    task = TaskType.SEQ_2_SEQ_LM if seq2seq else TaskType.CAUSAL_LM
    settings = LoraConfig(
        task_type=task, r=RANK, lora_alpha=SCALE, lora_dropout=DROPOUT, target_modules="all-linear", bias="none"
    )
    with silence_transformers():
        return get_peft_model(model, settings)
