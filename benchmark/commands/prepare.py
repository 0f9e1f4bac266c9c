"""`run_all.py prepare --datasets NAME`: what a data set has and lacks on disk, then its lists, audit and features.

Everything it makes is kept in the cache, so that it can be interrupted and goes on where it stopped;
`--dry-run` only reports. The work itself is done by the data set, the audit and the feature cache.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from benchmark.commands import arguments
from benchmark.commands.audit import declined_lines
from benchmark.commands.bars import shown_progress
from benchmark.contracts import HashDataset, Splits
from benchmark.data.audit import audit, audit_text
from benchmark.data.cache import cache_dir
from benchmark.data.data_root import PUBLISHED, Piece
from benchmark.data.drawn_lists import CLASS_NAMES, MANIFEST
from benchmark.data.feature_cache import FeatureSource, feature_folder
from benchmark.data.hashing import file_hash
from benchmark.data.list_files import read_list
from benchmark.errors import UsageError
from benchmark.execution.grid import DatasetChoice
from benchmark.execution.told_features import extract_told
from benchmark.registry import get_method
from benchmark.wording import counted

HELP = "say what a data set lacks, build its lists and features"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_names(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)
    parser.add_argument("--lists", type=Path, metavar="DIR", help="also write the drawn lists there, with their hashes")
    parser.add_argument("--download", action="store_true", help="first fetch what torchvision can fetch")
    parser.add_argument("--no-features", action="store_true", help="stop before computing features")
    parser.add_argument("--dry-run", action="store_true", help="only report what is there and what is missing")


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    arguments.method_words(args)  # a word that is none is told before any work
    choices = arguments.dataset_choices(args, arguments.chosen_names(args), check=False)
    for choice in choices if args.download else []:
        if not hasattr(choice.dataset, "opened"):
            raise UsageError(
                f"--download: torchvision cannot fetch {choice.label}; --dry-run tells where it comes from"
            )
    with shown_progress():
        return max(_prepare(choice, args) for choice in choices)


def _prepare(choice: DatasetChoice, args: argparse.Namespace) -> int:
    dataset: Any = choice.dataset
    print(f"{choice.label}: {dataset.title} ({dataset.protocol})")
    if dataset.protocol == "published lists":
        _show_lists(dataset, None)
    else:
        for piece in dataset.pieces() if hasattr(dataset, "pieces") else []:
            print(f"  {piece_line(piece)}")
    if args.download and not args.dry_run and not all(piece.complete for piece in dataset.pieces()):
        dataset.opened(download=True)
    if args.dry_run:
        return _report(dataset)
    dataset.check()
    if dataset.protocol != "published lists":
        _show_lists(dataset, args.lists)
    splits = choice.load()
    found = audit(splits, dataset.map_cutoff, args.allow_overlap)
    print(audit_text(found))
    for line in declined_lines(args, splits.train):
        print(line)
    if found.errors:
        return 1
    if choice.backbone and not args.no_features and _wants_features(args):
        _features(choice, splits)
    return 0


def _wants_features(args: argparse.Namespace) -> bool:
    """Whether a method that was named takes features of the whole backbone; deep ones go their own way."""
    names = arguments.method_words(args)
    return not names or any(get_method(name).info.input == "features" for name in names)


def piece_line(piece: Piece) -> str:
    """One line: what, whether it is there and whole, and where it comes from if not."""
    if piece.found is None:
        return f"missing  {piece.what}: {piece.size}, from {piece.origin}"
    files = "" if piece.files is None else f", {counted(piece.files, 'file')}"
    if piece.complete:
        return f"there    {piece.what}: {piece.found}{files}"
    return f"partial  {piece.what}: {piece.found}{files}, expected {piece.expected:,}; from {piece.origin}"


def _report(dataset: HashDataset) -> int:
    """What a run would say, without doing anything: the first fault, or that all is there."""
    try:
        dataset.check()
    except UsageError as error:
        print(f"  not ready: {error}")
        return 1
    print("  ready")
    return 0


def _show_lists(dataset: Any, target: Path | None) -> None:
    """Each list with its rows and hash; drawn ones are also written to `target`."""
    if not hasattr(dataset, "lists"):
        if target is not None:
            raise UsageError(f"--lists {target}: {dataset.title} has no lists to write; prepare it without --lists")
        return
    files: dict[str, Path] = dataset.lists()
    for part, path in files.items():
        digest = file_hash(path)
        known = PUBLISHED.get(digest[:32])
        verdict = f"as published ({known})" if known else f"sha256 {digest[:16]}..."
        print(f"  list     {part}: {path}, {counted(len(read_list(path)), 'row')}, {verdict}")
    if target is not None:
        _copy_lists(files, target)
        print(f"  written to {target}; read them again by lists:{target}")


def _copy_lists(files: dict[str, Path], target: Path) -> None:
    folder = files["train"].parent
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path in {*files.values(), *folder.glob(CLASS_NAMES), *folder.glob(MANIFEST)}:
            shutil.copyfile(path, target / path.name)
    except OSError as error:
        raise UsageError(f"--lists {target}: lists cannot be written there: {error.strerror or error}") from None


def _features(choice: DatasetChoice, splits: Splits) -> None:
    source = FeatureSource(str(choice.backbone), choice.weights, partial=choice.partial_weights)
    extract_told(choice.dataset, splits, source)
    folder = feature_folder(choice.dataset, splits, source)
    print(f"  features {source.backbone}: {folder.relative_to(cache_dir())} in the cache {cache_dir()}")
