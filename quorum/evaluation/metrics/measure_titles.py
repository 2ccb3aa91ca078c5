"""How reports name the measures of answers: in tables and in sentences."""

MEASURE_TITLES = {  # the titles of table columns
    "em": "EM",
    "f1": "F1",
    "accuracy": "accuracy",
    "rouge_l": "ROUGE-L",
    "str_em": "STR-EM",
    "judged": "judged",
    "recall": "recall",
    "hit": "hit",
    "mrr": "MRR",
    "answer_in_passages": "answer found",
}
MEASURE_NAMES = {  # in a sentence
    **MEASURE_TITLES,
    "em": "exact match",
    "judged": "judged accuracy",
    "answer_in_passages": "answers found",
}
