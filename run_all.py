#!/usr/bin/env python3
"""The main job: run the grid, then build the report. `python run_all.py --help`."""

import sys

from benchmark.commands import main

if __name__ == "__main__":
    sys.exit(main())
