"""The words by which a web page shows what is not its main text: names of elements, controls, headings, legal notes."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from quorum.core.sentences import make_word_set
from quorum.documents.html_blocks import HEADING_LEVELS

WORD_GAP = re.compile(r"[\W_]+")
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# Words of a class or an id that name boilerplate.
BOILERPLATE_NAME = re.compile(
    r"cookies?(?:bar|banner|notice)?|consent|gdpr|shar(?:e|es|ing|ebar|edaddy)|social|addthis|related\w*|"
    r"recommend(?:ed|ations?)|similar|sims|newsletters?|subscri(?:be|ption)|advert\w*|ads|promos?|sponsor(?:ed|s)?|"
    r"outbrain|taboola|breadcrumbs?|crumbs?|wayfinding|skip(?:link|links|nav)?|popups?|modal|paywall|pagination|pager|"
    r"navbars?|navigation|masthead|colophon|navbox|catlinks|printfooter|editsection|noprint|jumpbox|upsells?|mostread|"
    r"trending|disclosure|feedback|helpful|copyright|login|signin|signup|toc|back2top|backtotop|ticker|wishlist|"
    r"buybox|votecell|postprofile|sitenotice|newsticker|authorbox|affiliate|logo|brand|cta|"
    r"anzeigen?|werbung|teilen|verwandte\w*|brotkrumen|brotkrumel|seitenleiste|fusszeile|kopfzeile|hauptmenue|empfehlungen|"
    r"publicites?|partag(?:e|er)|similaires|ariane|articles-lies|pied|bandeau|publicidad|compartir|relacionad[oa]s|migas|"
    r"pubblicita|condividi|correlati|briciole"
)
# The same, but only of an element that has several links, or stands beside the main text.
DOUBTFUL_NAME = re.compile(
    r"\w*nav|\w*menu|\w*bar|side|rail|widgets?|tabs|tags?|taglist|tagcloud|labels|banner|legal|tools?|pagetools|"
    r"actions?|links?|buttons?|meta|signature|recent|latest|popular|more|also|foot|\w*footer|bottom|notice|disclaimer|"
    r"rating|stat|prevnext|bio|about|announcements?|votes?|carousel|cart|payments?|online"
)
EDGE_NAME = re.compile(r"(?:site|page|global|main)?(?:footer|topbar)")
COMMENT_NAME = re.compile(
    r"comments?|commentlist|disqus|respond|responses|"
    r"kommentar(?:e|en)?|commentaires?|comentarios?|commenti"
)
REVIEW_NAMES = make_word_set("review reviews")
FORUM_NAMES = make_word_set("question answer questions answers")
AUTHOR_NAMES = make_word_set("author byline meta postmeta comhead creator username user")
SEPARATORS = " \t\n|·•»«›>/,()[]–-↓↑←→▲▼★☆\xa0"
# What is offered to do with a page or a post, and what is counted of it. An element that says nothing else is left out.
CONTROL = re.compile(
    r"(?:share|tweet|pin|send|e-?mail|print|post) (?:this|it|on|by|to|via|with)\b.{0,40}|share|tweet|reply|permalink|"
    r"(?:improve|edit|rate|report) this.{0,30}|(?:read|show|see|view|load) (?:more|all|less)\b.{0,30}|"
    r"(?:skip|jump|back|return) to .{0,40}|(?:sign|log) ?(?:in|up|out)|register|subscribe(?: now| to .{0,40})?|"
    r"advertisement|sponsored|(?:write|leave|add|post) a (?:review|comment|reply)|ask question|forum rules|"
    r"sign up (?:for|to)\b.{0,80}|already have an account|(?:sign|log) in to .{0,30}|all (?:posts|articles|stories)|"
    r"add to (?:cart|basket|bag|list|wishlist)|buy now.{0,40}|(?:©|\(c\)|copyright\b).{0,160}|"
    r"(?:proudly )?powered by .{0,60}|.{0,80}all rights reserved\W*|sorted by|roll over image.{0,20}|"
    r"was this (?:page |article |section |answer )?helpful.{0,40}|viewed [\d.,]+k? times|"
    r"(?:asked|modified|answered|active|viewed)(?: .{0,30} ago)?|\d+ (?:years?|months?|days?|hours?).{0,12} ago|"
    r"[\d.,]+ out of \d+ stars|(?:no|[\d.,]+k?)(?: customer)? (?:comments?|ratings?|reviews?|likes?|views|"
    r"answered questions)|last (?:modified|updated?|edited|changed)\b.{0,60}|"
    # the same in German, French, Spanish and Italian
    r"(?:teilen|merken|drucken|weiterlesen|antworten|anmelden|abonnieren|anzeige|werbung)|"
    r"zum (?:inhalt|anfang)\b.{0,20}|"
    r"(?:partager|imprimer|lire la suite|répondre|connexion|s'abonner|publicité|retour en haut|ajouter au panier)|"
    r"(?:compartir|imprimir|leer más|responder|suscribirse|publicidad|volver arriba|añadir al carrito)|"
    r"(?:condividi|stampa|leggi (?:tutto|di più)|rispondi|accedi|abbonati|pubblicità|torna su|aggiungi al carrello)|"
    r"(?:alle rechte vorbehalten|tous droits réservés|todos los derechos reservados|tutti i diritti riservati)\W*",
    re.IGNORECASE,
)
# The same, but only beside another of these, since a page may also speak of it.
COMMON_CONTROL = re.compile(
    r"post|pin|save|send|e-?mail|print|follow|like|report|quote|edit|flag|bookmark|copy link|listen|more|top|"
    r"gift.{0,20}|twittern|per e-mail senden|facebook|twitter|whatsapp|x|"
    r"home|next|previous|prev|yes|no|reset.{0,20}|[\d.,]+[km]?",
    re.IGNORECASE,
)
LEGAL_LINK = re.compile(
    r"privacy(?: policy| notice)?|terms(?: of (?:use|service))?|imprint|disclaimer|cookies?(?: settings| policy)?|"
    r"terms (?:&|and) conditions|legal(?: notice)?|accessibility|"
    r"impressum|datenschutz|agb|mentions légales|confidentialité|aviso legal|privacidad|note legali",
    re.IGNORECASE,
)
COPYRIGHT = re.compile(r"(?:©|\(c\)|\bcopyright\b)\s*(?:19|20)\d\d", re.IGNORECASE)
TAG_ADDRESS = re.compile(r"/(?:tags?|labels?|categor(?:y|ies)|topics?|t)/")
DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d+ (?:minutes|hours|days|weeks|months|years) ago\b|\b\d{1,2}:\d\d\b")
BY = re.compile(
    r"(?:(?:post(?:ed)?|written|asked|answered) (?:by|on)\b|by |\S+ (?:commented|wrote|replied)\b)", re.IGNORECASE
)
NEIGHBOUR = re.compile(r"(?:previous|next|prev|older|newer)(?: \w+)?|(?:messages )?sorted by", re.IGNORECASE)
STEP = re.compile(r"[>›»/→]")  # between the links of a path to the page
# Headings above lists of other pages.
OTHER_PAGES = re.compile(
    r"(?:related|similar|recommended|sponsored|suggested|trending|popular)\b.{0,40}|"
    r"(?:read|see|learn) (?:more|next).{0,30}|more (?:from|in|on|like|stories|articles|posts|about)\b.{0,40}|"
    r"(?:you (?:may|might)|customers|people|others|readers|viewers)\b.{0,20}\b(?:also|like|bought|viewed).{0,40}|"
    r"(?:latest|recent) (?:posts|news|articles|comments)|recently (?:changed|viewed).{0,20}|headlines|archives?|"
    r"most (?:read|popular|viewed|shared)|categories|hot network questions|best ?sellers|jump to|keep reading|up next|"
    r"mehr (?:zum thema|aus|von)\b.{0,40}|meistgelesen|lesen sie auch|das könnte (?:sie|dich|ihnen|dir)\b.{0,40}|"
    r"(?:ähnliche|verwandte) .{0,30}|(?:à lire|lire) aussi|sur le même (?:sujet|thème)|les plus lus|"
    r"vous aimerez aussi|(?:articles|produits) (?:liés|similaires)|le[ea]? también|(?:lo )?más leído|"
    r"(?:artículos|productos) relacionados|leggi anche|i più letti|(?:articoli|prodotti) correlati",
    re.IGNORECASE,
)
# Headings above what readers are asked to do, and of comments, authors and advertisements.
REQUEST = re.compile(
    r"share(?: this.{0,20})?|follow (?:us|along|me).{0,20}|newsletters?|leave a (?:reply|comment)|your answer|"
    r"who is online|advertisement|written by .{1,40}|about the author|\d+ comments?|\d+ thoughts on .{0,100}|"
    r"(?:comments|responses|kommentare|commentaires|comentarios|commenti) \(\d+\)|anzeige|werbung|publicité|"
    r"(?:sign up (?:to|for)|subscribe to|get\b.{0,40} in your inbox)\b.{0,60}|"
    r".{0,20}use cookies\b.{0,100}",
    re.IGNORECASE,
)


def list_names(element: Any) -> list[str]:
    """The words of an element's class and id, in small letters. An id that repeats the heading below it says nothing of
    the element.
    """
    classes, id_text = element.get("class") or "", element.get("id") or ""
    names = [*split_classes(classes)]
    if id_text:
        id_names = WORD_GAP.split(id_text.lower())
        heading = next(element.iter(*HEADING_LEVELS), None)
        words = [] if heading is None else WORD_GAP.split("".join(heading.itertext()).lower())
        names += [] if set(id_names) <= set(words) else id_names
    return names


@lru_cache(1000)  # the elements of a page share few classes
def split_classes(classes: str) -> tuple[str, ...]:
    """The words of classes, in small letters."""
    return tuple(name.lower() for name in (*WORD_GAP.split(classes), *NAME_PART.findall(classes)))


@lru_cache(4000)
def is_boilerplate_name(name: str) -> bool:
    return BOILERPLATE_NAME.fullmatch(name) is not None


@lru_cache(4000)
def is_comment_name(name: str) -> bool:
    return COMMENT_NAME.fullmatch(name) is not None


@lru_cache(4000)
def is_doubtful_name(name: str) -> bool:
    return DOUBTFUL_NAME.fullmatch(name) is not None


def is_doubtful(element: Any) -> bool:
    """Whether an element's name says that it may be boilerplate. What holds code is not."""
    return any(map(is_doubtful_name, list_names(element))) and element.find(".//pre") is None


def is_edge(element: Any) -> bool:
    """Whether an element's name says that it stands at the edge of every page of the site."""
    return any(map(EDGE_NAME.fullmatch, list_names(element)))


def is_review(element: Any) -> bool:
    """Whether an element is a review of a product, or stands among them."""
    return any(not REVIEW_NAMES.isdisjoint(list_names(outer)) for outer in (element, *element.iterancestors()))


def is_control(parts: Iterable[str]) -> bool:
    """Whether the texts of an element, each by itself, only offer to do something with the page.

    >>> is_control(["Share this", "Print"]), is_control(["Print"])
    (True, False)
    """
    is_certain, words = False, 0
    for part in parts:
        words += not part[0].isdigit()
        if CONTROL.fullmatch(part):
            is_certain = True
        elif not COMMON_CONTROL.fullmatch(part):
            return False
    return is_certain or words > 1


def is_byline(parts: list[str], names: list[str]) -> bool:
    """Whether an element with these texts and names says who wrote a post, and when."""
    text = " ".join(parts)
    return bool((AUTHOR_NAMES.intersection(names) or BY.match(text)) and DATE.search(text))
