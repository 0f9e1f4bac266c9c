"""`run_all.py audit --datasets NAME`: sizes, faults and skew of data sets, and which methods decline them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.contracts import HashDataset, Split
from benchmark.data.list_splits import ListSplits
from benchmark.errors import UsageError
from benchmark.guard import missing
from benchmark.registry import get_method

if TYPE_CHECKING:
    from benchmark.execution.grid import DatasetChoice

HELP = "sizes, faults and skew of data sets"
HASH = re.compile(r"\b[0-9a-f]{16,}\b")  # its beginning says as much; what an author wrote in words is shown whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_names(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.data.audit import audit, audit_text

    arguments.load_plugins(args)
    arguments.method_words(args)  # a word that is none is told before any work
    code = 0
    for choice in arguments.dataset_choices(args, arguments.chosen_names(args), check=False):
        with shown_progress():
            refused = _refused(choice)
            splits = choice.load()
            found = audit(splits, choice.dataset.map_cutoff, args.allow_overlap)
            revision = choice.dataset.revision
        print(f"{choice.label} (revision {HASH.sub(lambda found: found[0][:12], revision)})")
        print(audit_text(found))
        for line in [*refused, *declined_lines(args, splits.train)]:
            print(line)
        code = max(code, int(bool(found.errors)))
    return code


def _refused(choice: DatasetChoice) -> list[str]:
    """What a run would refuse is an error here too, but where there are only lists: they can be audited alone."""
    from benchmark.execution.grid import faults_of_plugins

    try:
        with faults_of_plugins(choice.spec, choice.data_root):
            choice.dataset.check()
    except UsageError as error:
        if not _lists_alone(choice.dataset):
            raise
        return [f"  refused by a run: {error}"]
    return []


def _lists_alone(dataset: HashDataset) -> bool:
    """Whether none of the images that its lists name is there, or no database is listed."""
    splits = getattr(dataset, "splits", None)
    if not isinstance(splits, ListSplits):
        return False
    return bool(splits.database_missing) or not any(path for paths in splits.paths.values() for path in paths)


def declined_lines(args: argparse.Namespace, train: Split) -> Iterator[str]:
    """Of the methods that were named, those that a run would skip on these data, with the code lengths and why."""
    for name in arguments.method_words(args):
        lengths: dict[str, list[int]] = {}
        for bits in args.bits or arguments.BITS:
            reason = _reason(name, train, bits)
            if reason:
                lengths.setdefault(reason, []).append(bits)
        for reason, declined in lengths.items():
            yield f"  declined by {name} at {', '.join(map(str, declined))} bits: {reason}"


def _reason(name: str, train: Split, bits: int) -> str | None:
    """What a method has to say about features can be asked only where the data come with them."""
    cls = get_method(name)
    if cls.info.input == "features" and train.features is None:
        return missing(cls.info, train)
    return cls(bits).unsupported(train, bits)
