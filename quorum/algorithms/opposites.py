"""Words that deny a sentence, and pairs of English words that are each other's opposite."""

from quorum.core.sentences import make_word_set

# As `quorum.algorithms.vote_key.list_key_words` writes them: without apostrophes.
NEGATIONS = make_word_set(
    """no not none never neither nor nothing nobody nowhere without unless cannot cant couldnt didnt doesnt dont
    hadnt hasnt havent isnt arent wasnt werent wont wouldnt shouldnt mustnt neednt hardly rarely seldom lacks lack
    except"""
)
PAIRS = """
able unable; above below; absent present; accept refuse; accept reject; active inactive; add remove; after before;
agree disagree; allow forbid; allow prevent; allow disallow; allowed prohibited; always never; ascending descending;
asynchronous synchronous; async sync; automatic manual; automatically manually; available unavailable; backward
forward; best worst; better worse; big small; big little; blocking nonblocking; bottom top; cheap expensive; client
server; close open; closed open; cold hot; common rare; compress decompress; connect disconnect; correct incorrect;
create delete; decode encode; decrease increase; decrypt encrypt; deep shallow; difficult easy; disable enable;
disabled enabled; divide multiply; dynamic static; early late; earlier later; east west; eastern western; empty full;
even odd; excluded included; exclude include; expand collapse; explicit implicit; external internal; fail succeed;
false true; far near; fast slow; faster slower; front back; greater smaller; greater less; grow shrink; heavy light;
hide show; high low; higher lower; highest lowest; horizontal vertical; import export; important unimportant; inner
outer; input output; inside outside; install uninstall; large small; larger smaller; largest smallest; lazy eager;
legal illegal; local remote; lock unlock; longest shortest; lossless lossy; maximum minimum; maximal minimal; max min;
mutable immutable; narrow wide; national international; necessary unnecessary; negative positive; newer older; newest
oldest; normal abnormal; north south; northern southern; often seldom; old young; older younger; oldest youngest;
optional required; optional mandatory; pass fail; permanent temporary; permit forbid; plural singular; poor rich;
possible impossible; previous next; private public; pull push; raise lower; regular irregular; reversible
irreversible; safe unsafe; safe dangerous; secure insecure; send receive; signed unsigned; simple complex; sparse
dense; stable unstable; start stop; stateful stateless; strong weak; sum difference; supported unsupported; thick
thin; trusted untrusted; upper lower; upstream downstream; uppercase lowercase; useful useless; valid invalid; visible
hidden; visible invisible; allow block; begin stop; keep discard; keep remove; reuse discard; daily weekly; weekly
monthly; monthly yearly; morning evening; day night
"""


def read_pairs(text: str) -> dict[str, frozenset[str]]:
    """{word: its opposites}, both ways, from pairs such as "able unable; above below"."""
    opposites: dict[str, set[str]] = {}
    for pair in text.split(";"):
        first, second = pair.split()
        opposites.setdefault(first, set()).add(second)
        opposites.setdefault(second, set()).add(first)
    return {word: frozenset(words) for word, words in opposites.items()}


OPPOSITES = read_pairs(PAIRS)
