"""The language of a question, by its script and function words."""

import pytest

from quorum.algorithms.question_language import find_foreign_language


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wann öffnet das Büro?", "German"),
        ("Wie viele Urlaubstage habe ich?", "German"),
        ("Combien coûte un billet ?", "French"),
        ("¿Dónde está la llave?", "Spanish"),
        ("Chi ha scritto il libro?", "Italian"),
        ("Quem escreveu o livro?", "Portuguese"),
        ("Hoeveel kost een kaartje?", "Dutch"),
        ("Hvornår åbner kontoret?", "Swedish, Norwegian or Danish"),
        ("Gdzie jest klucz?", "Polish"),
        ("誰がこの本を書きましたか", "Japanese"),
        ("这本书是谁写的？", "Chinese"),
        ("누가 이 책을 썼습니까?", "Korean"),
        ("من كتب هذا الكتاب؟", "Arabic or another language in its script"),
    ],
)
def test_the_language_of_a_foreign_question_is_named(question: str, language: str) -> None:
    assert find_foreign_language(question) == language


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote La Bohème?",
        "What was the Gift in Das Boot about?",
        "Who sang Je ne regrette rien?",
        "What does 東京 mean?",
        "timeout default",
        "page_size",
        "Müller Straße 7",
        "404?",
        "What does \U00017000 mean?",  # Tangut: Python 3.11 knows no name of this letter
        "",
    ],
)
def test_no_language_is_named_for_english_or_short_questions(question: str) -> None:
    assert find_foreign_language(question) is None
