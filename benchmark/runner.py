"""Carries out the plan: which cells, when, where; commits what comes back.

Cells run in processes of their own (supervise.py), as many at once as `jobs` says, each with the same number
of threads whatever `jobs` is, so that numbers do not depend on it. joblib's threads hand them out on this
machine, a Dask client on a cluster; either way only this side writes to the store.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib

from benchmark.errors import UsageError
from benchmark.plan import Cell, PlannedCell
from benchmark.progress import Progress
from benchmark.store import Damaged, Store
from benchmark.supervise import Ending, Limits, start_server, supervise
from benchmark.worker import Outcome, Request, blank_record, prepare_data, run_cell

WAIT_FOR_OTHERS = 2.0  # seconds between looks at cells that another run holds


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what."""

    jobs: int = 1
    threads: int = 1
    timeout: float | None = None
    memory: int | None = None
    plugins: Sequence[str] = ()
    gpus: Sequence[str] = ()
    force: bool = False
    allow_overlap: bool = False
    dask: str | None = None

    def limits(self, slot: int = 0) -> Limits:
        gpu = self.gpus[slot % len(self.gpus)] if self.gpus else None
        return Limits(self.timeout, self.memory, self.threads, gpu)


@dataclass
class Summary:
    """What became of the cells that were run."""

    statuses: dict[str, str] = field(default_factory=dict)  # label -> status
    problems: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def failed(self) -> int:
        return sum(status not in ("ok", "skipped") for status in self.statuses.values())


def request_for(planned: PlannedCell, store: Store, options: Options) -> Request:
    """The cell as plain data."""
    cell, choice = planned.cell, planned.cell.choice
    return Request(
        key=planned.key,
        identity=cell.identity,
        parts=cell.parts,
        dataset=choice.spec,
        data_root=str(choice.data_root.resolve()) if choice.data_root else None,
        dataset_parameters=dict(choice.parameters),
        profile=cell.profile,
        backbone=choice.backbone,
        weights=choice.weights,
        partial_weights=choice.partial_weights,
        plugins=tuple(options.plugins),
        threads=options.threads,
        checkpoint=str(store.checkpoint_path(planned.key).resolve()),
        with_dataset=not store.has_dataset(choice.dataset.revision),
    )


class Run:
    """One run of a plan on this machine."""

    def __init__(self, store: Store, options: Options, progress: Progress) -> None:
        self.store, self.options, self.progress = store, options, progress
        self.stop = threading.Event()
        self.summary = Summary()
        self._slots = list(range(options.jobs))
        self._slot_lock = threading.Lock()

    def execute(self, todo: Sequence[PlannedCell]) -> Summary:
        """Run every cell; cells that another run holds are waited for."""
        with_torch = any(planned.cell.method.input == "images" for planned in todo)
        start_server(self.options.threads, with_torch)
        with stopping_on_signals(self.stop):
            self._prepare(todo)
            waiting = list(todo)
            while waiting and not self.stop.is_set():
                waiting = self._pass(waiting)
                if waiting:
                    time.sleep(WAIT_FOR_OTHERS)
        self.summary.interrupted = self.stop.is_set()
        return self.summary

    def _prepare(self, todo: Sequence[PlannedCell]) -> None:
        """Audit each data set, and make what its cells share once, before they compete for it."""
        seen = set()
        for planned in todo:
            cell = planned.cell
            need = (cell.choice.spec, cell.choice.backbone, cell.method.input)
            if need in seen or self.stop.is_set():
                continue
            seen.add(need)
            self.progress.note(f"preparing {cell.choice.dataset.name} for methods on {cell.method.input}")
            request = request_for(planned, self.store, self.options)
            ending = supervise(prepare_data, request, Limits(memory=self.options.memory), stop=self.stop)
            if ending.status == "ok" and ending.value and not self.options.allow_overlap:
                raise UsageError(f"{cell.choice.dataset.name}: {'; '.join(ending.value)}")

    def _pass(self, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
        pool = joblib.Parallel(n_jobs=self.options.jobs, prefer="threads", return_as="generator_unordered")
        done = pool(joblib.delayed(self._one)(planned) for planned in cells)
        return [planned for planned in done if planned is not None]

    def _one(self, planned: PlannedCell) -> PlannedCell | None:
        """Run and commit one cell; give it back if another run holds it."""
        if self.stop.is_set():
            return None
        with self.store.lock(planned.key) as mine:
            if not mine:
                return planned
            if self._done_meanwhile(planned):
                self.progress.finished(planned.cell.label, "done by another run")
                return None
            self.progress.started(planned.cell.label)
            with self._slot() as slot:
                outcome = self._outcome(planned, slot)
            self._finish(planned.cell, outcome)
        return None

    @contextmanager
    def _slot(self) -> Iterator[int]:
        with self._slot_lock:
            slot = self._slots.pop(0)
        try:
            yield slot
        finally:
            with self._slot_lock:
                self._slots.insert(0, slot)

    def _done_meanwhile(self, planned: PlannedCell) -> bool:
        """Another run may have committed the cell after the plan was made."""
        if self.options.force or planned.state == "failed":
            return False  # asked for again on purpose
        try:
            record = self.store.read(planned.key)
        except Damaged:
            return False
        return record is not None and record["status"] in ("ok", "skipped")

    def _outcome(self, planned: PlannedCell, slot: int) -> Outcome:
        request = request_for(planned, self.store, self.options)
        log = self.store.log_path(planned.key).resolve()
        ending = supervise(run_cell, request, self.options.limits(slot), log, self.stop)
        return ending.value if ending.status == "ok" else lost(planned.cell, request, ending)

    def _finish(self, cell: Cell, outcome: Outcome) -> None:
        record = outcome.record
        self.summary.statuses[cell.label] = record["status"]
        try:
            if outcome.dataset:
                self.store.save_dataset(record["dataset_revision"], outcome.dataset)
            self.store.commit(record, outcome.payload)
        except OSError as error:
            self.summary.statuses[cell.label] = "failed"
            self.summary.problems.append(f"{cell.label}: result could not be stored: {error}")
        self.progress.finished(cell.label, told(record))


def lost(cell: Cell, request: Request, ending: Ending) -> Outcome:
    """A record for a cell whose process did not live to write one."""
    record = blank_record(request, cell.method)
    record["status"] = ending.status
    record["error"] = {"kind": ending.kind, "message": ending.message, "traceback": ""}
    record["titles"]["dataset"], record["miniature"] = (
        cell.choice.dataset.title,
        cell.choice.dataset.miniature,
    )
    return Outcome(record)


def told(record: dict[str, Any]) -> str:
    """A record in a few words."""
    if record["status"] == "ok":
        metrics, seconds = record["metrics"], sum(record["seconds"].values())
        collapsed = ", COLLAPSED codes" if record["health"].get("collapsed") else ""
        return f"MAP@{metrics['k']} {metrics['map']:.4f}{collapsed}, {seconds:.1f} s"
    error = record["error"] or {}
    return f"{record['status']}: {error.get('message', '')}".splitlines()[0][:200]


def visible_gpus() -> list[str]:
    """The CUDA devices cells may be given, one each; asked without importing torch."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [part for part in named.split(",") if part.strip()]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number, _ in enumerate(folder.iterdir())] if folder.is_dir() else []


@contextmanager
def stopping_on_signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM let the commit in hand finish; a second one ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(number: int, frame: Any) -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
