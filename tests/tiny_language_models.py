"""Saves tiny language models with random weights and tokenizers of their own, in the format of transformers."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from quorum.models.pretrained import silence_transformers
from quorum.prompts import BUILT_IN

# Prompts from which the tokenizers learn their merges.
TEXTS = [BUILT_IN[name] for name in ("answer", "filter_sentences", "filter_passages")]


def make_tokenizer(adds_end: bool, chat: bool = False) -> Any:
    """A byte-level BPE tokenizer, which can encode any text, with merges learned from TEXTS.

    adds_end: end each text with </s>, as T5's tokenizer does; chat: give the tokenizer a chat template.
    """
    bpe_tokenizer = Tokenizer(BPE())
    bpe_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    bpe_tokenizer.decoder = decoders.ByteLevel()
    specials = ["<pad>", "</s>", "<user>", "<reply>"]
    trainer = BpeTrainer(
        vocab_size=700, special_tokens=specials, initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    bpe_tokenizer.train_from_iterator(TEXTS, trainer)
    if adds_end:
        bpe_tokenizer.post_processor = TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe_tokenizer, pad_token="<pad>", eos_token="</s>")
    if chat:
        tokenizer.chat_template = "{% for m in messages %}<user>{{ m['content'] }}{% endfor %}<reply>"
    return tokenizer


def save_model(folder: Path, model: Any, tokenizer: Any) -> Path:
    with silence_transformers():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_t5(folder: Path) -> Path:
    torch.manual_seed(1)
    tokenizer = make_tokenizer(adds_end=True)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=48, d_kv=12, d_ff=96, num_layers=2, num_heads=4, dropout_rate=0.1,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return save_model(folder, T5ForConditionalGeneration(config), tokenizer)


def write_llama(folder: Path, chat: bool = False) -> Path:
    torch.manual_seed(2)
    tokenizer = make_tokenizer(adds_end=False, chat=chat)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=2048, bos_token_id=None, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return save_model(folder, LlamaForCausalLM(config), tokenizer)


def write_gpt2(folder: Path) -> Path:
    torch.manual_seed(3)
    tokenizer = make_tokenizer(adds_end=False)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, n_embd=48, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=1
    )
    return save_model(folder, GPT2LMHeadModel(config), tokenizer)
