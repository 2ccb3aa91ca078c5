"""Labels of fact checks as chat models write them: often in sentences that discuss the claim and then conclude."""

import pytest

from quorum.parsing.labels import parse_label

SUPPORTING_REPLIES = [
    "SUPPORTS",
    "Supported.",
    "The claim is supported by the second passage.",
    "The evidence says that the film came out in 1994, as the claim does. So the claim is true.",
    "The passage does not mention the director, but it confirms the year. Therefore, the claim is supported.",
    "At first this looks false. However, passage 2 confirms it, so the claim is correct.",
    "There is no mention of the budget in passage 1; passage 2 gives it as stated. Thus SUPPORTS.",
    "I will assume that the claim is true.",
    "Not every detail is given, so I will assume the claim is correct.",
    "It is not false. Label: SUPPORTS",
    "Verdict: TRUE",
    "<answer>SUPPORTS</answer>",
    "\\boxed{SUPPORTS}",
    "SUPPORTS</s>",
    "The claim is accurate: the tower was finished in 1889.",
    "Nothing here contradicts the claim, and passage 3 confirms it, so the label is SUPPORTS.",
    "The claim matches the passage, hence it is true.",
    "Based on the passages, the claim is true.",
    "Yes, the claim is supported.",
    "The river is in Peru, so the claim that it is in South America is true.",
    "Although the claim sounds wrong, the evidence supports it.",
    "So the claim is true",
    "the answer is true.",
]
REFUTING_REPLIES = [
    "REFUTES",
    "Refuted: the album came out in 1987.",
    "The claim is false.",
    "The passages support that he was born in Bonn, not in Vienna. So the claim is false.",
    "The claim is not true, because the film was directed by his sister.",
    "The passage says 1994. The claim says 1995. Therefore the claim is incorrect.",
    "It would be true if he had signed. He did not sign, so the claim is wrong.",
    "The evidence contradicts the claim.",
    "This contradicts what is stated, so I will assume that the claim is false.",
    "The claim is refuted by passage 1.",
    "Verdict: False",
    "Label: **REFUTES**",
    "The first half is true, yet the tower stands in Lyon, so the claim as a whole is false.",
    "The answer is REFUTES.",
    "The claim cannot be true, since he died before.",
    "The claim is not supported: the passage says that it was Verdi who wrote it, so it is false.",
    "<answer>REFUTES</answer><|im_end|>",
    "Thus, the statement is inaccurate.",
    "So the claim is not correct.",
    "So it is not true.",
]
UNDECIDED_REPLIES = [
    "NOT ENOUGH INFO",
    "Not enough info.",
    "NOT ENOUGH INFORMATION",
    "The passages do not say whether he was married.",
    "I am not sure if the claim is true.",
    "I'm not sure if this is true or false.",
    "I am not sure that it is true.",
    "It is not clear whether the claim is true.",
    "It is unclear if the claim is correct.",
    "The claim can neither be supported nor refuted.",
    "There is not enough information to say whether the claim is true or false.",
    "The passage is about another film. So I do not know if the claim is true.",
    "There is no evidence for or against the claim, so the answer is not enough info.",
    "I don't know whether the claim is true.",
    "The claim may be true, but there is no information about it.",
    "The passage confirms that he is an actor. It says nothing about his sister. Therefore there is not enough info.",
    "Cannot be determined from the passages.",
    "We cannot tell whether it is false.",
    "So I'm not sure if the claim is correct.",
    "<answer>NOT ENOUGH INFO</answer>",
    "I have no way to know if this is true.",
    "Unverifiable.",
    "The evidence neither supports nor refutes the claim.",
]

# Replies with reasons, doubt or negation around the words of the label. "unknown": the reply gives no label.
LABEL_OF_REPLY = {
    (
        "The passage says that the film was shot in Spain. The claim says Italy. This contradicts "
        "the claim, so the claim is refuted."
    ): "REFUTES",
    "Since the evidence says that he was born in 1912 and the claim says 1912, it is supported.": "SUPPORTS",
    "This claim seems to be true since passage 3 confirms it.": "SUPPORTS",
    "I am fairly sure that this is true.": "SUPPORTS",
    "I can find nothing about it. I'll assume it's false.": "REFUTES",
    "I know that the bridge is in London, and the claim puts it in London, so the claim must be true.": "SUPPORTS",
    "I know that the bridge is in London, so the claim that it is in Paris is false.": "REFUTES",
    "The claim that she won an Oscar is false.": "REFUTES",
    "That is true.": "SUPPORTS",
    "That's not true.": "REFUTES",
    "That is correct, he was.": "SUPPORTS",
    "I'm not familiar with this film, so I can't say whether the claim is true.": "NOT ENOUGH INFO",
    "I don't know who he is, so I don't know if this claim is correct.": "NOT ENOUGH INFO",
    "I don't know anything about this. I would guess that it is true.": "SUPPORTS",
    "So the claim is probably true.": "SUPPORTS",
    "There is no reason to doubt it, so the claim is true.": "SUPPORTS",
    "The claim is therefore not supported by the evidence.": "NOT ENOUGH INFO",
    "So it is unlikely that the claim is true.": "REFUTES",
    "It could be either, so I am not sure.": "NOT ENOUGH INFO",
    "The claim is partially true.": "unknown",
    "So it is impossible to say.": "NOT ENOUGH INFO",
    "Many sources say otherwise, so the claim cannot be correct.": "REFUTES",
    "I don't think that's true.": "REFUTES",
    "I don't believe the claim is correct.": "REFUTES",
    "The claim doesn't seem accurate.": "REFUTES",
}


@pytest.mark.parametrize("reply", SUPPORTING_REPLIES)
def test_supporting_labels_are_read(reply: str) -> None:
    assert parse_label(reply).value == "SUPPORTS"


@pytest.mark.parametrize("reply", REFUTING_REPLIES)
def test_refuting_labels_are_read(reply: str) -> None:
    assert parse_label(reply).value == "REFUTES"


@pytest.mark.parametrize("reply", UNDECIDED_REPLIES)
def test_undecided_labels_are_read(reply: str) -> None:
    assert parse_label(reply).value == "NOT ENOUGH INFO"


@pytest.mark.parametrize(("reply", "label"), LABEL_OF_REPLY.items())
def test_labels_are_read_from_reasons_doubt_and_negation(reply: str, label: str) -> None:
    assert parse_label(reply).value == label
