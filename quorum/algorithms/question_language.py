"""Detects questions that are not in English, by their script or by their function words."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from quorum.core.sentences import make_word_set

LANGUAGE_OF_SCRIPT = {  # by the first word of the Unicode names of the script's letters
    "CYRILLIC": "Russian or another language in Cyrillic",
    "GREEK": "Greek",
    "ARABIC": "Arabic or another language in its script",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Hindi or another language in Devanagari",
    "BENGALI": "Bengali",
    "THAI": "Thai",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese",
    "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
}
WORDS_OF_LANGUAGE = {  # AMBIGUOUS_WORDS lists those that do not count, because they are also English
    "German": make_word_set(
        """wer wie wo wann warum welche welcher welches welchen wem wen wieviel viele ist sind der das den dem des ein
        eine einen einer eines und oder nicht von mit für auf bei aus nach zu zum zur im vom wird werden wurde wurden
        haben kann muss darf gibt es ich wir sie ihr kostet heißt über"""
    ),
    "French": make_word_set(
        """qui que quoi quel quelle quels quelles où quand comment pourquoi combien est sont était le la les des du un
        une et ou dans avec pour par sur au aux il elle nous vous ils ce cette ces sa son ses ont été peut faut quand"""
    ),
    "Spanish": make_word_set(
        """quién quiénes qué cuál cuáles cuándo cuánto cuántos cuántas cuánta dónde cómo por el la los las un una unos y
        es son fue eran está del de con para su sus se en lo al hay tiene puede quien que cual cuando donde como"""
    ),
    "Italian": make_word_set(
        """chi che cosa quale quali quando quanto quanti quante dove come perché è sono era il lo la gli le un una uno
        di del della dei delle nel nella con per su da dal dalla si ha hanno può"""
    ),
    "Portuguese": make_word_set(
        """quem qual quais quando quanto quantos quantas onde como que é são foi o os as um uma do da dos das no na nos
        em com para por seu sua se há tem pode ao"""
    ),
    "Dutch": make_word_set(
        """wie wat waar wanneer waarom welke welk hoe hoeveel is zijn het een de van en voor met op bij uit naar niet
        wordt werd worden heeft hebben kan moet mag ik wij je dat deze"""
    ),
    "Swedish, Norwegian or Danish": make_word_set(
        """vem vad var när varför vilken vilket vilka hur hvem hva hvad hvor hvornår hvorfor hvilken hvilket hvilke når
        är er det en ett et den och og av af på för till med som har kan inte ikke jag jeg"""
    ),
    "Polish": make_word_set(
        """kto co gdzie kiedy dlaczego jak jaki jaka jakie ile który która które jest są był była w na z do od i nie się
        przez dla o czy po"""
    ),
    "Turkish": make_word_set("kim ne nerede nasıl neden hangi kaç mi mı mu mü ve bir bu için ile olan var kadar zaman"),
}
ENGLISH_WORDS = make_word_set(
    """who what when where why which how is are was were does did do the of and in on at to for from with by an that
    this it its has have had can could will would should be been many much long often i my you your there not or if
    than"""
)
AMBIGUOUS_WORDS = make_word_set(
    "a as do i in is me on no or so to was die war hat man fast gift am an at for has have over"
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@lru_cache(maxsize=256)  # several steps of a question want to know
def find_foreign_language(question: str) -> str | None:
    """The language of a question that is not English. None for English, for a language without an entry in this module,
    and for a question that is too short to decide.

    >>> find_foreign_language("Wie lange dauert der Elternurlaub?"), find_foreign_language("Сколько дней отпуска?")
    ('German', 'Russian or another language in Cyrillic')
    >>> find_foreign_language("How long is parental leave?"), find_foreign_language("Who wrote La Bohème?")
    (None, None)
    """
    letters = [letter for letter in question if letter.isalpha()]
    # Letters up to U+036F are Latin.
    scripts = Counter(unicodedata.name(letter, "UNNAMED").split()[0] for letter in letters if ord(letter) > 0x36F)
    foreign_scripts = {name: count for name, count in scripts.items() if name in LANGUAGE_OF_SCRIPT}
    if letters and sum(foreign_scripts.values()) > 0.4 * len(letters):
        if scripts["HIRAGANA"] or scripts["KATAKANA"]:
            return "Japanese"
        return LANGUAGE_OF_SCRIPT[max(foreign_scripts, key=lambda name: foreign_scripts[name])]
    words = [part for word in WORD.findall(question.lower()) for part in re.split("['’]", word)]
    english_count = sum(word in ENGLISH_WORDS for word in words)
    counts = {
        name: sum(word in language_words and word not in AMBIGUOUS_WORDS for word in words)
        for name, language_words in WORDS_OF_LANGUAGE.items()
    }
    best = max(counts, key=lambda name: counts[name])
    begins_foreign = bool(words) and words[0] in WORDS_OF_LANGUAGE[best] and words[0] not in ENGLISH_WORDS
    # One foreign word is enough if the question begins with one, otherwise two are needed. They must be more than twice
    # as many as the English words.
    return best if counts[best] >= (1 if begins_foreign else 2) and counts[best] > 2 * english_count else None
