"""Write the model card of the embedded reader: python -m training.card --help.

The card's figures come from files. `--trained` is a JSON file that is written by hand: how the reader was trained (see
`make_card`). `--figures` is the output of `training.evaluate`, to which the figures of the reader's two heads
are added by hand: "sentences", the result of `quorum.training.sentence_filter.train_sentence_filter`, and "verdict",
the output of `training.verdict`. The card leaves out what `--figures` lacks.
"""

import argparse
import json
from pathlib import Path
from string import Template
from typing import Any

CARD_TEMPLATE = Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))


def make_figure_table(figures: dict[str, Any]) -> str:
    """A Markdown table of what `training.evaluate` measured."""
    rows = ["| what | figure |", "|---|---|"]
    if reading := figures.get("reading"):
        rows.append(
            f"| SQuAD 2.0, articles not trained on, answerable questions (n = {reading['n']}): EM / F1 "
            f"| {reading['em']:.3f} / {reading['f1']:.3f} |"
        )
        rows.append(
            f"| the same set: AUROC of the no-answer score ({reading['n_unanswerable']} without an answer) "
            f"| {reading['auroc']:.3f} |"
        )
    if gold := figures.get("gold"):
        shown_scores = f"{gold['em']:.3f} / {gold['f1']:.3f}"
        rows.append(f"| Natural Questions, gold passage alone (n = {gold['n']}): EM / F1 | {shown_scores} |")
        rows.append(f"| the same: AUROC of the gold against the best-ranked wrong passage | {gold['auroc']:.3f} |")
    if vectors := figures.get("embeddings"):
        rows.append(
            f"| embeddings, int8 against float: mean cosine on {vectors['cosine_n']} Wikipedia paragraphs (lowest) "
            f"| {vectors['cosine']:.4f} ({vectors['cosine_lowest']:.4f}) |"
        )
        rows.append(
            f"| open SQuAD, {vectors['questions']} questions, {vectors['passages']} paragraphs: recall@5 int8 / float "
            f"| {vectors['recall@5 int8']:.3f} / {vectors['recall@5 fp32']:.3f} |"
        )
    return "\n".join(rows)


def make_head_rows(figures: dict[str, Any]) -> str:
    """The table rows of the two heads: the figures that their training measured on held-out questions."""
    rows = ""
    if sentence_figures := figures.get("sentences"):
        rows += (
            f"\n| sentences kept, compared with the silver ones, {sentence_figures['questions']:.0f} held-out "
            f"questions ({sentence_figures['sentences']:.0f} sentences): F1 / precision / recall "
            f"| {sentence_figures['f1']:.3f} / {sentence_figures['precision']:.3f} / {sentence_figures['recall']:.3f} |"
        )
    if verdict_figures := figures.get("verdict"):
        rows += (
            f"\n| yes or no, cross-validated over {verdict_figures['questions']:.0f} questions of StrategyQA and "
            f"HotpotQA: accuracy (majority class) | {verdict_figures['cross-validated accuracy']:.3f} "
            f"({verdict_figures['majority']:.3f}) |"
        )
    return rows


def make_card(
    training_record: dict[str, Any], figures: dict[str, Any], reader_bytes: int, sentence_head_bytes: int, window: int
) -> str:
    """The card's text. `training_record`: {"start", "low", "selection", "runs": [text, ...], "heads": [text, ...],
    "calibration_contexts", "held_out_percent"}.

    start: the weights that run 1 began with; low: how many of the reader's lowest layers use the sentence encoder's
    weights with low-rank updates; selection: a text that says which decisions about the reader were made after a look
    at the evaluation sets; runs, heads: a description of each training run and of each head; calibration_contexts: on
    how many contexts the ranges of the activations were found; held_out_percent: the percent of the training questions
    that the runs left out, for `training.calibrate`.

    reader_bytes, sentence_head_bytes: sizes of reader.onnx and sentences.onnx; window: how many tokens the reader reads
    at once.
    """
    runs = "\n".join(f"* {run}" for run in [f"Start: {training_record['start']}", *training_record["runs"]])
    return CARD_TEMPLATE.substitute(
        size=f"{reader_bytes / 1e6:.1f}",
        head=f"{sentence_head_bytes / 1e6:.1f}",
        heads="\n".join(f"* {text}" for text in training_record["heads"]),
        figures=make_figure_table(figures) + make_head_rows(figures),
        low=training_record["low"],
        trained=runs,
        selection=training_record["selection"],
        calibration=training_record["calibration_contexts"],
        percent=training_record["held_out_percent"],
        window=window,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.card", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where reader.onnx is; README.md is written there")
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--figures", type=Path, required=True)
    options = parser.parse_args(arguments)
    training_record, figures = (
        json.loads(path.read_text(encoding="utf-8")) for path in (options.trained, options.figures)
    )
    sizes = [(options.folder / name).stat().st_size for name in ("reader.onnx", "sentences.onnx")]
    manifest = json.loads((options.folder / "reader.json").read_text(encoding="utf-8"))
    text = make_card(training_record, figures, sizes[0], sizes[1], manifest["calibration"]["window"])
    (options.folder / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
