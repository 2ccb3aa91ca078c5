"""Runs the command `quorum` for `python -m quorum`, which also works if the script is not on the path."""

from quorum.cli.main import main

if __name__ == "__main__":
    main()
