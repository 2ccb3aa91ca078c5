"""Groups for the embedded reader: a question with a passage that answers it and several that do not.

In training, one softmax runs over the spans of all passages of a group and "no answer", because the reader ranks the
spans of all passages together when it answers from several ("Shared-Normalization" in Clark and Gardner 2018, Simple
and Effective Multi-Paragraph Reading Comprehension).
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from quorum.training.examples import Example
from training.examples import EncodedExample, encode_example, get_weight

GROUP_SIZE = 4  # passages of a group, at most: one answers the question, the others do not
SHARE_WITHOUT_QUESTION_MARK = 0.15  # share of the questions whose "?" is removed; people often leave it out


@dataclass(frozen=True)
class Batch:
    """Examples that one training step reads together.

    rows: the examples, those of a group one after the other. sizes: how many rows each group has, in the same order; an
    example without a group counts as a group of 1.
    """

    rows: list[EncodedExample]
    sizes: list[int]


class Groups:
    """Draws any number of random groups; the same question can be drawn again. A group is a question, drawn by its
    weight, with its right passage first and then up to GROUP_SIZE - 1 wrong ones. A wrong passage is an example with
    the same question but without `spans`.

    weights: by data source (see `get_weight`). length: the most tokens of an example.
    """

    def __init__(
        self, examples: Sequence[Example], weights: dict[str, float], tokenizer: Tokenizer, length: int, seed: int
    ) -> None:
        self.wrong_examples_by_question: defaultdict[str, list[Example]] = defaultdict(list)
        for example in examples:
            if not example.spans:
                self.wrong_examples_by_question[example.question].append(example)
        self.right_examples = [
            example for example in examples if example.spans and example.question in self.wrong_examples_by_question
        ]
        self.weights = [get_weight(example, weights) for example in self.right_examples]
        self.tokenizer, self.length, self.rng = tokenizer, length, random.Random(seed)

    def draw_batches(self, rows_per_batch: int, batch_count: int) -> list[Batch]:
        """Draw groups for about `batch_count` batches, sort them by length, and split them into batches.

        A batch has at most `rows_per_batch` rows, or one group that has more. The batches are in random order.
        """
        groups = [self.draw_group() for _ in range(batch_count * max(1, rows_per_batch // GROUP_SIZE))]
        groups.sort(key=lambda group: max(len(item.ids) for item in group))
        batches, batch = [], Batch([], [])
        for group in groups:
            if len(batch.rows) + len(group) > rows_per_batch and batch.rows:
                batches.append(batch)
                batch = Batch([], [])
            batch.rows.extend(group)
            batch.sizes.append(len(group))
        batches.append(batch)
        self.rng.shuffle(batches)
        return batches

    def draw_group(self) -> list[EncodedExample]:
        """A random group: the example with the answer first. The question may have lost its question mark."""
        right_example = self.rng.choices(self.right_examples, self.weights)[0]
        wrong_examples = self.wrong_examples_by_question[right_example.question]
        group = [right_example, *self.rng.sample(wrong_examples, min(GROUP_SIZE - 1, len(wrong_examples)))]
        question = right_example.question
        if self.rng.random() < SHARE_WITHOUT_QUESTION_MARK:
            question = question.rstrip("? ") or question
        return [
            encode_example(self.tokenizer, replace(example, question=question), self.length, self.rng)
            for example in group
        ]
