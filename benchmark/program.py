"""The name we were called by: what help, errors and hints tell people to type. Everybody who says it asks here."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

SCRIPT = "hashbench"  # there however the package was installed, so it is said where nobody typed a name
STARTED_BY = {"run_all.py": "python run_all.py", "__main__.py": "python -m benchmark", SCRIPT: SCRIPT}


def program() -> str:
    """As it is typed: 'python run_all.py', 'hashbench' or 'python -m benchmark'."""
    started = os.path.basename(sys.argv[0]) if sys.argv else ""
    return STARTED_BY.get(started, SCRIPT)


def typed(words: Sequence[object]) -> str:
    """The command line that says these words."""
    return f"{program()} {shlex.join(map(str, words))}".rstrip()
