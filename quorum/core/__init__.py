"""The shared vocabulary: state, context, errors, measures on text, data records.

No models here, and no I/O but reading data.
"""
