"""Carries out the plan: which cells, when, where; commits what comes back.

Cells run in processes of their own (supervise.py), as many at once as `jobs` says, each with the same number
of threads whatever `jobs` is, so that numbers do not depend on it. joblib's threads hand them out, to processes on
this machine or to a Dask cluster (cluster.py); either way only this side writes to the store.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmark.errors import UsageError
from benchmark.evaluation.metrics import map_name
from benchmark.execution.grid import Cell, DatasetChoice
from benchmark.execution.options import Options, usable_cores
from benchmark.execution.origin import Origin, origin_of
from benchmark.execution.places import check_writable
from benchmark.execution.plan import PlannedCell
from benchmark.execution.progress import Progress, progress
from benchmark.execution.record import CODES, Record
from benchmark.execution.request import Outcome, Request
from benchmark.execution.store import Damaged, Store
from benchmark.execution.supervise import INTERRUPTED, Ending, Flag, Limits, start_server, supervise
from benchmark.execution.training_log import check_log, write_log
from benchmark.execution.worker import Prepared, blank_record, prepare_data, run_cell
from benchmark.registry import datasets, get_method, plugin_file, plugin_of
from benchmark.wording import counted

WAIT_FOR_OTHERS = 0.5  # seconds between looks at cells that another run holds
# task, its argument, limits, log file, flag to stop it -> how it ended
Place = Callable[[Callable[[Any], Any], Any, Limits, Path | None, Flag | None], Ending]


@dataclass
class Summary:
    """What became of the cells that were run."""

    statuses: dict[str, str] = field(default_factory=dict)  # key -> status
    problems: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)  # cells whose score is not the method's, and why
    unkept: list[str] = field(default_factory=list)  # cells whose model was to be kept and was not, and why
    interrupted: bool = False
    gave_up: str = ""  # why no cell could be run any more, if that is so

    @property
    def failed(self) -> int:
        return sum(status not in ("ok", "skipped") for status in self.statuses.values())


def run_cells(
    store: Store,
    options: Options,
    todo: Sequence[PlannedCell],
    without_rows: Sequence[PlannedCell] = (),
    shown: Progress | None = None,
) -> Summary:
    """Run these cells into this store, and show how far it is; see `Run.execute`."""
    check_writable("--results", store.root, "folder")
    with contextlib.nullcontext(shown) if shown else progress(len(todo)) as telling:
        return Run(store, options, telling).execute(todo, without_rows)


def request_for(planned: PlannedCell, store: Store, options: Options) -> Request:
    """The cell as plain data."""
    cell, choice = planned.cell, planned.cell.choice
    return Request(
        key=planned.key,
        identity=cell.identity,
        parts=cell.parts,
        asked=cell.asked,
        dataset=choice.spec,
        data_root=str(choice.data_root.resolve()) if choice.data_root else None,
        dataset_parameters=dict(choice.parameters),
        profile=cell.profile,
        backbone=choice.backbone,
        weights=choice.weights,
        partial_weights=choice.partial_weights,
        plugins=_origins(cell),
        threads=options.threads,
        checkpoint=str(store.checkpoint_path(planned.key).resolve()),
        fold=cell.fold,
        keep_model=options.keep_models and cell.fold is None,
        with_dataset=cell.fold is None and not store.has_dataset(choice.parts["dataset"]["revision"]),
    )


def _origins(cell: Cell) -> tuple[Origin, ...]:
    """Of the method and the data set, and of the data set whose stand-in it is."""
    method, *data = _plugins(cell)
    found = [origin_of("method", method), *(origin_of("dataset", cls) for cls in data)]
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _plugins(cell: Cell) -> tuple[Any, Any, Any]:
    name = cell.choice.spec.partition(":")[0]
    return get_method(cell.method.name), datasets.get(name), plugin_of(cell.choice.dataset)


def plugin_titles(cell: Cell) -> dict[str, str]:
    """What a report must know of a cell's plugins where their files are not given: what is learned from, and which
    files they are, one a line."""
    files = dict.fromkeys(file for file in map(plugin_file, _plugins(cell)) if file)
    return {"needs": cell.method.needs, **({"plugins": "\n".join(files)} if files else {})}


class Run:
    """One run of a plan."""

    def __init__(self, store: Store, options: Options, progress: Progress) -> None:
        self.store, self.options, self.progress = store, options, progress
        self.log = check_log(options.log) if options.log else None
        self.stop = threading.Event()
        self.summary = Summary()
        self._telling = threading.Lock()
        self._gpus: queue.Queue[str] = queue.Queue()
        for gpu in options.gpus:
            self._gpus.put(gpu)

    def execute(self, todo: Sequence[PlannedCell], without_rows: Sequence[PlannedCell] = ()) -> Summary:
        """Run every cell; cells that another run holds are waited for.

        `without_rows` are done cells of whose data set the store has lost the labels and names.
        """
        modules = shared_modules([planned.cell for planned in (*todo, *without_rows)])
        with stopping_on_signals(self.stop), self._somewhere(modules) as (place, at_once, scheduler):
            self.store.sweep()
            self._prepare([*without_rows, *todo], scheduler)
            waiting = list(todo)
            while waiting and not self.stop.is_set():
                waiting = self._pass(waiting, place, at_once)
                if waiting:
                    self.stop.wait(WAIT_FOR_OTHERS)
        self.summary.interrupted = self.stop.is_set() and not self.summary.gave_up
        return self.summary

    @contextmanager
    def _somewhere(self, modules: Sequence[str]) -> Iterator[tuple[Place, int, str | None]]:
        """Where the cells run, how many at once, and the address of the cluster's scheduler."""
        start_server(self.options.threads, modules)
        if self.options.dask is None:
            yield supervise, self.options.cells_at_once, None
            return
        from benchmark.execution.cluster import connect

        with connect(self.options.dask, modules, self.progress.note, self.stop) as cluster:
            workers = counted(cluster.workers, "worker")
            self.progress.note(f"Dask: {counted(cluster.slots, 'cell')} at once on {workers}")
            yield cluster.run, max(self.options.jobs, cluster.slots), cluster.client.scheduler.address

    def _prepare(self, cells: Sequence[PlannedCell], scheduler: str | None) -> None:
        """Audit each data set, and make what its cells share once, before they compete for it; a cluster helps."""
        seen = set()
        for planned in cells:
            cell, choice = planned.cell, planned.cell.choice
            # Without a backbone there are no images: all methods get the features, which are read once.
            own = (cell.method.input, cell.method.takes_training) if choice.backbone else ("features", False)
            need = (choice.spec, choice.backbone, *own)
            if need in seen or self.stop.is_set():
                continue
            seen.add(need)
            self.progress.note(f"preparing {choice.label} for methods on {own[0]}")
            # Features are made while no cell runs, so by all cores, whatever a cell may use.
            request = request_for(planned, self.store, self.options)
            request = replace(request, threads=usable_cores(), scheduler=scheduler)
            step = functools.partial(self._working, f"preparing {choice.label}")
            step("", 0, None)
            ending = supervise(prepare_data, request, Limits(memory=self.options.memory), None, self.stop, step)
            if ending.status == "ok":
                self._prepared(choice, ending.value)
            elif ending.status != "interrupted":  # its cells will tell the same, each in its record
                self.progress.note(f"preparing {choice.label} failed: {ending.message}")

    def _working(self, task: str, what: str, done: int, total: int | None) -> None:
        self.progress.working(f"{task}: {what}" if what else task, done, total)

    def _prepared(self, choice: DatasetChoice, found: Prepared) -> None:
        if found.errors and not self.options.allow_overlap:
            raise UsageError(f"{choice.label}: {'; '.join(found.errors)}")
        for note in found.notes:
            self.progress.note(f"{choice.label}: {note}")
        if found.arrays:
            try:
                self.store.save_dataset(choice.parts["dataset"]["revision"], found.arrays)
            except OSError as error:
                self.progress.note(f"{choice.label}: its labels could not be stored: {error}")

    def _pass(self, cells: Sequence[PlannedCell], place: Place, at_once: int) -> list[PlannedCell]:
        pool = joblib.Parallel(n_jobs=at_once, prefer="threads", return_as="generator_unordered")
        done = pool(joblib.delayed(self._one)(planned, place) for planned in cells)
        return [planned for planned in done if planned is not None]

    def _one(self, planned: PlannedCell, place: Place) -> PlannedCell | None:
        """Run and commit one cell; give it back if another run holds it."""
        if self.stop.is_set():
            return None
        try:
            with self.store.lock(planned.key) as mine:
                if not mine:
                    return planned
                if not self._done_meanwhile(planned):
                    with self._telling:
                        self.progress.started(planned.cell.label)
                    request = request_for(planned, self.store, self.options)
                    self._commit(planned, request, self._outcome(planned.cell, request, place))
        except Exception as error:  # a full disk can strike anywhere; the other cells go on
            self._lost_result(planned, error)
        return None

    def _done_meanwhile(self, planned: PlannedCell) -> bool:
        """Another run may have committed the cell after the plan was made."""
        try:
            record = self.store.read(planned.key)
        except Damaged:
            self.store.set_aside(planned.key)
            return False
        if record is None or record == planned.record or record.status == "interrupted":
            return False
        if not self.store.payload_is_there(record):
            return False
        self._tell(planned, record.status, f"done by another run: {outcome_line(record)}")
        return True

    def _outcome(self, cell: Cell, request: Request, place: Place) -> Outcome:
        log = self.store.log_path(request.key).resolve()
        log.unlink(missing_ok=True)  # of an earlier try
        with self._gpu(cell) as gpu:
            if self.stop.is_set():
                return lost(cell, request, INTERRUPTED)
            limits = Limits(self.options.timeout, self.options.memory, self.options.threads, gpu)
            ending = place(run_cell, request, limits, log, self.stop)
        if ending.kind == "gone":
            self.summary.gave_up = ending.message
            self.stop.set()
        return ending.value if ending.status == "ok" else lost(cell, request, ending)

    @contextmanager
    def _gpu(self, cell: Cell) -> Iterator[str | None]:
        """A GPU for the time of one training, where there are any; on a cluster the workers have their own."""
        if not self.options.gpus or self.options.dask or cell.method.input != "images":
            yield None
            return
        gpu = None
        while gpu is None and not self.stop.is_set():
            with contextlib.suppress(queue.Empty):
                gpu = self._gpus.get(timeout=WAIT_FOR_OTHERS)
        try:
            yield gpu
        finally:
            if gpu is not None:
                self._gpus.put(gpu)

    def _commit(self, planned: PlannedCell, request: Request, outcome: Outcome) -> None:
        record = outcome.record
        record.titles |= plugin_titles(planned.cell)
        if outcome.dataset:
            self.store.save_dataset(record.revision, outcome.dataset)
        if planned.state == "unkept" and self._differs(planned, outcome):
            return
        try:
            self.store.commit(record, outcome.payload, outcome.model)
        except (TypeError, ValueError) as error:
            ending = Ending(status="failed", kind="record", message=f"the result is not plain, finite data: {error}")
            record = lost(planned.cell, request, ending).record
            record.titles |= plugin_titles(planned.cell)
            self.store.commit(record)
        self._log(planned, record)
        self._end_log(record)
        if record.doubts and planned.cell.fold is None:
            self.summary.doubtful.append(f"{planned.cell.label}: {record.doubts}")
        if record.ok and (record.model or {}).get("reason"):
            self.summary.unkept.append(f"{planned.cell.label}: {(record.model or {})['reason']}")
        self._tell(planned, record.status, outcome_line(record))

    def _log(self, planned: PlannedCell, record: Record) -> None:
        """For who watches; what cannot be written there costs the curves, not the cell."""
        if self.log is not None and record.ok and planned.cell.fold is None:
            try:
                with self._telling:
                    write_log(self.log, record)
            except OSError as error:
                self.progress.note(f"{planned.cell.label}: its curves could not be written: {error}")

    def _end_log(self, record: Record) -> None:
        """A method's error is caught where it ran, and printed by nobody; a full disk costs the log, not the cell."""
        told = (record.error or {}).get("traceback")
        if told:
            with contextlib.suppress(OSError):
                self.store.end_log(record.key, told)

    def _differs(self, planned: PlannedCell, outcome: Outcome) -> bool:
        """Whether a cell that ran again for its model came to other codes: what is stored stays, without a model."""
        if planned.record is None or not outcome.record.ok:
            return False
        stored, made = self.store.payload(planned.record), outcome.payload
        names = [name for name in CODES if name in stored] or ["ap"]  # codes may have been dropped
        changed = [name for name in names if not np.array_equal(made[name], stored[name])]
        if changed:
            told = f"trained again it has other {' and '.join(changed).replace('_', ' ')} than the stored ones"
            self.summary.unkept.append(f"{planned.cell.label}: {told}, which stay; replace them by --force")
            self._tell(planned, "ok", f"{told}; the record stays as it is")
        return bool(changed)

    def _tell(self, planned: PlannedCell, status: str, text: str) -> None:
        with self._telling:
            self.summary.statuses[planned.key] = status
            self.progress.finished(planned.cell.label, text)

    def _lost_result(self, planned: PlannedCell, error: Exception) -> None:
        text = f"result could not be stored: {type(error).__name__}: {error}"
        with self._telling:
            self.summary.problems.append(f"{planned.cell.label}: {text}")
        self._tell(planned, "failed", text)


def shared_modules(cells: Sequence[Cell]) -> list[str]:
    """What cells have in common and is worth importing once: the counting kernel for large sets, torch for training."""
    modules = ["benchmark.execution.fork_server"]
    if any(cell.choice.backbone and not cell.choice.dataset.miniature for cell in cells):
        modules.append("benchmark.evaluation.kernel")
    if any(cell.method.input == "images" for cell in cells):
        modules += ["torch", "torch._dynamo", "benchmark.deep.trainer"]  # every optimiser imports _dynamo: seconds
    if any(cell.choice.dataset.miniature for cell in cells):
        modules.append("sklearn.datasets")  # where the miniatures' digits are
    return modules


def lost(cell: Cell, request: Request, ending: Ending) -> Outcome:
    """A record for a cell whose process did not live to write one."""
    record = blank_record(request, cell.method)
    record.status = ending.status
    record.error = {"kind": ending.kind, "message": ending.message, "traceback": ""}
    record.titles["dataset"], record.miniature = cell.choice.dataset.title, cell.choice.dataset.miniature
    return Outcome(record)


def outcome_line(record: Record) -> str:
    """A record in a few words."""
    if record.ok:
        metrics, seconds = record.metrics, seconds_line(record.seconds)
        doubtful = ", DOUBTFUL" if record.doubts else ""  # what to do is told at the end of the run
        doubtful = ", COLLAPSED codes" if record.health.get("collapsed") else doubtful
        name = map_name(record.parts.get("dataset", {}).get("map_cutoff", metrics["k"]))
        if record.cell.get("fold"):  # what `tune` goes by
            return f"{name} over classes {metrics['map_macro']:.4f}{doubtful}, {seconds}"
        return f"{name} {metrics['map']:.4f}{doubtful}, {seconds}"
    error = record.error or {}
    told = f"{record.status}: {error.get('message', '')}".splitlines()[0][:200]
    return f"{told}{last_frame(error.get('traceback', ''))}"


def seconds_line(seconds: Mapping[str, float]) -> str:
    """'119.4 s, 113.0 of them for its data' where these took the most: features that a worker makes are no part of
    the method's time."""
    whole, load = sum(seconds.values()), seconds.get("load", 0.0)
    return f"{whole:.1f} s" + (f", {load:.1f} of them for its data" if load > max(1, whole / 2) else "")


def last_frame(text: str) -> str:
    """' (my.py line 12, in fit)': where a traceback leaves code that is not the suite's own; nothing if nowhere."""
    own = str(Path(__file__).parents[1]) + os.sep
    frames = re.findall(r'^ *File "(.+)", line (\d+), in (.+)$', text, re.MULTILINE)
    others = [frame for frame in frames if not frame[0].startswith(own) or "builtin" in frame[0]]
    return f" ({Path(others[-1][0]).name} line {others[-1][1]}, in {others[-1][2]})" if others else ""


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
