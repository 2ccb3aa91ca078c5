"""Training can continue from an exported file, and a new export can keep the sentence encoder of an older export."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from exported_readers import LOW_RANK_LAYER_COUNT, GetExport, list_options
from tokenizers import Tokenizer

from quorum.models.embedded.encoder import Encoder
from quorum.training.examples import Example
from training import base_folder, export, reader
from training.examples import encode_example
from training.reader_loss import pad_batch
from training.shared_encoder import hash_encoder
from training.two_towers import load_base


def test_training_can_continue_from_an_exported_file_alone(
    base: Path, get_export: GetExport, data: Path, tmp_path: Path, examples: list[Example], tokenizer: Tokenizer
) -> None:
    """`write_base_folder` writes the base model from the file. A second export has the same integers in its encoder."""
    source = get_export(weight_limit=63)  # weights are integers from -63 to 63
    base_folder.write_base_folder(source, tmp_path / "base", attention_heads=4)
    original_model, rebuilt_model = (load_base(folder, LOW_RANK_LAYER_COUNT) for folder in (base, tmp_path / "base"))
    assert rebuilt_model.config == {name: original_model.config[name] for name in rebuilt_model.config}
    vocabularies = [
        Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab() for folder in (base, tmp_path / "base")
    ]
    assert vocabularies[0] == vocabularies[1]
    ids, _, mask = pad_batch([encode_example(tokenizer, example, 60) for example in examples[:16]])
    similarities = (original_model.eval().embed(ids, mask) * rebuilt_model.eval().embed(ids, mask)).sum(1)
    assert similarities.min() > 0.99
    assert similarities.max() < 1  # the rebuilt weights are those of the file, which were rounded to int8
    checkpoint, second_export = tmp_path / "reader.safetensors", tmp_path / "reader.onnx"
    common_options = list_options(base=tmp_path / "base", low=LOW_RANK_LAYER_COUNT)
    reader.main([*common_options, *list_options(train=data, init=source / "reader.onnx", steps=2, out=checkpoint)])
    options = list_options(checkpoint=checkpoint, data=data, weight_limit=63, out=second_export)
    export.main([*common_options, *options])
    integers_before, integers_after = (read_integers(file) for file in (source / "reader.onnx", second_export))
    assert integers_before
    assert all(np.array_equal(values, integers_after[name]) for name, values in integers_before.items())


def read_integers(file: Path) -> dict[str, np.ndarray[Any, np.dtype[np.int8]]]:
    """The int8 weights of the sentence encoder in an exported file."""
    tensors = {item.name: onnx.numpy_helper.to_array(item) for item in onnx.load(file).graph.initializer}
    return {
        name: values
        for name, values in tensors.items()
        if values.dtype == np.int8 and (name == "words" or (name.startswith("base.") and name.endswith(".weight")))
    }


def test_an_export_can_keep_the_sentence_encoder_of_another_file(
    base: Path, get_export: GetExport, data: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """After more training, the new export reads differently, but its sentence encoder gives the same vectors."""
    source, out = get_export(weight_limit=63), tmp_path / "out"
    base_folder.write_base_folder(source, tmp_path / "base", attention_heads=4)
    out.mkdir()
    common_options = list_options(base=tmp_path / "base", low=LOW_RANK_LAYER_COUNT)
    new_checkpoint = tmp_path / "reader.safetensors"
    reader.main([*common_options, *list_options(train=data, init=checkpoint, steps=20, rate=1e-3, out=new_checkpoint)])
    options = list_options(checkpoint=new_checkpoint, data=data, weight_limit=63, out=out / "reader.onnx")
    export.main([*common_options, *options, "--encoder-of", str(source / "reader.onnx")])
    assert hash_encoder(out / "reader.onnx") == hash_encoder(source / "reader.onnx")
    (out / "vocab.txt").write_bytes((source / "vocab.txt").read_bytes())
    source_encoder, new_encoder = Encoder(source), Encoder(out)
    texts = ["Ada lives in Rome.", "Where does Ada live?", "Rome"]
    assert np.array_equal(source_encoder.embed(texts), new_encoder.embed(texts))
    ids = [source_encoder.tokenize("Where does Ada live? Ada lives in Rome.").ids]
    segments = [[0] * 5 + [1] * (len(ids[0]) - 5)]  # BERT's token types: 0 for the question, 1 for the passage
    assert not np.array_equal(source_encoder.read(ids, segments)[0].start, new_encoder.read(ids, segments)[0].start)


def test_an_encoder_with_other_weights_cannot_be_kept(
    base: Path, get_export: GetExport, data: Path, checkpoint: Path, tmp_path: Path
) -> None:
    common_options = list_options(base=base, checkpoint=checkpoint, data=data, low=LOW_RANK_LAYER_COUNT)
    encoder_option = ["--encoder-of", str(get_export(weight_limit=63) / "reader.onnx")]
    with pytest.raises(ValueError, match=r"base\.0\.qkv\.weight differs"):
        export.main([*common_options, "--weight-limit", "127", "--out", str(tmp_path / "r.onnx"), *encoder_option])
    assert not list(tmp_path.iterdir())
