"""`run_all.py check FILE`: the promises of a plugin, one line each as they are looked at.

Each method or data set is tried in a process of its own, which is watched: a plugin that ends its process, crashes or
hangs breaks the promise that was being looked at, and says so; it is no pass. What a bad file costs is one line.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.commands import arguments
from benchmark.commands.arguments import assignments
from benchmark.conformance import (
    DATASET_CHECKS,
    METHOD_CHECKS,
    CheckResult,
    Recipe,
    check_dataset,
    check_method,
    promise,
    recipe_of,
)
from benchmark.errors import UsageError
from benchmark.registry import Kind, dataset_class, datasets, load_only, load_plugin, methods, takes_path
from benchmark.unseen import OPTIONS
from benchmark.wording import closest

if TYPE_CHECKING:
    from benchmark.execution.supervise import Ending

HELP = "run the conformance checks on a plugin file: its methods and data sets"
CHECKS: Mapping[str, Any] = {"method": METHOD_CHECKS, "dataset": DATASET_CHECKS}
ANY = "*"  # stands for every data set of the file
POLL_SECONDS = 0.1
TAIL = 10  # lines of a plugin's own output that are shown when it breaks a promise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE", help="a plugin file, or the name of a known method or data set")
    arguments.add_data_root(parser, "for a data set: the folder of its data (default: HASHBENCH_DATA)")
    parser.add_argument("--argument", metavar="PATH", help="for a data set: what stands behind the colon of its name")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="[DATASET.]NAME=VALUE",
        help="for a data set: one of its parameters",
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=300.0, metavar="SECONDS", help="give up on each after so long (300)"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def run(args: argparse.Namespace) -> int:
    request = _request(args)
    found = _supervised(_registered, request, args.timeout)
    if found.status != "ok":
        raise UsageError(f"{args.target} cannot be imported: {found.message}")
    if found.value["error"]:
        raise UsageError(found.value["error"])
    broken = sum(_check_one(Plugin(*row), request, args.timeout) for row in found.value["plugins"])
    print("every promise is kept" if not broken else f"{broken} promise{'s are' if broken > 1 else ' is'} broken")
    return int(broken > 0)


@dataclass(frozen=True)
class Plugin:
    """Something to check: "method" or "dataset", its name and its title."""

    kind: Kind
    name: str
    title: str


@dataclass(frozen=True)
class CheckRequest:
    """All that a process needs to check one plugin."""

    file: Path | None  # else the target is a name
    target: str
    argument: str | None = None
    data_root: Path | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # data set -> option -> value
    environment: Mapping[str, str] = field(default_factory=dict)  # processes are forked from a server with its own
    plugin: Plugin | None = None
    rows: Path | None = None  # where each row is written as soon as it is known


def _request(args: argparse.Namespace) -> CheckRequest:
    """The words, examined: whatever can be said without running the plugin is said here."""
    if args.data_root is not None and not args.data_root.is_dir():
        raise UsageError(f"data root {args.data_root} is not a folder; give the folder that holds the data set")
    root = None if args.data_root is None else args.data_root.resolve()
    path, named = Path(args.target), _is_name(args.target)
    argument = str(Path(args.argument).resolve()) if args.argument and Path(args.argument).exists() else args.argument
    target = args.target
    name, _, given = target.partition(":")
    if named and given and (name not in datasets.names() or takes_path(name)):  # checks run in a folder of their own
        target = f"{name}:{Path(given).resolve()}"
    environment = {name: value for name, value in os.environ.items() if name.startswith("HASHBENCH_")}
    return CheckRequest(None if named else _source(path), target, argument, root, _options(args.option), environment)


def _options(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Data set -> option -> value; under ANY what was said of none by name."""
    full = [word if "." in word.partition("=")[0] else f"{ANY}.{word}" for word in words]
    for word, whole in zip(words, full, strict=True):
        owner, _, name = whole.partition("=")[0].rpartition(".")
        if "=" not in word or not owner or not name:
            raise UsageError(f"--option {word}: expected NAME=VALUE or DATASET.NAME=VALUE")
    found = assignments(full, "DATASET")
    for owner, own in found.items():
        for name in set(own) & set(found.get(ANY, {})) if owner != ANY else ():
            raise UsageError(f"--option {owner}.{name}: {name} is given twice; leave one of them out")
    return found


def _is_name(target: str) -> bool:
    """Whether the word means something registered; a folder may be called like that too."""
    path, word = Path(target), target.partition(":")[0]
    if path.suffix == ".py" or os.sep in word:
        return False
    return not path.exists() or (path.is_dir() and word in (*methods.names(), *datasets.names()))


def _source(path: Path) -> Path:
    """The file, which is one, is Python, and names nothing twice."""
    if not path.exists():
        raise UsageError(f"plugin file {path} does not exist")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, expected a plugin file; name one file of it")
    if not path.is_file():
        raise UsageError(f"{path} is no regular file, expected a plugin file")
    if path.suffix != ".py":
        raise UsageError(f"{path} is not a Python file: its name must end in .py")
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise UsageError(f"{path} line {error.lineno or 1} is not Python: {error.msg}") from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path} cannot be read as Python: {type(error).__name__}: {error}") from None
    _refuse_twins(path, tree)
    return path.resolve()


def _refuse_twins(path: Path, tree: ast.Module) -> None:
    """Two classes of one file under one name: the second would replace the first without a word."""
    seen: dict[tuple[str, str], int] = {}
    for line, kind, name in _registrations(tree):
        first = seen.setdefault((kind, name), line)
        if first != line:
            raise UsageError(f"{path} registers the {kind} '{name}' twice, in lines {first} and {line}; rename one")


def _registrations(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, kind, name) of each register_method("name") and register_dataset("name") above a class."""
    for node in ast.walk(tree):
        for call in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if called in ("register_method", "register_dataset"):
                yield call.lineno, called.removeprefix("register_"), str(call.args[0].value)


# In the processes


def _registered(request: CheckRequest) -> dict[str, Any]:
    """What there is to check, or why there is nothing."""
    os.environ.update(request.environment)
    try:
        found = _of_file(request.file) if request.file else [_of_name(request)]
        _refuse_unused(request, found)
        for name in [name for kind, name, _ in found if kind == "dataset"]:
            _refuse_missing_data(recipe_of(*_recipe(request, name)))
        return {"plugins": found, "error": ""}
    except UsageError as error:
        return {"plugins": [], "error": " ".join(str(error).split())}


def _of_file(file: Path) -> list[tuple[str, str, str]]:
    load_plugin(file)
    known = (("method", methods), ("dataset", datasets))
    found = [(kind, cls.info.name, cls.info.title) for kind, all in known for cls in all if cls.info.source == file]
    if not found:
        raise UsageError(f"{file} registers nothing: put @register_method(...) or @register_dataset(...) above a class")
    return found


def _of_name(request: CheckRequest) -> tuple[str, str, str]:
    name, colon, argument = request.target.partition(":")
    if name in methods.names() and not colon:
        return "method", name, methods.get(name).info.title
    if name in datasets.names():
        info = dataset_class(name, request.data_root).info
        return "dataset", f"{info.name}{colon}{argument}", info.title
    close = closest(name, [*methods.names(), *datasets.names()])
    hint = f"did you mean '{close[0]}'?" if close else "give a plugin file (.py), or a name that `list` shows"
    raise UsageError(f"unknown method or data set '{request.target}': {hint}")


def _refuse_unused(request: CheckRequest, found: list[tuple[str, str, str]]) -> None:
    """Words for a data set where there is none, or none that knows them."""
    classes = [datasets.get(name.partition(":")[0]) for kind, name, _ in found if kind == "dataset"]
    for flag, value in (("--argument", request.argument), ("--option", request.options)):
        if value and not classes:
            raise UsageError(f"{flag} is for data sets, but {request.target} has none")
    for owner, own in request.options.items():
        meant = [cls for cls in classes if owner in _owners(request, cls)]
        if not meant:
            there = ", ".join(cls.info.name for cls in classes)
            raise UsageError(
                f"--option {owner}.{next(iter(own))}: '{owner}' is not checked; {request.target} has {there}"
            )
        known = sorted({parameter for cls in meant for parameter in (*cls.info.parameters, *OPTIONS)})
        for name in set(own) - set(known):
            said = name if owner == ANY else f"{owner}.{name}"
            raise UsageError(f"--option {said}: no such parameter; known: {', '.join(known)}")


def _owners(request: CheckRequest, cls: Any) -> tuple[str, ...]:
    """Who options of this data set may be said to be of: anybody, itself, and the word whose stand-in it is."""
    return ANY, cls.info.name, request.target.partition(":")[0]


def _refuse_missing_data(recipe: Recipe) -> None:
    """What the data set itself says is missing; how else it may fail is for its promises to tell."""
    try:
        recipe.build().check()
    except UsageError:
        raise
    except (Exception, SystemExit):
        return


def _recipe(request: CheckRequest, name: str) -> tuple[Any, str | None, Path | None, dict[str, Any]]:
    """Of one data set: what to build, its argument, the data root, and those of the options that it knows."""
    cls = datasets.get(name.partition(":")[0])
    given = {key: value for owner in _owners(request, cls) for key, value in request.options.get(owner, {}).items()}
    options = {key: value for key, value in given.items() if key in (*cls.info.parameters, *OPTIONS)}
    argument = request.argument if cls.info.takes or request.file is None else None
    return (cls if request.file else name), argument, request.data_root, options


def _checked(request: CheckRequest) -> None:
    """Check one plugin, a line of the file of rows for each promise."""
    os.environ.update(request.environment)
    plugin, file = request.plugin, request.rows
    assert plugin is not None
    assert file is not None
    if request.file is not None:
        load_only(plugin.kind, plugin.name, request.file)

    def report(row: CheckResult) -> None:
        with file.open("a") as rows:
            rows.write(json.dumps(asdict(row)) + "\n")

    if plugin.kind == "method":
        check_method(plugin.name, False, report)
    else:
        what, argument, root, options = _recipe(request, plugin.name)
        check_dataset(what, False, report, argument=argument, data_root=root, options=options)


# In front of them


def _check_one(plugin: Plugin, request: CheckRequest, seconds: float) -> int:
    """Check one plugin in a process of its own, and print; how many promises it breaks."""
    print(f"{plugin.name} ({plugin.title})", flush=True)
    with tempfile.TemporaryDirectory(prefix="hashbench-check-") as folder:
        asked = CheckRequest(**{**vars(request), "plugin": plugin, "rows": Path(folder) / "rows"})
        shown = PrintedRows(Path(folder) / "rows", CHECKS[plugin.kind])
        ending = _supervised(_checked, asked, seconds, Path(folder) / "log", shown)
        if ending.status == "interrupted":
            raise KeyboardInterrupt
        if ending.status != "ok":
            shown.end(ending.message)
        shown.close()
        if shown.broken:
            _print_tail(Path(folder) / "log")
    return shown.broken


class PrintedRows:
    """The rows that a process writes, printed as they come."""

    def __init__(self, path: Path, checks: Any) -> None:
        self.path, self.names = path, [promise(check) for check in checks]
        self.seen = self.broken = self._offset = 0
        self.untested: list[str] = []

    def show(self) -> None:
        """Print what has come since."""
        if not self.path.exists():
            return
        with self.path.open("rb") as rows:
            rows.seek(self._offset)
            for line in rows:
                if not line.endswith(b"\n"):  # still being written
                    break
                self._offset += len(line)
                self._print(CheckResult(**json.loads(line)))

    def end(self, message: str) -> None:
        """The process ended before its time: whose fault, and what was not reached."""
        missing = [*self.names[self.seen :], "ends with a result"]
        self._print(CheckResult(missing[0], False, message))
        self.untested += missing[1:-1]

    def _print(self, row: CheckResult) -> None:
        self.seen += 1
        if not row.tested:
            self.untested.append(row.name)
            return
        message = " ".join(row.message.split())
        print(f"  {'ok    ' if row.kept else 'BROKEN'} {row.name.replace('_', ' ')}  {message}".rstrip(), flush=True)
        self.broken += not row.kept

    def close(self) -> None:
        """Say what was not looked at, because something else is broken."""
        if self.untested:
            print(f"  not tested because of that: {', '.join(self.untested).replace('_', ' ')}")


def _supervised(
    task: Any, request: CheckRequest, seconds: float, log: Path | None = None, rows: PrintedRows | None = None
) -> Ending:
    """The task in a watched process; its rows are printed meanwhile."""
    from benchmark.execution.supervise import Limits, supervise

    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        watched = pool.submit(supervise, task, request, Limits(seconds=seconds), log, stop)
        try:
            while not concurrent.futures.wait([watched], POLL_SECONDS).done:
                if rows is not None:
                    rows.show()
        except BaseException:  # Ctrl-C: the process goes too
            stop.set()
            raise
    if rows is not None:
        rows.show()
    return watched.result()


def _print_tail(log: Path) -> None:
    """The end of what the plugin itself printed; of a crash, where it began."""
    lines = log.read_text(errors="replace").rstrip().splitlines() if log.is_file() else []
    crash = next((number for number, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    shown = lines[-TAIL:] if crash is None else lines[crash : crash + TAIL]
    if shown:
        print("  its own output ended with:")
    for line in shown:
        print(f"    {line[:200]}".rstrip())
