"""The runs API: questions to several methods at once, whose events are kept in a file and can be read again.

`routes` serves it, `run_service` holds the runs in progress, `run_folder` the files of all runs, `export` reads them.
"""
