"""Chooses the encoding of a text in Latin letters that is not UTF-8 and names none.

An 8-bit encoding gives a byte above 127 another letter: one byte is "à" in Windows-1252 and "ŕ" in Windows-1250. The
right encoding gives letters of one language, whose frequent words stand in the same text, and signs at the places where
people write them.
"""

import re
from collections import Counter
from typing import NamedTuple


class Language(NamedTuple):
    """A language's letters beyond a-z, the frequent ones and the others, and some of its most frequent words."""

    letters: str
    rare_letters: str
    words: frozenset[str]


def make_language(letters: str, rare_letters: str, words: str) -> Language:
    return Language(letters, rare_letters, frozenset(words.split()))


LANGUAGES = (
    make_language(  # English
        "",
        "éèêëïöüçñ",
        """the of and to in a is that it was for on are with as at be this have from or by one had not but what all
        were when we there can an your which their if do will each about how up out them then some would
        into has more two no my than been who its now did get come may only over new after also before
        could first his her she he they you""",
    ),
    make_language(  # French
        "éèàêçœ",
        "âîôûùëïæÿü",
        """le la les de des du un une et est en que qui dans il elle pour pas sur au aux avec ce cette se son sa ses ne
        plus par mais nous vous ils elles je tu on ou où été être à très même après déjà près voilà ont sont était dont
        leur leurs tout tous deux sans comme fait aussi bien si y lui ma mes mon ça jusqu d l n s c qu""",
    ),
    make_language(  # Spanish
        "áéíóñú",
        "ü",
        """el la los las de del un una y en que es por con para se no su al lo como más pero sus le ya o fue este ha sí
        porque esta son entre cuando muy sin sobre ser tiene también me hasta hay donde desde todo nos durante uno ni
        están está según qué mi tu él ella ellos después mañana aquí todavía dos tres cada""",
    ),
    make_language(  # Portuguese
        "ãáéçíóêõ",
        "àâôúü",
        """o a os as de do da dos das um uma e em que é por com para não no na nos nas se mais como mas foi ao ele ela
        seu sua ou ser quando muito há já está eu também só pelo pela até isso entre depois sem mesmo aos são ainda
        têm você às à num numa dois duas três todos""",
    ),
    make_language(  # Italian
        "èàùòì",
        "éîó",
        """il lo la i gli le di del della dei delle un una e è in che non per con si su da al alla sono ha come più ma
        anche se ci o nel nella questo questa dal dalla perché già cioè così può città c l d dell all ho hanno era
        essere tutto tutti mio suo sua dopo molto due tre quando""",
    ),
    make_language(  # Swedish
        "åäö",
        "éàü",
        """och i att det som en på är av för med den till inte har de ett om han var jag från vi så kan när sig men hon
        man ska eller efter vid nu där bara hade mot mycket över under upp ut år två än sin sitt alla detta denna hur
        vad skulle blev""",
    ),
    make_language(  # German
        "äöüß",
        "éàèêç",
        """der die das und ist in den von zu mit sich des auf für nicht ein eine einer eines dem im es an werden aus er
        hat dass sie nach wird bei einem um am sind noch wie einen über so zum war haben nur oder aber vor zur bis mehr
        durch man sein wurde ich wir ihr unter wenn auch als kann gegen""",
    ),
    make_language(  # Dutch
        "ëé",
        "ïöüèêáóú",
        """de het een en van in is dat op te zijn met voor niet die aan er om ook als bij maar door uit naar dan over
        nog hij ze zij we wij je ik was worden werd heeft hebben dit deze tot meer geen wel kan moet""",
    ),
    make_language(  # Danish
        "åæø",
        "éÅü",
        """og i at det er en på af for med den til ikke som de et har han var jeg fra vi så kan sig men hun man skal
        eller efter ved nu der bare havde mod meget over under op ud år to hvor hvad blev også mere være""",
    ),
    make_language(  # Norwegian
        "åøæ",
        "éòôè",
        """og i å det er en på av for med den til ikke som de et har han var jeg fra vi så kan seg men hun man skal
        eller etter ved nå der bare hadde mot mye over under opp ut år to hvor hva ble også mer være""",
    ),
    make_language(  # Finnish
        "äö",
        "åšž",
        """ja on ei että se hän oli mutta kun ovat joka niin kuin tai myös sen en vain olla jos nyt jo ole sekä mitä
        minä sinä me te he tämä mukaan jälkeen kanssa ennen""",
    ),
    make_language(  # Icelandic
        "áðéíóúýþæö",
        "",
        """og að í á er það sem til um við en af með ekki var hann fyrir ég því hún eru þetta þessi frá eða hafa þeir
        svo verið þegar eftir""",
    ),
    make_language(  # Catalan
        "àèéòóçí",
        "úïü",
        """el la els les de del dels un una i és en que per amb no es al a ha com més però seu seva o va són aquest
        aquesta ser també molt fins quan entre sense l d""",
    ),
    make_language(  # Estonian
        "äõöü",
        "šž",
        """ja on ei et see ta oli ning kui mis ka aga või ma oma nii siis mida kes seda pärast enne veel nad olid selle
        kuid üle""",
    ),
    make_language("ë", "çé", "dhe të në e i për me një që është nga si ka por më u së do nuk kjo ky janë"),  # Albanian
    make_language(  # Polish
        "ąćęłńóśźż",
        "",
        """i w na z do nie się że jest to a o od po za jak przez dla co ale ma są tak by był była było już czy ten ta te
        tego tej jego jej ich który która które może tylko lub oraz ze pod przed przy nad bo gdzie nikt kto jutro roku
        bez być we żeby bardzo""",
    ),
    make_language(  # Czech
        "áčěéířšúůýž",
        "ďňóťöü",
        """a v na se je že s z do o to i ve pro za k po jako byl byla bylo který která které jsem jsou ale už si nebo od
        ze jeho jejich při tak také jen podle co kde kdo tím není mezi své více však před nikdo když aby pod nad bez
        teď velmi u""",
    ),
    make_language(  # Slovak
        "áäčéíľôšúýžť",
        "ďĺňóŕö",
        """a v na sa je že s z do o to i vo pre za k po ako bol bola bolo ktorý ktorá ktoré som sú ale už si alebo od zo
        jeho ich pri tak aj len podľa čo kde kto nie medzi viac však pred nikto keď aby pod nad bez teraz veľmi u""",
    ),
    make_language(  # Hungarian
        "áéíóöőúüű",
        "",
        """a az és hogy nem is egy van ez volt meg csak de mint ha már még vagy el ki be fel le én mert azt ezt lesz
        minden után alatt között szerint amely ami aki kell lehet sem nincs több két három hol mellett""",
    ),
    make_language(  # Slovenian
        "čšž",
        "ćđ",
        """in je na v se da za so ne z ki s po pa bi kot od do pri tudi o iz ali k bil bila bilo ni še če ko že kaj kje
        kdo več samo lahko med pred nad pod brez ta to te""",
    ),
    make_language(  # Croatian, Bosnian, Serbian
        "čćđšž",
        "",
        """i je u na se da za su ne s od do o koji koja koje kao bi iz ili te ali po što nije to biti bio bila bilo sam
        ako samo već još tko gdje kod prije poslije kroz između pod nad bez uz nitko zbog vrlo ove ovaj može će""",
    ),
    make_language(  # Romanian; its encodings have a cedilla where today a comma is written
        "ăâîşţ",
        "șțéö",
        """de şi în a la cu un o pe din nu se este care să mai pentru că ce au fost sunt prin după dar sau al ale ei lui
        el ea cel cea le fi când foarte între fără unde""",
    ),
    make_language(  # Turkish
        "ıişğçöü",
        "âîûİ",
        """ve bir bu da de için ile olarak çok daha gibi olan var ne en kadar sonra o ama her ki değil mi yok ben
        olduğu diye göre""",
    ),
)

# In the order in which they are preferred. "cp1254" is Turkish.
LATIN_ENCODINGS = ("cp1252", "cp1250", "iso8859_15", "iso8859_2", "cp1254")
CLEARLY_BETTER = 0.5  # an encoding must score so much more than the one before it
FREQUENT_LETTER, RARE_LETTER, FOREIGN_LETTER, WORD = 1.0, 0.2, -1.5, 0.7
MISPLACED, UNUSUAL_SIGN, QUOTATION, UNIT = -2.0, -1.0, 0.6, 0.8
ONE_LETTER_WORDS = frozenset("àèéáóåöøőíúÀÈÉÁÓÅÖØŐÍÚŽ")
UNUSUAL_SIGNS = frozenset("¤¦¨¬¯´¸¢˝˛ˇ˘˙ˆ˜ƒ")
SIGNS_INSIDE_WORDS = frozenset("’‘·\xad–—")
RAISED_DIGITS = frozenset("¹²³ºª")
FRACTIONS = frozenset("¼½¾")
OPENING_MARKS = frozenset("¿¡")
VOWELS = frozenset("aeiouAEIOU")
LETTERS_THAT_ARE_SIGNS = frozenset("ªºµ")
NON_ASCII = re.compile(r"[^\x00-\x7f]")
WORDS = re.compile(r"[^\W\d_]+")


def choose_latin_encoding(data: bytes) -> str:
    """The likeliest encoding of a text in Latin letters that is not UTF-8: Windows-1252, unless another is clearly
    better.

    >>> choose_latin_encoding("Le moulin est fermé à partir de lundi.".encode("cp1252"))
    'cp1252'
    >>> choose_latin_encoding("Młyn jest zamknięty z powodu powodzi.".encode("cp1250"))
    'cp1250'
    """
    best, best_score, former_text = "cp1252", float("-inf"), ""
    for encoding in LATIN_ENCODINGS:
        text = decode_wholly(data, encoding)
        if text is None or text == former_text:
            continue
        score = score_text(text)
        if score > best_score + (CLEARLY_BETTER if former_text else 0):
            best, best_score, former_text = encoding, score, text
    return best


def decode_wholly(data: bytes, encoding: str) -> str | None:
    """The text; None if a byte is none of this encoding, or is a control character in it."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if re.search(r"[\x80-\x9f]", text) else text


def score_text(text: str) -> float:
    """How well a text's letters fit the language that they fit best. Higher is better."""
    words = Counter(word.lower() for word in WORDS.findall(text))
    padded = f" {text} "
    contexts = Counter(padded[match.start() : match.start() + 3] for match in NON_ASCII.finditer(text))
    letters: Counter[str] = Counter()
    for (_, character, _), count in ((tuple(context), count) for context, count in contexts.items()):
        if is_letter(character):
            letters[character.lower()] += count
    by_place = sum(score_place(*context) * count for context, count in contexts.items())
    return by_place + max(score_language(language, letters, words) for language in LANGUAGES)


def score_language(language: Language, letters: Counter[str], words: Counter[str]) -> float:
    score = sum(count * WORD for word, count in words.items() if word in language.words)
    for letter, count in letters.items():
        is_frequent, is_rare = letter in language.letters, letter in language.rare_letters
        score += count * (FREQUENT_LETTER if is_frequent else RARE_LETTER if is_rare else FOREIGN_LETTER)
    return score


def is_letter(character: str) -> bool:
    return character.isalpha() and character not in LETTERS_THAT_ARE_SIGNS


def score_place(before: str, character: str, after: str) -> float:
    """0 if a character may stand between its neighbours, below 0 if people do not write it there."""
    if is_letter(character):
        stands_alone = not before.isalpha() and not after.isalpha()
        is_odd_capital = character.isupper() and before.islower()
        # No language of Windows-1252 has "è" before a vowel, or "ê" at a word's end; "č" and "ę" stand there often.
        is_odd_vowel = (character in "èÈ" and after in VOWELS) or (character == "ê" and not after.isalpha())
        is_misplaced = is_odd_capital or (stands_alone and character not in ONE_LETTER_WORDS)
        return MISPLACED * is_misplaced + UNUSUAL_SIGN * is_odd_vowel
    if character in "«»":
        return QUOTATION * (before.isalpha() != after.isalpha())
    if character in UNUSUAL_SIGNS:
        return UNUSUAL_SIGN + MISPLACED * (before.isalpha() and after.isalpha())
    if character in OPENING_MARKS:
        return MISPLACED * (before.isalnum() or not (after.isalpha() or after in OPENING_MARKS))
    if character in "²³" and before in "mM" and not after.isalpha():
        return UNIT
    if character in RAISED_DIGITS:
        return MISPLACED * (after.isalpha() or not before.isalnum() or (character in "ºª" and not before.isdigit()))
    if character in FRACTIONS:
        return MISPLACED * (before.isalpha() or after.isalpha())
    return MISPLACED * (before.isalpha() and after.isalpha() and character not in SIGNS_INSIDE_WORDS)
