"""Widens a passage to a run of the passages around it in its document."""

from collections.abc import Hashable, Sequence


def widen_run(sizes: Sequence[int], sections: Sequence[Hashable], best: int, budget: int) -> range:
    """The widest run of neighbouring passages around `best` whose sizes together are at most `budget`.

    It grows by one passage at a time, to both sides in turn, the earlier first: as long as it can within the section of
    `best`, then beyond. A side ends at the first passage that does not fit. `best` itself is always in the run.

    sizes, sections: one for each passage of a document, in its order: how large it is (tokens), and what tells its
    section from the ones beside it (the headings above it). best: the number of the passage to widen, from 0.

    >>> widen_run([10, 10, 10, 10, 10], "aabbb", best=2, budget=30)
    range(2, 5)
    >>> widen_run([10, 10, 10, 10, 10], "aabbb", best=2, budget=40)
    range(1, 5)
    """
    first = last = best
    left = budget - sizes[best]
    for within_section in (True, False):
        open_sides = {-1, 1}
        side = -1
        while open_sides:
            number = (first if side < 0 else last) + side
            is_there = 0 <= number < len(sizes)
            if is_there and sizes[number] <= left and (not within_section or sections[number] == sections[best]):
                first, last, left = min(first, number), max(last, number), left - sizes[number]
            else:
                open_sides.discard(side)
            side = -side if -side in open_sides else side
    return range(first, last + 1)
