"""Runs the command `quorum` for `python -m quorum`, which also works if the script `quorum` is not on the PATH."""

from quorum.cli.main import main

if __name__ == "__main__":
    main()
