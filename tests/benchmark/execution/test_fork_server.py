"""What the server of forks imports: enough for every cell, and nothing that a cell should do for itself."""

from __future__ import annotations

import subprocess
import sys


def test_no_plugin_thread_torch_or_random_number_is_shared_by_cells() -> None:
    code = (
        "import threading, numpy as np, sys; before = np.random.get_state()[1].tolist()\n"
        "import benchmark.execution.fork_server\n"
        "from benchmark.registry import datasets, methods\n"
        "assert not methods._plugins and not datasets._plugins, 'plugins'\n"
        "assert threading.active_count() == 1, 'threads'\n"
        "assert 'torch' not in sys.modules, 'torch'\n"
        "assert np.random.get_state()[1].tolist() == before, 'random state'\n"
        "assert {'scipy.linalg', 'benchmark.execution.worker'} <= set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
