"""Invented records for tests, in the shape of each published data format and of Quorum's own format."""

TOWER = "The tower of Vell was built in 1412. It is 80 metres high."
SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Vell",
            "paragraphs": [
                {
                    "context": TOWER,
                    "qas": [
                        {
                            "id": "s1",
                            "question": "How high is it?",
                            "answers": [{"text": "80 metres", "answer_start": 43}, {"text": "80 metres"}],
                            "is_impossible": False,
                        },
                        {"id": "s2", "question": "Who built it?", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}
NQ = {"question": "when was the tower of vell built", "answer": ["1412", "in 1412"]}
TRIVIAQA = {
    "Domain": "Web",
    "Data": [
        {
            "QuestionId": "tc_1",
            "Question": "Which river passes Vell?",
            "Answer": {"Value": "Orm", "Aliases": ["River Orm", "Orm"], "NormalizedAliases": ["orm"]},
            "EntityPages": [],
            "SearchResults": [],
        }
    ],
}
TRIVIAQA_HUGGING_FACE = {  # the same question in the shape of the data set's copy on Hugging Face
    "question_id": "tc_1",
    "question": "Which river passes Vell?",
    "answer": {"value": "Orm", "aliases": ["River Orm"], "normalized_aliases": ["orm"]},
}
HOTPOTQA = [
    {
        "_id": "h1",
        "question": "Is the tower in the town on the Orm older than 1500?",
        "answer": "yes",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Vell", 0], ["Orm", 1]],
        "context": [
            ["Orm", ["The Orm is a river.", " It passes Vell."]],
            ["Kett", ["Kett is a lake."]],
            ["Vell", ["The tower of Vell was built in 1412."]],
        ],
    }
]
HOTPOTQA_HUGGING_FACE = {  # the same question in the shape of the data set's copy on Hugging Face
    "id": "h1",
    "question": HOTPOTQA[0]["question"],
    "answer": "yes",
    "supporting_facts": {"title": ["Vell", "Orm"], "sent_id": [0, 1]},
    "context": {
        "title": ["Orm", "Kett", "Vell"],
        "sentences": [
            ["The Orm is a river.", " It passes Vell."],
            ["Kett is a lake."],
            ["The tower of Vell was built in 1412."],
        ],
    },
}
TWOWIKI = [HOTPOTQA[0] | {"type": "compositional", "evidences": [["Vell", "river", "Orm"]]}]
STRATEGYQA = [
    {
        "qid": "q1",
        "term": "Vell",
        "description": "a town",
        "question": "Could the tower of Vell be seen in 1300?",
        "answer": False,
        "facts": ["The tower of Vell was built in 1412."],
        "decomposition": ["When was the tower built?", "Is #1 before 1300?"],
        "evidence": [[[["Vell-3"]], ["operation"]], [["no_evidence"], [["Vell-3", "Orm-1"]]]],
    }
]
WEBQUESTIONS = [
    {
        "url": "http://example.org/view/en/vell",
        "targetValue": '(list (description "Orm (river)") (description Kett) (description "say \\"Ai\\""))',
        "utterance": "what waters are near vell?",
    }
]
FEVER = {
    "id": 7,
    "verifiable": "VERIFIABLE",
    "label": "REFUTES",
    "claim": "Vell has no tower.",
    "evidence": [[[1, 2, "Vell", 0]], [[1, 3, "Vell", 0], [1, 3, "Tower_-LRB-Vell-RRB-", 4]]],
}
FEVER_UNKNOWN = {
    "id": 8,
    "label": "NOT ENOUGH INFO",
    "claim": "Vell is pretty.",
    "evidence": [[[5, None, None, None]]],
}
ASQA_RECORD = {
    "ambiguous_question": "When was the tower built?",
    "qa_pairs": [
        {"question": "When was its base built?", "short_answers": ["1412"], "context": "none", "wikipage": None},
        {"question": "When was its roof built?", "short_answers": ["1420", "in 1420"], "context": "none"},
    ],
    "wikipages": [{"title": "Vell", "url": "http://example.org"}],
    "annotations": [{"knowledge": [], "long_answer": "The base is of 1412, the roof of 1420."}],
}
ASQA = {"train": {"-1": ASQA_RECORD}, "dev": {"42": ASQA_RECORD}}
ALCE = [
    {"sample_id": "42", "question": ASQA_RECORD["ambiguous_question"]}
    | {name: ASQA_RECORD[name] for name in ("qa_pairs", "annotations")}
    | {"answer": "The base is of 1412.", "docs": [{"id": "9", "title": "Vell", "text": TOWER, "score": 1.5}]}
]
KILT = {
    "id": "k1",
    "input": "when was the tower of vell built",
    "output": [
        {"answer": "1412", "provenance": [{"wikipedia_id": "77", "start_paragraph_id": 2, "end_paragraph_id": 3}]},
        {"answer": "in 1412"},
        {"provenance": [{"wikipedia_id": "78", "title": "Orm", "start_paragraph_id": 1}]},
    ],
}
KILT_FEVER = {"id": "k2", "input": "Vell has no tower.", "output": [{"answer": "REFUTES"}]}
DPR = [
    {
        "question": "when was the tower of vell built",
        "answers": ["1412"],
        "ctxs": [
            {"id": "wiki:1", "title": "Orm", "text": "The Orm is a river.", "score": "81.2", "has_answer": False},
            {"id": "wiki:2", "title": "Vell", "text": TOWER, "score": "80.9", "has_answer": True},
        ],
    }
]
FLASHRAG = {"id": "dev_0", "question": "Who?", "golden_answers": ["Ann"], "metadata": {"level": "easy"}}
QUORUM_RECORD = {
    "id": 3,
    "question": "Who?",
    "answers": [],
    "passages": [],
    "gold": ["p"],
    "meta": {"answer_type": "long"},
}
