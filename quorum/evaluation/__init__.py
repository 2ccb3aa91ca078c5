"""Asks questions by several methods, scores, compares and reports the answers.

An evaluation begins with `Options` (run/options.py), which holds the user's options. Each step is a module:

    step         module                      what it makes
    columns      run/columns.py              Column: a method with its settings, model, retriever and prices
    plan         run/plan.py                 Plan: checked columns and questions, and the folder
    estimate     compare/estimated_plan.py   EstimatedPlan: the plan, and what it will take
    run          run/run_plan.py             RunOutcome: the answers. If there is a screening column, it is asked
                                             first, and the other columns are asked only the questions that it did
                                             not answer correctly
    score        run/score.py                Scores: the measures of every column and question, their means,
                                             comparisons
    decide       decisions/decide.py         Decision: the scores, and the recommendation of a method
    report       report/write.py             report.html, report.md, report.csv and questions.csv

`evaluate` (run/evaluate.py) makes columns, plan, run and score; `compare` (comparison.py) does all steps.
`run_experiment` (experiments/) makes its columns itself, and then calls `evaluate`.

The rooms, from the top; each imports only rooms below it, which `make check` tests:

    comparison.py, experiments/, questions/   the ways in, besides run/evaluate.py
    report/                                   what people and LangSmith get of a run
    decisions/                                what follows from recorded results: a recommendation, a cascade, a gate
    watch/                                    whether served answers keep what was promised
    compare/, shown/                          estimates, limits and figures of methods; one answer as people see it
    run/                                      questions -> answers -> scores, with differences from the baseline
    metrics/                                  measures of an answer, prices, statistics

This package imports quorum.graphs and the packages below quorum.graphs.
"""
