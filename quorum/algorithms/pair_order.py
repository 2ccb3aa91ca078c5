"""The order of passages by scores of pairs: each passage is scored with the question, and with nothing else.

Such an order keeps the certificate of a vote over its first k passages (quorum.algorithms.certificate). The certificate
says that m of these k passages may be replaced by any others. The threat here is greater: m of the n passages that were
found (n = rerank_from >= k) are replaced by any others, at any places of the retriever's ranking. It does no more harm:

1. The score of a passage does not depend on other passages. So the passages that were not replaced keep their scores,
   and their order among themselves: by score, and with equal scores by the retriever's ranking, in which passages that
   come in between change the places of the others but not which of two stands first.
2. Let T be the first k passages before, and r the number of those that were replaced. In the order of those that were
   not replaced, the k - r others of T stand first.
3. Of the first k passages after the replacement, j <= m are replaced ones. The other k - j are the first k - j of those
   that were not replaced. If j >= r, all of them are in T. If j < r, they are all k - r of T, and r - j others. So at
   least k - max(j, r) >= k - m passages of T are left, and these vote as before.
4. At most m votes differ, which may be for anything. Nothing is assumed about where the new passages stand: the
   certificate holds for any ranks. So m replacements among the n change the winner only if m among the k could.

It does not hold for a reranker that sees several passages at once, such as one that writes a summary of them.
"""

import math
from collections.abc import Sequence


def order_by_scores(scores: Sequence[float | None]) -> list[int]:
    """The indexes of the passages, by falling score. Equal scores keep their order. Passages without a score, or with
    one that is no finite number, follow those that have one, in their order.

    >>> order_by_scores([0.2, None, 0.9, 0.2, float("nan")])
    [2, 0, 3, 1, 4]
    """
    known = [score if score is not None and math.isfinite(score) else None for score in scores]
    return sorted(range(len(known)), key=lambda index: math.inf if known[index] is None else -(known[index] or 0.0))
