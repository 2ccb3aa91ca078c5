"""`python -m quorum`: the command `quorum`, where its script is not on the path."""

from quorum.cli.main import main

if __name__ == "__main__":
    main()
