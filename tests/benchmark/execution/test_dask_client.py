"""What is said of a scheduler: nothing while all is well, once what is waited for, and when the end is."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.execution.dask_client import PATIENCE_SECONDS, REMINDER_SECONDS, Lookout


class Client:
    """A client whose scheduler has the workers, and the moods, that a test gives it."""

    def __init__(self) -> None:
        self.status, self.workers = "running", 2
        self.scheduler: Any = self

    def ncores(self) -> None: ...

    def sync(self, function: Any, callback_timeout: float) -> dict[int, int]:
        if self.workers < 0:
            raise TimeoutError
        return dict.fromkeys(range(self.workers), 1)


def test_a_lookout_says_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """D."""
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    client, said = Client(), []
    lookout = Lookout(client, "tcp://here:1", said.append)

    def after(seconds: float) -> list[str]:
        """What is said if it looks now, and again after these seconds."""
        nonlocal now
        said.clear()
        lookout.look()
        now += seconds
        lookout.look()
        return list(said)

    assert after(3600) == []
    client.workers = 0
    assert after(PATIENCE_SECONDS - 1) == []
    assert after(1) == [
        f"no Dask worker for {PATIENCE_SECONDS} s: waiting; Ctrl-C stops, or start workers: dask worker tcp://here:1"
    ]
    assert after(REMINDER_SECONDS - 1) == []
    assert len(after(1)) == 1
    client.workers = 3
    assert after(1) == ["Dask: going on with 3 workers"]
    client.workers = -1
    assert after(PATIENCE_SECONDS) == [
        f"the Dask scheduler at tcp://here:1 has not answered for {PATIENCE_SECONDS} s: waiting; Ctrl-C stops"
    ]
    client.status = "connecting"
    assert after(1) == ["lost the Dask scheduler at tcp://here:1: trying to reach it again for 30 s"]
    assert lookout.gone == ""
    client.status = "closed"
    assert after(1) == []
    assert lookout.gone == "the Dask scheduler at tcp://here:1 is gone"
