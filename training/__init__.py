"""How the embedded reader and its heads are trained, measured and described: python -m training.reader --help (extra
`train`). Begin with `reader`.

This package is used in a checkout only; it is not installed. What trains FILCO's filters and generators, which users
do, is `quorum.training`.
"""
