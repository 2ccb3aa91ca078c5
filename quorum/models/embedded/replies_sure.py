"""The reader's replies to SuRe's prompts: candidates, summaries that support them, validity, ranking, the ablations.

Candidates are the reader's best spans; a summary is the sentences that contain one. A summary is valid if the reader,
given the summary alone, finds the candidate. Of two summaries it prefers the one in which its answer is more certain.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from quorum.core.lettered_lists import format_lettered_list, get_letter
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import contains_answer, f1, normalize
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Responder,
    Sampler,
    get_calibration,
    get_threshold,
    join_lines,
    read_each,
)
from quorum.models.embedded.replies_baselines import keep_short_spans

END_MARK = "[DONE]"
MAX_SENTENCES = 3  # of a summary
NO_SUPPORT = "The passages say nothing that supports this."
MIN_SAME_F1 = 0.5  # token F1 from which two answers count as the same


async def candidates(inputs: Inputs, sampler: Sampler) -> str:
    """The best short spans that differ, over all passages read together, then over each alone."""
    question, passages, count = inputs["question"], inputs["passages"], int(inputs["count"])
    together = keep_short_spans((await read_passages(question, passages)).reading).spans
    alone = [span for reading in await read_each(question, passages) for span in keep_short_spans(reading).spans]
    pool = remove_overlaps([*together, *sorted(alone, key=lambda span: -span.score)])
    return format_lettered_list([join_lines(span.text) for span in choose_spans(pool, count, sampler)] or [UNKNOWN])


def remove_overlaps(spans: Sequence[Span]) -> list[Span]:
    """The spans whose text neither contains the text of an earlier kept span nor is contained in it, wherever the spans
    stand.
    """
    kept: list[Span] = []
    for span in spans:
        if not any(contains_answer(one.text, [two.text]) for old in kept for one, two in ((old, span), (span, old))):
            kept.append(span)
    return kept


def choose_spans(spans: list[Span], count: int, sampler: Sampler) -> list[Span]:
    """The first `count` spans; above temperature 0 they are sampled without replacement by their scores."""
    if sampler.temperature <= 0:
        return spans[:count]
    left, rng = {str(place): span for place, span in enumerate(spans)}, random.Random(sampler.seed)
    drawn: list[Span] = []
    while left and len(drawn) < count:
        place = sampler.sample([(span.score, name) for name, span in left.items()], rng)
        drawn.append(left.pop(place))
    return drawn


async def conditional_summary(inputs: Inputs, sampler: Sampler) -> str:
    """Up to three sentences: those in which the reader finds the prediction with the greatest certainty."""
    question, passages = inputs["question"], inputs["passages"]
    prediction = re.sub(r"\A\([a-z]\) ", "", inputs["prediction"])
    found = []
    for number, (passage, reading) in enumerate(zip(passages, await read_each(question, passages), strict=True)):
        for start, end in find_sentences(passage["text"]):
            best = next((span for span in reading.spans if start <= span.start < end), None)
            holds = contains_answer(passage["text"][start:end], [prediction])
            if best and holds and is_similar(best.text, prediction):
                found.append((-best.score, number, start, end))
    return write_summary([(number, start, end) for _, number, start, end in sorted(found)[:MAX_SENTENCES]], passages)


async def generic_summary(inputs: Inputs, sampler: Sampler) -> str:
    """For each of the three passages with the most certain answers: the sentence that contains its best span."""
    question, passages = inputs["question"], inputs["passages"]
    found = []
    for number, (passage, reading) in enumerate(zip(passages, await read_each(question, passages), strict=True)):
        for span in reading.spans[:1]:
            places = [(start, end) for start, end in find_sentences(passage["text"]) if start <= span.start < end]
            found += [(-span.score, number, start, end) for start, end in places]
    return write_summary([(number, start, end) for _, number, start, end in sorted(found)[:MAX_SENTENCES]], passages)


def write_summary(places: Sequence[tuple[int, int, int]], passages: Sequence[Passage]) -> str:
    """The sentences in reading order. The title of a passage precedes the first of its sentences, unless this sentence
    contains the title.
    """
    lines, titled = [], set()
    for number, start, end in sorted(places):
        passage = passages[number]
        line, title = join_lines(passage["text"][start:end]), join_lines(passage["title"])
        if title and number not in titled and not contains_answer(line, [title]):
            line = f"{title}: {line}"
        titled.add(number)
        lines.append(line.replace("[", "(").replace("]", ")"))  # END_MARK ends a reply, so the text must not contain it
    return f"{' '.join(dict.fromkeys(lines)) or NO_SUPPORT} {END_MARK}"


async def read_texts(question: str, *texts: str) -> Reading:
    """Search these texts for answers to the question."""
    shown = [
        Passage(id=str(place), title="", text=text) for place, text in enumerate(texts) if text and text != NO_SUPPORT
    ]
    return (await read_passages(question, shown)).reading


def is_similar(one: str, other: str) -> bool:
    """Whether one answer contains the other, or their token F1 is at least MIN_SAME_F1."""
    holds = contains_answer(one, [other]) or contains_answer(other, [one])
    return holds or f1(one, [other]) >= MIN_SAME_F1


async def validity(inputs: Inputs, sampler: Sampler) -> str:
    """True if the best span of the summary agrees with the prediction and is certain enough."""
    reading = await read_texts(inputs["question"], inputs["summary"])
    own = [span for span in reading.spans[:1] if is_similar(span.text, inputs["prediction"])]
    answered = sampler.choose(replace(reading, spans=own), get_calibration().threshold_one_passage)
    return "False" if answered == UNKNOWN else "True"


async def ranking(inputs: Inputs, sampler: Sampler) -> str:
    """Prefers the summary in which the reader's answer is more certain; of equals the first."""
    scores = [(await read_texts(inputs["question"], inputs[place])).score for place in ("first", "second")]
    if sampler.temperature > 0:
        choices = [(score, f"Passage {number}") for number, score in enumerate(scores, start=1)]
        return sampler.sample(choices, random.Random(sampler.seed))
    return "Passage 2" if scores[1] > scores[0] else "Passage 1"


async def answer_choices(inputs: Inputs, sampler: Sampler) -> str:
    """The choice that is the best span over all passages; the first choice if none of them is a span."""
    texts = re.split(r"(?:\A|\s)\([a-z]\) ", inputs["choices"])[1:]
    reading = keep_short_spans((await read_passages(inputs["question"], inputs["passages"])).reading)
    names = [normalize(text) for text in texts]
    spans = [span for span in reading.spans if normalize(span.text) in names]
    chosen = names.index(normalize(choose_spans(spans, 1, sampler)[0].text)) if spans else 0
    return f"({get_letter(chosen)}) {texts[chosen]}"


async def answer_summaries(inputs: Inputs, sampler: Sampler) -> str:
    """The best short span of the summaries, read together."""
    reading = keep_short_spans(await read_texts(inputs["question"], *inputs["summaries"]))
    return sampler.choose(reading, get_threshold(inputs["passages"]))


async def answer_summary(inputs: Inputs, sampler: Sampler) -> str:
    """The best short span of the summary."""
    return sampler.choose(
        keep_short_spans(await read_texts(inputs["question"], inputs["summary"])),
        get_calibration().threshold_one_passage,
    )


RESPONDERS: dict[str, Responder] = {
    "candidates": candidates,
    "conditional_summary": conditional_summary,
    "generic_summary": generic_summary,
    "validity": validity,
    "ranking": ranking,
    "answer_choices": answer_choices,
    "answer_summaries": answer_summaries,
    "answer_summary": answer_summary,
}
