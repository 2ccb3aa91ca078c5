"""Runs work on many processes and machines with Ray (extra `ray`): `--engine ray` of the commands.

Begin with `ray_cluster`. This package imports only quorum.core.
"""
