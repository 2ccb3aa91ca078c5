"""Attacks Quorum in ten ways, many times each, and counts what does not hold: python -m benchmarks.attacks"""
