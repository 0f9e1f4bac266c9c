"""The same once more in a fresh process, and the hashes that the two are compared by."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark.conformance.verdicts import Broken

ANSWER = "answer: "  # what a plugin prints in a fresh process is not mistaken for its answer


def in_a_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a new interpreter; it must be a module's own, and give plain data."""
    answer = (
        "import json, pickle, sys; function, arguments = pickle.load(sys.stdin.buffer); "
        f"print('\\n{ANSWER}' + json.dumps(function(*arguments)))"
    )
    found = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}  # the working directory may be any
    done = subprocess.run(
        [sys.executable, "-c", answer],
        input=pickle.dumps((function, arguments)),
        capture_output=True,
        env=os.environ | found,
        check=False,
    )
    last = [*done.stdout.decode(errors="replace").splitlines()[-1:], ""][0]
    if done.returncode == 0 and last.startswith(ANSWER):
        return json.loads(last.removeprefix(ANSWER))
    told = [*done.stderr.decode(errors="replace").strip().splitlines()[-1:], "it gave no answer"][0]
    raise Broken(f"a fresh process ended with code {done.returncode}: {told}")


def loadable(plugin: Any) -> bool:
    """Whether another process can load a registered class: not one that was typed in, nor one of the script that is
    running, which would run again from its start, and so in every process anew."""
    return plugin.info.source is not None and plugin.__module__ != "__main__"


def digest_of(array: np.ndarray) -> str:
    """Hash of an array: its type, its shape and what it holds."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()
