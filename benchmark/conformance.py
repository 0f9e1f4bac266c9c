"""What every plugin must satisfy, as a list of small named promises any author can check.

`python run_all.py check my_method.py` prints one line each; `check_method(cls)` returns the rows and raises at
the first broken promise unless told not to; `METHOD_CHECKS` gives pytest one id each.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.contracts import Split
from benchmark.errors import UsageError
from benchmark.evaluation.codes import check_codes
from benchmark.evaluation.metrics import evaluate
from benchmark.registry import get_method, load_plugin, methods

BIT_LENGTHS = (1, 12, 16, 48)
CLASSES, PER_CLASS, DIMENSION = 4, 40, 64


class Broken(AssertionError):
    """A promise that a plugin does not keep."""


@dataclass(frozen=True)
class CheckResult:
    """One promise: kept, broken, or not applicable with the reason."""

    name: str
    kept: bool
    message: str = ""


def easy_data(seed: int = 0) -> tuple[Split, Split]:
    """Well-separated clusters, as (train, query): what any method that works can tell apart."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((CLASSES, DIMENSION)) * 2
    labels = np.repeat(np.arange(CLASSES), PER_CLASS)

    def split() -> Split:
        noise = generator.standard_normal((len(labels), DIMENSION))
        return Split(features=(centres[labels] + noise).astype(np.float32), labels=labels)

    return split(), split()


def build(cls: Any, bits: int = 16, seed: int = 1) -> Any:
    """An instance; deep methods get a short training."""
    if "training" not in inspect.signature(cls).parameters:
        return cls(bits, seed)
    from benchmark.deep.profile import Training

    return cls(bits, seed, training=Training(train="hash", steps=60, batch=32, learning_rate=0.01, device="cpu"))


def fitted(cls: Any, bits: int = 16, seed: int = 1) -> tuple[Any, Split]:
    """A fitted instance and the queries, seen as the runner would show them."""
    train, query = easy_data()
    return build(cls, bits, seed).fit(_shown(cls, train)), _shown(cls, query, "nothing")


def _shown(cls: Any, split: Split, needs: Any = None) -> Split:
    return split.visible(cls.info.input, needs or cls.info.needs)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Broken(message)


# The promises of a method


def check_codes_are_plus_minus_one(cls: Any) -> None:
    """encode returns (n, bits) codes over {-1, +1}, as int8."""
    method, query = fitted(cls)
    codes = method.encode(query)
    check_codes(codes, bits=16, rows=len(query))
    _require(codes.dtype == np.int8, f"codes are {codes.dtype}, expected int8")


def check_every_bit_length(cls: Any) -> None:
    """Any number of bits works, or is declined with a reason."""
    train, query = easy_data()
    for bits in BIT_LENGTHS:
        method = build(cls, bits)
        declines = getattr(method, "unsupported", None)
        if declines and declines(_shown(cls, train), bits):
            continue
        codes = method.fit(_shown(cls, train)).encode(_shown(cls, query, "nothing"))
        check_codes(codes, bits=bits, rows=len(query))


def check_fit_returns_self(cls: Any) -> None:
    """fit returns the method, so that calls can be chained."""
    method = build(cls)
    _require(method.fit(_shown(cls, easy_data()[0])) is method, "fit does not return self")


def check_single_row(cls: Any) -> None:
    """One row can be encoded, and no row gives no code."""
    method, query = fitted(cls)
    check_codes(method.encode(query.take(np.array([3]))), bits=16, rows=1)


def check_encode_ignores_batch_and_order(cls: Any) -> None:
    """A row's code depends on the row alone: not on its neighbours or its place."""
    method, query = fitted(cls)
    codes = method.encode(query)
    order = np.random.default_rng(0).permutation(len(query))
    _require(np.array_equal(method.encode(query.take(order)), codes[order]), "codes change with the order of rows")
    part = np.arange(0, len(query), 7)
    _require(np.array_equal(method.encode(query.take(part)), codes[part]), "codes change with the batch")


def check_encode_twice_is_the_same(cls: Any) -> None:
    """encode changes nothing."""
    method, query = fitted(cls)
    _require(np.array_equal(method.encode(query), method.encode(query)), "encoding twice gives two results")


def check_read_only_input(cls: Any) -> None:
    """Arrays that must not be written to are accepted."""
    train, query = (_frozen(split) for split in easy_data())
    build(cls).fit(_shown(cls, train)).encode(_shown(cls, query, "nothing"))


def _frozen(split: Split) -> Split:
    for array in (split.features, split.labels):
        if array is not None:
            array.flags.writeable = False
    return split


def check_input_untouched(cls: Any) -> None:
    """Neither fit nor encode changes what it is given."""
    train, query = easy_data()
    given: list[Any] = [train.features, train.labels, query.features]
    before = [np.array(array) for array in given]
    build(cls).fit(_shown(cls, train)).encode(_shown(cls, query, "nothing"))
    _require(all(np.array_equal(a, b) for a, b in zip(before, given, strict=True)), "an input array was changed")


def check_global_random_state_untouched(cls: Any) -> None:
    """The global generators of random, numpy and torch are left as they were."""
    fitted(cls)  # whatever is imported lazily is imported now
    random.random(), np.random.random()  # so that seeding with the same number again is noticed too
    before = _random_state()
    fitted(cls)
    _require(_random_state() == before, "a global random generator was used or reseeded; use one of your own")


def _random_state() -> str:
    state = repr(random.getstate()) + repr(np.random.get_state(legacy=False))
    if "torch" in sys.modules:
        state += hashlib.sha256(sys.modules["torch"].get_rng_state().numpy().tobytes()).hexdigest()
    return hashlib.sha256(state.encode()).hexdigest()


def check_same_seed_same_codes(cls: Any) -> None:
    """The same seed gives the same codes, and refitting forgets what was learned before."""
    method, query = fitted(cls)
    codes = method.encode(query)
    again, _ = fitted(cls)
    _require(np.array_equal(codes, again.encode(query)), "the same seed gave different codes")
    train = _shown(cls, easy_data()[0])
    _require(np.array_equal(codes, method.fit(train).encode(query)), "fitting again gave different codes")


def check_same_seed_same_codes_in_a_fresh_process(cls: Any) -> None:
    """... in another process too: nothing depends on hash order or on what ran before."""
    if cls.info.source is None:
        return
    method, query = fitted(cls)
    here = hashlib.sha256(method.encode(query).tobytes()).hexdigest()
    lines = [
        "import sys, hashlib",
        "from benchmark import conformance",
        "conformance.load_plugin(sys.argv[1])",
        "method, query = conformance.fitted(conformance.methods.get(sys.argv[2]))",
        "print(hashlib.sha256(method.encode(query).tobytes()).hexdigest())",
    ]
    command = [sys.executable, "-c", "\n".join(lines), str(cls.info.source), cls.info.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    _require(done.returncode == 0, f"a fresh process failed: {done.stderr.strip().splitlines()[-1:]}")
    _require(done.stdout.split()[-1:] == [here], "a fresh process gave different codes for the same seed")


def check_unfitted_error(cls: Any) -> None:
    """encode before fit is an error that says so."""
    try:
        build(cls).encode(_shown(cls, easy_data()[1], "nothing"))
    except Exception as error:
        _require("fit" in str(error).lower(), f"the error does not say to call fit first: {error!r}")
    else:
        raise Broken("encoding before fit gave codes; raise an error that says to call fit first")


def check_works_on_what_it_declared(cls: Any) -> None:
    """Given only what it declared (`input`, `needs`), it fits; given the rest withheld, it never asks for more."""
    train, _ = easy_data()
    seen = _shown(cls, train)
    _require((seen.labels is not None) == (cls.info.needs == "labels"), "labels are not withheld")
    build(cls).fit(seen)


def check_no_codes_of_its_own_class_attributes(cls: Any) -> None:
    """Two instances do not share what they learned."""
    first, query = fitted(cls, seed=1)
    codes = first.encode(query)
    train = easy_data(5)[0]
    build(cls, seed=2).fit(_shown(cls, train))
    _require(np.array_equal(codes, first.encode(query)), "fitting another instance changed this one")


def check_can_be_copied(cls: Any) -> None:
    """A deep copy of a fitted method encodes the same."""
    method, query = fitted(cls)
    twin = copy.deepcopy(method)
    _require(np.array_equal(method.encode(query), twin.encode(query)), "a copy encodes differently")


def check_better_than_random(cls: Any) -> None:
    """On well-separated clusters the codes retrieve better than random codes. (Controls are exempt.)"""
    if cls.info.family == "control":
        return
    train, query = easy_data()
    method = build(cls, 32).fit(_shown(cls, train))
    codes = [method.encode(_shown(cls, split, "nothing")) for split in (query, train)]
    found = evaluate(codes[0], codes[1], query.labels, train.labels, k=len(train)).map
    _require(found > 1.3 / CLASSES, f"MAP {found:.3f} on an easy problem where chance is {1 / CLASSES:.3f}")


METHOD_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_codes_are_plus_minus_one,
    check_every_bit_length,
    check_fit_returns_self,
    check_single_row,
    check_encode_ignores_batch_and_order,
    check_encode_twice_is_the_same,
    check_read_only_input,
    check_input_untouched,
    check_global_random_state_untouched,
    check_same_seed_same_codes,
    check_same_seed_same_codes_in_a_fresh_process,
    check_unfitted_error,
    check_works_on_what_it_declared,
    check_no_codes_of_its_own_class_attributes,
    check_can_be_copied,
    check_better_than_random,
)


# The promises of a data set


def check_revision_is_stable(dataset: Any) -> None:
    """Reading the revision twice gives the same text, and it is not empty."""
    _require(bool(dataset.revision) and dataset.revision == dataset.revision, "the revision is empty or changes")


def check_splits_agree(dataset: Any) -> None:
    """Query and database are labelled in the same classes; no part is empty; MAP has a cut-off."""
    splits = dataset.load()
    for name, split in splits.parts().items():
        _require(len(split) > 0, f"{name} is empty")
    _require(
        splits.query.labels is not None and splits.database.labels is not None,
        "query or database lacks labels",
    )
    widths = {name: s.labels.shape[1] for name, s in splits.parts().items() if s.labels is not None}
    _require(len(set(widths.values())) == 1, f"label widths differ: {widths}")
    _require(dataset.map_cutoff >= 1, f"map_cutoff is {dataset.map_cutoff}")


def check_audit_has_no_errors(dataset: Any) -> None:
    """No query is in the database."""
    from benchmark.data.audit import audit

    errors = audit(dataset.load(), dataset.map_cutoff).errors
    _require(not errors, "; ".join(map(str, errors)))


def check_images_are_rgb(dataset: Any) -> None:
    """Where there are images they decode to (height, width, 3) uint8; where not, there are finite features."""
    split = dataset.load().query
    if split.images is None:
        _require(split.features is not None and bool(np.isfinite(split.features).all()), "features are not finite")
        return
    image = split.images[0]
    good = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
    _require(good, f"image 0 is {image.dtype} {image.shape}, expected uint8 (height, width, 3)")


DATASET_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_revision_is_stable,
    check_splits_agree,
    check_audit_has_no_errors,
    check_images_are_rgb,
)


# Running them


def check_method(cls: Any, raise_first: bool = True) -> list[CheckResult]:
    """Run every check on a method's class, or on the name of a registered one."""
    cls = get_method(cls) if isinstance(cls, str) else cls
    if not hasattr(cls, "info"):
        raise UsageError(f"{cls!r} is not registered: put @register_method(...) above the class")
    return _run_checks(METHOD_CHECKS, cls, raise_first)


def check_dataset(dataset: Any, raise_first: bool = True) -> list[CheckResult]:
    """Run every check on a data set."""
    return _run_checks(DATASET_CHECKS, dataset, raise_first)


def _run_checks(checks: Any, plugin: Any, raise_first: bool) -> list[CheckResult]:
    results = []
    for check in checks:
        name = check.__name__.removeprefix("check_")
        try:
            check(plugin)
            results.append(CheckResult(name, True))
        except (Exception, SystemExit) as error:
            if raise_first:
                raise
            results.append(CheckResult(name, False, f"{type(error).__name__}: {error}"))
    return results


def check_file(target: str) -> int:
    """The `check` command: a plugin file, or the name of a known method. 0 when every promise is kept."""
    if target.endswith(".py") or Path(target).exists():
        path = Path(target).resolve()
        load_plugin(path)
        classes = [cls for cls in methods if cls.info.source == path]
        if not classes:
            raise UsageError(f"{target} registers no method: put @register_method(...) above the class")
    else:
        classes = [get_method(target)]
    broken = 0
    for cls in classes:
        print(f"{cls.info.name} ({cls.info.title})")
        for row in check_method(cls, raise_first=False):
            print(f"  {'ok    ' if row.kept else 'BROKEN'} {row.name.replace('_', ' ')}  {row.message}".rstrip())
            broken += not row.kept
    print("every promise is kept" if not broken else f"{broken} promises are broken")
    return int(broken > 0)
