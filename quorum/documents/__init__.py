"""Turns files into passages: finds the files, reads them, and splits their text.

Begin with `read`. This package imports only datasets and core.
"""
