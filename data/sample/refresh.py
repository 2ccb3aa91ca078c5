"""Fill `gold` in the sample's question files: the ids of the passages that hold the evidence.

Run it after a change of the corpus, the questions or the splitter: python data/sample/refresh.py
"""

import json
import sys
from pathlib import Path

from quorum.datasets.records import read_json_lines
from quorum.documents.pieces import read_file_passages

SAMPLE_FOLDER = Path(__file__).resolve().parent
QUESTION_FILES = ("questions.jsonl", "claims.jsonl", "dialogue.jsonl", "long.jsonl")


def passages_by_document(corpus: Path) -> dict[str, dict[str, str]]:
    """Document name -> passage id -> text, for every document of the corpus."""
    return {path.name: {p["id"]: p["text"] for p in read_file_passages(path)} for path in sorted(corpus.glob("*.md"))}


def gold_of(record: dict[str, object], passages: dict[str, dict[str, str]]) -> list[str]:
    """The ids of the passages that hold the record's evidence, in its order; a quote in no passage is an error."""
    meta = record["meta"]
    assert isinstance(meta, dict)
    found: dict[str, None] = {}
    for evidence in meta["evidence"]:
        holding = [id_ for id_, text in passages[evidence["document"]].items() if evidence["quote"] in text]
        if not holding:
            raise LookupError(f"{record['id']}: no passage of {evidence['document']} holds {evidence['quote']!r}")
        found |= dict.fromkeys(holding)
    return list(found)


def refresh_text(path: Path, passages: dict[str, dict[str, str]]) -> str:
    """The text of a question file with `gold` up to date."""
    records = [record | {"gold": gold_of(record, passages)} for _, record in read_json_lines(path)]
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main() -> None:
    passages = passages_by_document(SAMPLE_FOLDER / "corpus")
    for name in QUESTION_FILES:
        path = SAMPLE_FOLDER / name
        path.write_text(refresh_text(path, passages), encoding="utf-8")
    count = sum(map(len, passages.values()))
    print(f"{len(passages)} documents, {count} passages; gold ids are up to date.", file=sys.stderr)


if __name__ == "__main__":
    main()
