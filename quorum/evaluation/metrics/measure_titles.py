"""The names of the measures of an answer, for tables and for sentences."""

MEASURE_TITLES = {  # in the head of a column
    "em": "EM",
    "f1": "F1",
    "accuracy": "accuracy",
    "rouge_l": "ROUGE-L",
    "str_em": "STR-EM",
    "judged": "judged",
}
MEASURE_NAMES = {**MEASURE_TITLES, "em": "exact match", "judged": "judged accuracy"}  # in a sentence
