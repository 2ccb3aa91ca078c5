"""The start of the page offers questions that the collection answers."""

from pathlib import Path

from api_server import Serve

from quorum import Context, index

TEXT = "The Lumen Tower was built by Ada Korn. It is high. The trial was directed by many."


def test_a_question_is_offered_only_if_the_collection_answers_it(serve: Serve, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    for name, text in (("towers", TEXT), ("plain", "Nothing here is a fact. It was so.")):
        (tmp_path / f"{name}.txt").write_text(text)
        index(tmp_path / f"{name}.txt", collection=name, context=Context(store=store))
    api = serve(store=store, collection="", collections=None)

    def list_questions(collection: str) -> list[str]:
        data: list[str] = api.get(f"/v1/collections/{collection}/questions").json()["data"]
        return data

    assert list_questions("towers") == ["Who was the Lumen Tower built by?"]
    assert list_questions("plain") == []
    assert api.get("/v1/collections/other/questions").status_code == 404
