"""Words -> calls: the command line, one file per command. Nothing imports from here but run_all.py and `hashbench`."""

from benchmark.commands.main import main

__all__ = ["main"]
