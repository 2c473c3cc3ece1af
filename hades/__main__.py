"""`python -m hades` is the command `hades`."""

from hades.cli import main

main()
