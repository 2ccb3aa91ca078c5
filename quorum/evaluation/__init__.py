"""Asks questions by several methods, scores, compares and reports the answers. Each step is a module:

    Options  run/options.py         the user's options, read once
      -> columns   run/columns.py       Column: a method with its settings, model, retriever and prices
      -> plan      run/plan.py          Plan: checked columns and questions, the folder, an estimate
      -> run       run/run_plan.py      RunOutcome: the answers. If there is a screening column, it is asked
                                        first, and the others are asked only what it did not answer correctly
      -> score     run/score.py         Scores: one table of columns and questions
      -> decide    compare/decide.py    Decision: figures, comparisons, the recommendation
      -> report    report/write.py      html, md and csv

`evaluate` (run/evaluate.py) ends with the scores, `compare` (compare/compare.py) with the report; `run_experiment`
(experiments/) makes its own columns. This package imports quorum.graphs and the packages below it.
"""
