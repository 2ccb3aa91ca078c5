"""Asks questions by several methods, scores, compares and reports the answers.

An evaluation begins with `Options` (run/options.py), which holds the user's options. Each step is a module:

    step         module               what it makes
    columns      run/columns.py       Column: a method with its settings, model, retriever and prices
    plan         run/plan.py          Plan: checked columns and questions, the folder, an estimate
    run          run/run_plan.py      RunOutcome: the answers. If there is a screening column, it is asked first,
                                      and the other columns are asked only the questions that it did not answer
                                      correctly
    score        run/score.py         Scores: the measures of every column and question, their means, comparisons
    decide       compare/decide.py    Decision: the scores, and the recommendation of a method
    report       report/write.py      report.html, report.md, report.csv and questions.csv

`evaluate` (run/evaluate.py) stops after the step "score", `compare` (compare/compare.py) does all steps.
`run_experiment` (experiments/) makes its columns itself, and then calls `evaluate`. This package imports quorum.graphs
and the packages below quorum.graphs.
"""
