"""torch is imported when it is first used, and is then torch itself."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_room_costs_no_torch_and_using_it_gives_torch_itself() -> None:
    code = (
        "import sys; import benchmark.deep; from benchmark.deep import torch\n"
        "import benchmark.deep.method, benchmark.deep.trainer, benchmark.deep.assembly, benchmark.deep.network_inputs\n"
        "assert 'torch' not in sys.modules, 'imported'\n"
        "tensor = torch.zeros(2)\n"
        "import torch as real\n"
        "assert type(tensor) is real.Tensor and torch.nn is real.nn\n"
        "assert not hasattr(torch, 'no_such_thing')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
