"""`python -m benchmark` is the command line, and every way to start it says its own name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = "import sys; sys.argv[0] = '/usr/bin/hashbench'; from benchmark.commands import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (["-m", "benchmark"], "python -m benchmark"),
        ([str(ROOT / "run_all.py")], "python run_all.py"),
        (["-c", SCRIPT], "hashbench"),
    ],
)
def test_each_way_to_start_says_its_own_name(start: list[str], name: str, tmp_path: Path) -> None:
    """In the usage line, in the error of a parser, and in an error from deep below that says what to type next."""

    def told(*words: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, *start, *words], cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    assert f"usage: {name} list" in told("list", "--help")[1]
    code, text = told("--frobnicate")
    assert code == 2
    assert f"see '{name} run --help'" in text
    code, text = told("--datasets", "coco", "--data-root", str(tmp_path))
    assert code == 2
    assert f"'{name} prepare coco --data-root {tmp_path}'" in text
