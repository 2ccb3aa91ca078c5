"""The reader's replies to SuRe's prompts: candidates, summaries that support them, validity, ranking, the ablations.

Candidates are the reader's best spans. The summary for a candidate consists of sentences that contain the candidate. It
is valid if the reader, given the summary alone, finds the candidate. Of two summaries the reader prefers the one in
which its answer is more certain.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from quorum.core.lettered_lists import format_lettered_list, get_letter
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import normalize, squad_contains_answer, squad_f1
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Sampler,
    cite,
    get_calibration,
    get_threshold,
    join_lines,
    read_each,
)
from quorum.models.embedded.replies_baselines import keep_short_spans

END_MARK = "[DONE]"
MAX_SENTENCES = 3  # in a summary
NO_SUPPORT = "The passages say nothing that supports this."
MIN_SAME_F1 = 0.5  # token F1 from which two answers count as the same


async def candidates(inputs: Inputs, sampler: Sampler) -> str:
    """Up to `count` short spans without overlaps: first the best of all passages read together, then the best of the
    passages read one by one.
    """
    question, passages, count = inputs["question"], inputs["passages"], int(inputs["count"])
    joint_spans = keep_short_spans((await read_passages(question, passages)).reading).spans
    single_spans = [span for reading in await read_each(question, passages) for span in keep_short_spans(reading).spans]
    spans = remove_overlaps([*joint_spans, *sorted(single_spans, key=lambda span: -span.score)])
    return format_lettered_list([join_lines(span.text) for span in choose_spans(spans, count, sampler)] or [UNKNOWN])


def remove_overlaps(spans: Sequence[Span]) -> list[Span]:
    """Goes through the spans in order, and keeps a span unless its text contains the text of a span already kept or is
    contained in it. Only the texts count, not where the spans stand.
    """
    kept_spans: list[Span] = []
    for span in spans:
        if not any(has_containment(kept_span.text, span.text) for kept_span in kept_spans):
            kept_spans.append(span)
    return kept_spans


def choose_spans(spans: list[Span], count: int, sampler: Sampler) -> list[Span]:
    """At temperature 0, the first `count` spans. At a higher temperature, `count` spans drawn at random by their
    scores, none twice.
    """
    if sampler.temperature <= 0:
        return spans[:count]
    remaining_spans, rng = {str(number): span for number, span in enumerate(spans)}, random.Random(sampler.seed)
    drawn_spans: list[Span] = []
    while remaining_spans and len(drawn_spans) < count:
        drawn_number = sampler.sample([(span.score, number) for number, span in remaining_spans.items()], rng)
        drawn_spans.append(remaining_spans.pop(drawn_number))
    return drawn_spans


async def conditional_summary(inputs: Inputs, sampler: Sampler, *, cites: bool = False) -> str:
    """The summary that supports the prediction (a candidate answer): up to MAX_SENTENCES sentences that contain the
    prediction and in which the reader finds it with the greatest certainty.
    """
    question, passages = inputs["question"], inputs["passages"]
    prediction = re.sub(r"\A\([a-z]\) ", "", inputs["prediction"])
    sentences = []  # (minus the score, the passage's number, start, end)
    for number, (passage, reading) in enumerate(zip(passages, await read_each(question, passages), strict=True)):
        for start, end in find_sentences(passage["text"]):
            best = next((span for span in reading.spans if start <= span.start < end), None)
            has_prediction = squad_contains_answer(passage["text"][start:end], [prediction])
            if best and has_prediction and is_similar(best.text, prediction):
                sentences.append((-best.score, number, start, end))
    chosen_sentences = sorted(sentences)[:MAX_SENTENCES]
    return write_summary([(number, start, end) for _, number, start, end in chosen_sentences], passages, cites=cites)


async def conditional_summary_long(inputs: Inputs, sampler: Sampler) -> str:
    """As `conditional_summary`, and each sentence has the number of its passage."""
    return await conditional_summary(inputs, sampler, cites=True)


async def generic_summary(inputs: Inputs, sampler: Sampler) -> str:
    """For each of the MAX_SENTENCES passages with the most certain best spans: the sentence with the best span."""
    question, passages = inputs["question"], inputs["passages"]
    sentences = []  # (minus the score, the passage's number, start, end)
    for number, (passage, reading) in enumerate(zip(passages, await read_each(question, passages), strict=True)):
        for span in reading.spans[:1]:
            places = [(start, end) for start, end in find_sentences(passage["text"]) if start <= span.start < end]
            sentences += [(-span.score, number, start, end) for start, end in places]
    chosen_sentences = sorted(sentences)[:MAX_SENTENCES]
    return write_summary([(number, start, end) for _, number, start, end in chosen_sentences], passages)


def write_summary(
    sentences: Sequence[tuple[int, int, int]], passages: Sequence[Passage], *, cites: bool = False
) -> str:
    """The sentences in reading order. The title of a passage precedes the first of its sentences, unless this sentence
    contains the title.

    sentences: (the passage's number in `passages`, start, end) of each. cites: add the number of its passage to each.
    """
    number_of_line: dict[str, int] = {}
    numbers_before = set()
    for number, start, end in sorted(sentences):
        passage = passages[number]
        line, title = join_lines(passage["text"][start:end]), join_lines(passage["title"])
        if title and number not in numbers_before and not squad_contains_answer(line, [title]):
            line = f"{title}: {line}"
        numbers_before.add(number)
        line = line.replace("[", "(").replace("]", ")")  # END_MARK ends a reply, so the text must not contain it
        number_of_line.setdefault(line, number)
    lines = [cite(line, number + 1) if cites else line for line, number in number_of_line.items()]
    return f"{' '.join(lines) or NO_SUPPORT} {END_MARK}"


async def read_texts(question: str, *texts: str) -> Reading:
    """The reading of these texts as passages. Empty texts and NO_SUPPORT are left out."""
    passages = [
        Passage(id=str(number), title="", text=text) for number, text in enumerate(texts) if text and text != NO_SUPPORT
    ]
    return (await read_passages(question, passages)).reading


def is_similar(one: str, other: str) -> bool:
    """Whether one answer contains the other, or their token F1 is at least MIN_SAME_F1."""
    return has_containment(one, other) or squad_f1(one, [other]) >= MIN_SAME_F1


def has_containment(one: str, other: str) -> bool:
    """Whether one of two texts contains the other."""
    return squad_contains_answer(one, [other]) or squad_contains_answer(other, [one])


async def validity(inputs: Inputs, sampler: Sampler) -> str:
    """ "True" if the best span of the summary is similar to the prediction and is certain enough, else "False"."""
    reading = await read_texts(inputs["question"], inputs["summary"])
    similar_spans = [span for span in reading.spans[:1] if is_similar(span.text, inputs["prediction"])]
    answer = sampler.choose(replace(reading, spans=similar_spans), get_calibration().threshold_one_passage)
    return "False" if answer == UNKNOWN else "True"


async def ranking(inputs: Inputs, sampler: Sampler) -> str:
    """Prefers the summary in which the reader's answer is more certain; if both are equally certain, the first."""
    scores = [(await read_texts(inputs["question"], inputs[name])).score for name in ("first", "second")]
    if sampler.temperature > 0:
        choices = [(score, f"Passage {number}") for number, score in enumerate(scores, start=1)]
        return sampler.sample(choices, random.Random(sampler.seed))
    return "Passage 2" if scores[1] > scores[0] else "Passage 1"


async def answer_choices(inputs: Inputs, sampler: Sampler) -> str:
    """Of the choices that the reader finds as short spans in the passages, the one with the best span. If it finds
    none, the first choice.
    """
    texts = re.split(r"(?:\A|\s)\([a-z]\) ", inputs["choices"])[1:]
    reading = keep_short_spans((await read_passages(inputs["question"], inputs["passages"])).reading)
    normalized_choices = [normalize(text) for text in texts]
    spans = [span for span in reading.spans if normalize(span.text) in normalized_choices]
    number = normalized_choices.index(normalize(choose_spans(spans, 1, sampler)[0].text)) if spans else 0
    return f"({get_letter(number)}) {texts[number]}"


async def answer_summaries(inputs: Inputs, sampler: Sampler) -> str:
    """The best short span of the summaries, read together, or "Unknown" if it is not certain enough."""
    reading = keep_short_spans(await read_texts(inputs["question"], *inputs["summaries"]))
    return sampler.choose(reading, get_threshold(inputs["passages"]))


async def answer_summary(inputs: Inputs, sampler: Sampler) -> str:
    """The best short span of the summary, or "Unknown" if it is not certain enough."""
    return sampler.choose(
        keep_short_spans(await read_texts(inputs["question"], inputs["summary"])),
        get_calibration().threshold_one_passage,
    )
