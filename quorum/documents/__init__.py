"""Turns files into passages: finds the files, reads them, and splits their text.

Begin with `read`. Imports datasets and core.
"""
