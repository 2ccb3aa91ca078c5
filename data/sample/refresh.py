"""Fill the field `gold` in the sample's question files: the ids of the passages that hold the evidence.

Run this script after a change of the corpus, the questions or the splitter: python data/sample/refresh.py
"""

import json
import sys
from pathlib import Path

from quorum.datasets.records import read_json_lines
from quorum.documents.pieces import read_file_passages

SAMPLE_FOLDER = Path(__file__).resolve().parent
QUESTION_FILES = ("questions.jsonl", "claims.jsonl", "dialogue.jsonl", "long.jsonl")


def read_passages_by_document(corpus: Path) -> dict[str, dict[str, str]]:
    """{file name: {passage id: text}} for every document in the folder `corpus`."""
    return {path.name: {p["id"]: p["text"] for p in read_file_passages(path)} for path in sorted(corpus.glob("*.md"))}


def find_gold_ids(record: dict[str, object], passages: dict[str, dict[str, str]]) -> list[str]:
    """The ids of the passages that hold the quotes of a record's evidence, in the order of the quotes.

    Raises `LookupError` for a quote that no passage holds.
    """
    meta = record["meta"]
    assert isinstance(meta, dict)
    gold_ids: dict[str, None] = {}
    for evidence in meta["evidence"]:
        ids_with_quote = [id_ for id_, text in passages[evidence["document"]].items() if evidence["quote"] in text]
        if not ids_with_quote:
            raise LookupError(f"{record['id']}: no passage of {evidence['document']} holds {evidence['quote']!r}")
        gold_ids |= dict.fromkeys(ids_with_quote)
    return list(gold_ids)


def refresh_text(path: Path, passages: dict[str, dict[str, str]]) -> str:
    """The text of a question file with `gold` up to date."""
    records = [record | {"gold": find_gold_ids(record, passages)} for _, record in read_json_lines(path)]
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main() -> None:
    passages = read_passages_by_document(SAMPLE_FOLDER / "corpus")
    for name in QUESTION_FILES:
        path = SAMPLE_FOLDER / name
        path.write_text(refresh_text(path, passages), encoding="utf-8")
    count = sum(map(len, passages.values()))
    print(f"{len(passages)} documents, {count} passages; gold ids are up to date.", file=sys.stderr)


if __name__ == "__main__":
    main()
