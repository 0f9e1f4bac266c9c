"""`run_all.py check FILE`: the promises of a plugin, one line each."""

from __future__ import annotations

import argparse

from benchmark.conformance import check_file

HELP = "run the conformance checks on a method's file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plugin file, or the name of a known method")


def run(args: argparse.Namespace) -> int:
    return check_file(args.file)
