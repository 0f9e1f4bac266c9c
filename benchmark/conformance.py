"""What every plugin must satisfy, as a list of small named promises that any author can check.

On the command line, `python run_all.py check my_plugin.py` prints one line per promise. In Python, `check_method(cls)`
and `check_dataset(cls or instance or name)` return the rows and raise at the first broken promise unless told not to.
In an author's own tests, one pytest id per promise, with what is slow (fitting, loading) done once for all of them:

    from benchmark.conformance import METHOD_CHECKS, MethodTrial

    @pytest.fixture(scope="module")
    def trial():
        return MethodTrial(MyMethod)

    @pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
    def test_my_method(trial, check):
        check(trial)

and the same with `DATASET_CHECKS` and `DatasetTrial("my-data", data_root=...)`. A check returns None, or the reason why
it does not apply; it raises `Broken` (or what the plugin raised), or `Untested` where another promise, broken, leaves
nothing to look at.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.contracts import HashDataset, Split, Splits
from benchmark.errors import UsageError
from benchmark.evaluation.codes import check_codes
from benchmark.evaluation.metrics import evaluate
from benchmark.registry import datasets, get_dataset, get_method, load_plugin

BITS = 16  # what most promises are tested with, unless the method declines it
BIT_LENGTHS = (1, 12, 16, 48)
OTHER_LENGTHS = (8, 24, 32, 64, 128)  # tried where all of the above are declined
CLASSES, PER_CLASS, DIMENSION, SIDE = 4, 40, 64, 32
SAMPLED, DECODED = 64, 5  # rows and images of a split that are compared; enough to tell, and quick on a million
COPIED_FILES, COPIED_BYTES = 5000, 64 << 20  # data up to this size are copied, to see what a change of them does
ANSWER = "answer: "  # what a plugin prints in a fresh process is not mistaken for its answer
ALTERED = 20  # files that are changed, one at a time, until one is found that rows are made of
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


class Broken(AssertionError):
    """A promise that a plugin does not keep."""


class Untested(AssertionError):
    """A promise that cannot be looked at, because another one is broken."""


@dataclass(frozen=True)
class CheckResult:
    """One promise: kept (a message says why it did not apply), broken, or not tested because another is broken."""

    name: str
    kept: bool
    message: str = ""
    tested: bool = True


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Broken(message)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# The data that methods are tried on


def easy_data(seed: int = 0, images: bool = False) -> tuple[Split, Split]:
    """Well-separated classes in no order, as (train, query): what any method that works can tell apart."""
    generator = np.random.default_rng(seed)
    make = _easy_images if images else _easy_features
    centres = generator.standard_normal((CLASSES, DIMENSION)) * 2

    def split() -> Split:
        labels = generator.permutation(np.repeat(np.arange(CLASSES), PER_CLASS))
        return make(labels, centres, generator)

    return split(), split()


def _easy_features(labels: np.ndarray, centres: np.ndarray, generator: np.random.Generator) -> Split:
    noise = generator.standard_normal((len(labels), DIMENSION))
    return Split(features=(centres[labels] + noise).astype(np.float32), labels=labels)


def _easy_images(labels: np.ndarray, centres: np.ndarray, generator: np.random.Generator) -> Split:
    """Noise on a colour gradient: red, green, blue downwards, or all of them to the right."""
    from benchmark.data.images import ImageArrays

    ramp = np.linspace(0, 150, SIDE)
    pictures = np.zeros((CLASSES, SIDE, SIDE, 3))
    for channel in range(3):
        pictures[channel, :, :, channel] = ramp[:, None]
    pictures[3] = ramp[None, :, None]
    noise = generator.integers(0, 80, (len(labels), SIDE, SIDE, 3))
    return Split(images=ImageArrays((pictures[labels] + noise).astype(np.uint8)), labels=labels)


def _arrays(split: Split) -> dict[str, np.ndarray]:
    """The arrays that a split is made of, by name."""
    named = {"features": split.features, "labels": split.labels, "images": getattr(split.images, "array", None)}
    return {name: array for name, array in named.items() if isinstance(array, np.ndarray)}


def _same_rows(one: Split, other: Split) -> bool:
    """Whether features, labels and images are the same; what a split shows of its images need not be an array."""

    def parts(split: Split) -> list[Any]:
        images = split.images
        return [split.features, split.labels, images and [images[row] for row in range(len(images))]]

    pairs = zip(parts(one), parts(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs if a is not None or b is not None)


def _frozen(split: Split) -> Split:
    for array in _arrays(split).values():
        array.flags.writeable = False
    return split


# What the promises of one method share


@dataclass
class _Repeat:
    """A second instance of the same bits and seed: its codes, and whether the global random state survived it."""

    method: Any
    codes: np.ndarray
    state_kept: bool


class MethodTrial:
    """A method's class with the data it is shown, and with instances that are fitted once for all promises.

    Every call gets rows of its own, so that a method that writes into them spoils nobody else's.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = get_method(cls) if isinstance(cls, str) else cls
        if not hasattr(self.cls, "info"):
            raise UsageError(f"{cls!r} is not registered: put @register_method(...) above the class")
        self._attempts: dict[Any, tuple[Any, Exception | SystemExit | None]] = {}

    @property
    def _configurable(self) -> bool:
        return "training" in inspect.signature(self.cls).parameters

    @cached_property
    def images(self) -> bool:
        """Whether it is tried on images: where it takes them, unless it works on their features as well."""
        if self.cls.info.input != "images":
            return False
        return not self._configurable or self.declined(BITS, images=False) is not None

    def build(self, bits: int, seed: int = 1, images: bool | None = None) -> Any:
        """An instance; one that can be configured gets a short training, for images on a small random backbone."""
        if not self._configurable:
            return self.cls(bits, seed)
        from benchmark.deep.profile import Training

        short = Training(train="hash", steps=60, batch=32, learning_rate=0.01, device="cpu")
        if self.images if images is None else images:
            short = replace(short, backbone="squeezenet1_1", weights="random", resize=SIDE, crop=SIDE)
            short = replace(short, learning_rate=0.001)  # it gives eight times as many features
        return self.cls(bits, seed, training=short)

    def built(self, bits: int) -> Any:
        """An instance to ask, not to fit."""
        return self._once(f"building with {bits} bits", lambda: self.build(bits, images=False))

    def shown(self, split: Split, needs: Any = None) -> Split:
        """What the runner would show of these rows."""
        return split.visible(self.cls.info.input, needs or self.cls.info.needs)

    def train(self) -> Split:
        """Training rows as the runner would show them."""
        return self.shown(easy_data(images=self.images)[0])

    def query(self) -> Split:
        """Rows to encode as the runner would show them: without labels."""
        return self.shown(easy_data(images=self.images)[1], "nothing")

    def declined(self, bits: int, images: bool | None = None) -> Any:
        """What `unsupported` says of so many bits: the reason, or None."""
        images = self.images if images is None else images
        declines, train = getattr(self.built(bits), "unsupported", None), self.shown(easy_data(images=images)[0])
        if declines is None:
            return None
        return self._once(f"unsupported({bits} bits, images={images})", lambda: declines(train, bits))

    @cached_property
    def lengths(self) -> list[int]:
        """The bit lengths that it is tried with: those it does not decline."""
        for lengths in (BIT_LENGTHS, OTHER_LENGTHS):
            if taken := [bits for bits in lengths if not self.declined(bits)]:
                return taken
        raise Untested(f"it declines each of {', '.join(map(str, (*BIT_LENGTHS, *OTHER_LENGTHS)))} bits on easy data")

    @property
    def bits(self) -> int:
        return BITS if BITS in self.lengths else self.lengths[-1]

    def _once(self, what: Any, make: Callable[[], Any]) -> Any:
        """The value of `make`, made once; where that failed, it is another promise's part to say how."""
        if what not in self._attempts:
            try:
                self._attempts[what] = (make(), None)
            except (Exception, SystemExit) as error:
                self._attempts[what] = (None, error)
        value, failure = self._attempts[what]
        if failure is not None:
            raise Untested(f"{what} failed: {_told(failure)}") from failure
        return value

    def fitted(self, bits: int | None = None) -> Any:
        """An instance that was fitted on easy data. Shared: take a deep copy to change it."""
        bits = bits or self.bits
        return self._once(f"fit with {bits} bits", lambda: self._fit(bits)[0])

    def given(self) -> tuple[Split, Any]:
        """The very rows that `fitted()` was fitted on, and what its fit returned."""
        self.fitted()
        return self._fits[self.bits]

    def _fit(self, bits: int) -> tuple[Any, Split]:
        method, train = self.build(bits), self.train()
        self._fits[bits] = (train, method.fit(train))
        return method, train

    @cached_property
    def _fits(self) -> dict[int, tuple[Split, Any]]:
        return {}

    def codes(self, bits: int | None = None) -> np.ndarray:
        """The codes of `query()` by `fitted()`; a copy."""
        return np.array(self.encoded(bits))

    def encoded(self, bits: int | None = None) -> Any:
        """The very thing that `encode` returned for `query()`."""
        bits, method = bits or self.bits, self.fitted(bits)
        return self._once(f"encode with {bits} bits", lambda: method.encode(self.query()))

    def repeated(self) -> _Repeat:
        """Fitted and encoded once more by a new instance; the global random state is watched."""
        self.codes()  # whatever is imported lazily is imported now
        return self._once("fitting a second instance", self._repeat)

    def reproducible_codes(self) -> np.ndarray:
        """`codes()`, where a second instance gives the same."""
        if not np.array_equal(self.codes(), self.repeated().codes):
            raise Untested("the same seed gives different codes anyway")
        return self.codes()

    def _repeat(self) -> _Repeat:
        with _random_state_moved():
            before = _random_state()
            method = self.build(self.bits)
            method.fit(self.train())
            codes = np.array(method.encode(self.query()))
            return _Repeat(method, codes, _random_state() == before)

    def other(self) -> Any:
        """Another instance, of another seed, fitted on other rows that are read-only."""
        return self._once("fitting on read-only rows", self._other)

    def _other(self) -> Any:
        method, (train, query) = self.build(self.bits, seed=2), easy_data(5, self.images)
        method.fit(self.shown(_frozen(train)))
        method.encode(self.shown(_frozen(query), "nothing"))
        return method

    def fresh_digest(self) -> str:
        """The hash of `codes()` as a fresh process computes them."""
        info = self.cls.info
        return str(in_a_fresh_process("codes_digests", {info.name: str(info.source)})[info.name])


@contextlib.contextmanager
def _random_state_moved() -> Iterator[None]:
    """The global generators somewhere no seed leads to, so that reseeding is noticed; put back in the end."""
    torch: Any = sys.modules.get("torch")
    kept = random.getstate(), np.random.get_state(legacy=False), torch.get_rng_state() if torch else None
    random.random(), np.random.random(), torch.rand(1) if torch else None
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        if torch:
            torch.set_rng_state(kept[2])


def _random_state() -> str:
    state = repr(random.getstate()) + repr(np.random.get_state(legacy=False))
    if "torch" in sys.modules:
        state += hashlib.sha256(sys.modules["torch"].get_rng_state().numpy().tobytes()).hexdigest()
    return hashlib.sha256(state.encode()).hexdigest()


# The promises of a method

Reason = str | None  # why a promise does not apply


@contextlib.contextmanager
def _blamed(what: str) -> Iterator[None]:
    """What leaves other promises untested is what breaks this one."""
    try:
        yield
    except Untested as error:
        cause = error.__cause__
        raise Broken(f"{what}: {error if cause is None else _told(cause)}") from cause


def check_can_be_built(trial: MethodTrial) -> None:
    """cls(bits, seed) builds it, whatever the bits: what it cannot do is for `unsupported` to say."""
    for bits in BIT_LENGTHS:
        with _blamed(f"it cannot be built with {bits} bits"):
            trial.built(bits)


def check_declines_with_a_reason(trial: MethodTrial) -> None:
    """`unsupported(train, bits)`, where there is one, gives None or says why not, and not always."""
    for bits in BIT_LENGTHS:
        trial.built(bits)
        with _blamed(f"unsupported(train, {bits}) failed"):
            reason = trial.declined(bits)
        good = reason is None or (isinstance(reason, str) and bool(reason.strip()))
        _require(good, f"unsupported(train, {bits}) gave {reason!r}, expected None or a sentence")
    with _blamed("unsupported leaves nothing"):
        _ = trial.lengths


def check_fits_on_what_it_declared(trial: MethodTrial) -> None:
    """fit works when given what was declared (`input`, `needs`), and everything else is withheld."""
    info, bits = trial.cls.info, trial.bits
    withheld = {"nothing": "; train.labels and train.similarity are None", "similarity": "; train.labels is None"}
    with _blamed(f"fit failed (declared: input={info.input!r}, needs={info.needs!r}{withheld.get(info.needs, '')})"):
        trial.fitted(bits)


def check_fit_returns_self(trial: MethodTrial) -> None:
    """fit returns the method, so that calls can be chained."""
    _require(trial.given()[1] is trial.fitted(), f"fit returns {type(trial.given()[1]).__name__}, not self")


def check_codes_are_plus_minus_one(trial: MethodTrial) -> None:
    """encode returns (n, bits) codes over {-1, +1}, as int8."""
    trial.fitted()
    with _blamed("encode failed"):
        codes = trial.encoded()
    check_codes(codes, bits=trial.bits, rows=len(trial.query()))
    _require(codes.dtype == np.int8, f"codes are {codes.dtype}, expected int8")


def check_single_row(trial: MethodTrial) -> None:
    """One row can be encoded."""
    _require_shape(trial, trial.query().take(np.array([3])))


def check_no_rows(trial: MethodTrial) -> None:
    """No row gives no code: (0, bits)."""
    _require_shape(trial, trial.query().take(np.array([], np.int64)))


def _require_shape(trial: MethodTrial, rows: Split) -> None:
    trial.codes()
    shape, expected = np.shape(trial.fitted().encode(rows)), (len(rows), trial.bits)
    _require(shape == expected, f"{len(rows)} rows gave codes of shape {shape}, expected {expected}")


def check_encode_twice_is_the_same(trial: MethodTrial) -> None:
    """encode changes nothing."""
    _require(np.array_equal(trial.codes(), trial.fitted().encode(trial.query())), "encoding twice gives two results")


def check_encode_ignores_batch_and_order(trial: MethodTrial) -> None:
    """A row's code depends on the row alone: not on its neighbours or its place."""
    method, codes, query = trial.fitted(), trial.codes(), trial.query()
    order = np.random.default_rng(0).permutation(len(query))
    _require(np.array_equal(method.encode(query.take(order)), codes[order]), "codes change with the order of rows")
    part = np.arange(0, len(query), 7)
    _require(np.array_equal(method.encode(trial.query().take(part)), codes[part]), "codes change with the batch")


def check_can_be_copied(trial: MethodTrial) -> None:
    """A deep copy of a fitted method encodes the same."""
    known, twin = trial.codes(), copy.deepcopy(trial.fitted())
    _require(np.array_equal(known, twin.encode(trial.query())), "a copy encodes differently")


def check_input_untouched(trial: MethodTrial) -> None:
    """Neither fit nor encode changes what it is given."""
    trial.codes()
    _require(_same_rows(trial.given()[0], trial.train()), "fit changed an array that it was given")
    query = trial.query()
    trial.fitted().encode(query)
    _require(_same_rows(query, trial.query()), "encode changed an array that it was given")


def check_read_only_input(trial: MethodTrial) -> None:
    """Arrays that must not be written to are accepted."""
    trial.codes()
    with _blamed("read-only rows are not accepted"):
        trial.other()


def check_instances_share_nothing(trial: MethodTrial) -> None:
    """Two instances do not share what they learned."""
    codes = trial.codes()
    with contextlib.suppress(Untested):
        trial.other()
    encoded = trial.fitted().encode(trial.query())
    _require(np.array_equal(codes, encoded), "fitting another instance changed this one; keep what is learned on self")


def check_global_random_state_untouched(trial: MethodTrial) -> None:
    """The global generators of random, numpy and torch are left as they were."""
    told = "a global random generator was used or reseeded; use one of your own"
    _require(trial.repeated().state_kept, told)


def check_same_seed_same_codes(trial: MethodTrial) -> None:
    """The same seed gives the same codes."""
    _require(np.array_equal(trial.codes(), trial.repeated().codes), "the same seed gave different codes")


def check_fitting_again_forgets(trial: MethodTrial) -> None:
    """A method that is fitted once more gives the codes that it gave before."""
    repeat = trial.repeated()
    repeat.method.fit(trial.train())
    again = repeat.method.encode(trial.query())
    _require(np.array_equal(repeat.codes, again), "fitting the same instance again gave different codes")


def check_withheld_labels_do_not_matter(trial: MethodTrial) -> Reason:
    """Labels that were not declared change nothing: not their names where pairs were declared, else nothing at all."""
    if trial.cls.info.needs == "labels":
        return "it declared needs='labels'"
    train, _ = easy_data(images=trial.images)
    assert train.labels is not None
    shuffled = np.random.default_rng(1).permutation(len(train))
    labels = np.roll(train.labels, 1, axis=1) if trial.cls.info.needs == "similarity" else train.labels[shuffled]
    known, method = trial.reproducible_codes(), trial.build(trial.bits)
    method.fit(trial.shown(Split(features=train.features, images=train.images, labels=labels)))
    told = f"codes change with labels that are withheld (needs={trial.cls.info.needs!r}); declare needs='labels'"
    _require(np.array_equal(known, method.encode(trial.query())), told)
    return None


def check_every_bit_length(trial: MethodTrial) -> None:
    """Any number of bits works, or is declined with a reason."""
    trial.codes()
    for bits in trial.lengths:
        if bits != trial.bits:
            with _blamed(f"{bits} bits neither work nor are declined by unsupported(train, bits)"):
                trial.codes(bits)
            _require(
                trial.codes(bits).shape == (len(trial.query()), bits), f"{bits} bits give {trial.codes(bits).shape}"
            )


def check_unfitted_error(trial: MethodTrial) -> None:
    """encode before fit is an error that says so."""
    method, query = trial.built(trial.bits), trial.query()
    try:
        method.encode(query)
    except Exception as error:
        _require("fit" in str(error).lower(), f"the error does not say to call fit first: {error!r}")
    else:
        raise Broken("encoding before fit gave codes; raise an error that says to call fit first")


def check_better_than_random(trial: MethodTrial) -> Reason:
    """On well-separated classes the codes retrieve better than random codes."""
    if trial.cls.info.family == "control":
        return "a control need not be good"
    bits = trial.lengths[-1]
    train, query = easy_data(images=trial.images)
    found = trial.codes(bits), trial.fitted(bits).encode(trial.shown(train, "nothing"))
    _require_better(found, query, train)
    return None


def _require_better(codes: tuple[np.ndarray, np.ndarray], query: Split, train: Split) -> None:
    try:
        found = evaluate(*codes, query.labels, train.labels, k=len(train)).map
    except ValueError as error:
        raise Untested(f"these are no codes: {error}") from error
    _require(found > 1.3 / CLASSES, f"MAP {found:.3f} on an easy problem where chance is {1 / CLASSES:.3f}")


def check_images_too(trial: MethodTrial) -> Reason:
    """A method on images is fitted on images and encodes images: not only features of them."""
    if trial.cls.info.input != "images":
        return "it declared input='features'"
    if trial.images:
        return "every promise is tested on images"
    train, query = easy_data(images=True)
    if reason := trial.declined(trial.bits, images=True):
        raise Broken(f"it declared input='images', but declines images: {reason}")
    method = trial.build(trial.bits, images=True)
    method.fit(trial.shown(train))
    codes = [method.encode(trial.shown(split, "nothing")) for split in (query, train)]
    check_codes(codes[0], bits=trial.bits, rows=len(query))
    if trial.cls.info.family != "control":
        _require_better((codes[0], codes[1]), query, train)
    return None


def check_same_seed_same_codes_in_a_fresh_process(trial: MethodTrial) -> Reason:
    """The same seed gives the same codes in another process: nothing depends on hash order or on what ran before."""
    if trial.cls.info.source is None:
        return "the class is defined in no file that another process could load"
    here = _digest(trial.reproducible_codes())
    _require(trial.fresh_digest() == here, "a fresh process gave different codes for the same seed")
    return None


def codes_digests(sources: Mapping[str, str]) -> dict[str, str]:
    """What a fresh process computes: the hashes of these methods' codes on easy data, by name."""
    for source in sources.values():
        load_plugin(source)
    return {name: _digest(MethodTrial(name).codes()) for name in sources}


def _digest(array: np.ndarray) -> str:
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()


MethodCheck = Callable[[MethodTrial], Reason]
METHOD_CHECKS: tuple[MethodCheck, ...] = (
    check_can_be_built,
    check_declines_with_a_reason,
    check_fits_on_what_it_declared,
    check_fit_returns_self,
    check_codes_are_plus_minus_one,
    check_single_row,
    check_no_rows,
    check_encode_twice_is_the_same,
    check_encode_ignores_batch_and_order,
    check_can_be_copied,
    check_input_untouched,
    check_read_only_input,
    check_instances_share_nothing,
    check_global_random_state_untouched,
    check_same_seed_same_codes,
    check_fitting_again_forgets,
    check_withheld_labels_do_not_matter,
    check_every_bit_length,
    check_unfitted_error,
    check_better_than_random,
    check_images_too,
    check_same_seed_same_codes_in_a_fresh_process,
)


# Another process


def in_a_fresh_process(function: str, *arguments: Any) -> Any:
    """What a function of this module returns in a new interpreter; it must be plain data."""
    answer = (
        "import json, pickle, sys; from benchmark import conformance; "
        "name, arguments = pickle.load(sys.stdin.buffer); "
        f"print('\\n{ANSWER}' + json.dumps(getattr(conformance, name)(*arguments)))"
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


# What the promises of one data set share


@dataclass(frozen=True)
class Recipe:
    """How a data set is built anew, here or in another process."""

    spec: str
    data_root: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None

    def build(self) -> HashDataset:
        return get_dataset(self.spec, self.data_root, **self.options)

    @property
    def argument(self) -> Path | None:
        return Path(self.spec.partition(":")[2]) if ":" in self.spec else None

    def with_argument(self, argument: Path) -> Recipe:
        return replace(self, spec=f"{self.spec.partition(':')[0]}:{argument}")

    def moved(self, folder: Path) -> Recipe | None:
        """The same of copied data, or None where there are none on disk, or too many to copy."""
        recipe, given = self, self.argument
        if given is not None and given.exists():
            beside = given if given.is_dir() else given.parent  # a file may speak of its neighbours
            if _is_small(beside):
                copied = shutil.copytree(beside, folder / "argument" / beside.resolve().name)
                recipe = recipe.with_argument(copied if given.is_dir() else copied / given.name)
            elif given.is_file() and given.stat().st_size <= COPIED_BYTES:
                recipe = recipe.with_argument(Path(shutil.copy2(given, folder / given.name)))
        if self.data_root is not None and _is_small(self.data_root):
            recipe = replace(recipe, data_root=shutil.copytree(self.data_root, folder / "root"))
        return recipe if recipe is not self else None


def _is_small(folder: Path) -> bool:
    files = size = 0
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
        files += len(names)
        if files > COPIED_FILES or size > COPIED_BYTES:
            return False
    return True


def recipe_of(
    dataset: Any,
    argument: str | None = None,
    data_root: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe for a registered class or a name (or `name:ARGUMENT`)."""
    spec = dataset if isinstance(dataset, str) else getattr(getattr(dataset, "info", None), "name", None)
    if spec is None:
        raise UsageError(f"{dataset!r} is not registered: put @register_dataset(...) above the class")
    name, _, given = spec.partition(":")
    info = datasets.get(name).info
    if not isinstance(dataset, str) and info.stand_in and data_root is None:
        raise UsageError(
            f"dataset '{name}' needs its data: give --data-root DIR (without it, '{info.stand_in}' is run)"
        )
    argument = argument or given
    if argument and info.takes and Path(argument).exists():
        argument = str(Path(argument).resolve())
    root = None if data_root is None else Path(data_root).resolve()
    return Recipe(f"{name}:{argument}" if argument else name, root, dict(options or {}), info.source)


class DatasetTrial:
    """A data set with its splits loaded once, and where its recipe is known, built anew in a fresh process."""

    def __init__(
        self,
        dataset: Any,
        *,
        argument: str | None = None,
        data_root: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.recipe: Recipe | None = None
        self._built, self._failure = dataset, None
        if isinstance(dataset, (str, type)):
            self.recipe = recipe_of(dataset, argument, data_root, options)
            self._built, self._failure = self._build(self.recipe)

    def _build(self, recipe: Recipe) -> tuple[Any, Any]:
        try:
            return recipe.build(), None
        except UsageError:  # nothing of that kind is there to be checked
            raise
        except (Exception, SystemExit) as error:
            return None, error

    @property
    def dataset(self) -> Any:
        """The instance that is checked."""
        if self._failure is not None:
            raise Untested(f"it cannot be built: {_told(self._failure)}") from self._failure
        return self._built

    @cached_property
    def splits(self) -> Splits:
        """The splits as first loaded."""
        try:
            loaded = self.dataset.load()
        except (Exception, SystemExit) as error:
            raise Untested(f"load failed: {_told(error)}") from error
        if not isinstance(loaded, Splits):
            raise Untested(f"load returned a {type(loaded).__name__}, expected Splits")
        return loaded

    @cached_property
    def again(self) -> Splits:
        """Loaded once more."""
        _ = self.splits
        loaded: Splits = self.dataset.load()
        return loaded

    @cached_property
    def probed(self) -> dict[str, Any] | None:
        """What a fresh process says of the same recipe; None where there is none."""
        if self.recipe is None:
            return None
        _ = self.dataset
        found: dict[str, Any] = in_a_fresh_process("probe", self.recipe)
        return found


NO_RECIPE = "an instance was given: give the class or its name to have it built anew"
ATTRIBUTES = ("name", "title", "protocol", "map_cutoff", "miniature", "backbone")


def probe(recipe: Recipe) -> dict[str, Any]:
    """What a fresh process finds: whether building loads torch or opens an image, then revision and content."""
    opened: list[str] = []
    sys.addaudithook(lambda event, told: opened.append(str(told[0])) if event == "open" else None)
    if recipe.source is not None:
        load_plugin(recipe.source)
    loads_torch = "torch" in sys.modules
    datasets.names()  # other plugins, which may load what they like
    before = "torch" in sys.modules
    dataset = recipe.build()
    for name in ATTRIBUTES:
        getattr(dataset, name, None)
    images = [path for path in opened if path.lower().endswith(IMAGE_SUFFIXES)]
    loads_torch = loads_torch or (not before and "torch" in sys.modules)
    found = {"torch": loads_torch, "images": images[:1], "revision": dataset.revision}
    return found | {"content": content_digest(dataset.load())}


def content_digest(splits: Splits, whole: bool = False) -> str:
    """Hash of what rows hold: of all rows, or of some of each part, evenly spread, with few of their images."""
    digest = hashlib.sha256()
    for name, split in splits.parts().items():
        rows = _spread(len(split), len(split) if whole else SAMPLED)
        digest.update(f"{name} {len(split)}".encode())
        for array in (split.features, split.labels):
            if array is not None:
                digest.update(_digest(np.asarray(array[rows])).encode())
        if split.ids is not None:
            digest.update("\n".join(str(split.ids[row]) for row in rows).encode())
        if split.images is not None:
            seen = _spread(len(split), len(split) if whole else DECODED)
            digest.update("".join(_digest(split.images[int(row)]) for row in seen).encode())
        if split.similarity is not None:
            digest.update("".join(map(_digest, split.similarity.block(rows, rows))).encode())
    return digest.hexdigest()


def _spread(size: int, wanted: int) -> np.ndarray:
    """So many of `size` rows, the first and the last among them."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, wanted)).astype(np.int64))


# The promises of a data set


def check_builds(trial: DatasetTrial) -> None:
    """cls(argument, data_root=..., **options) builds it."""
    with _blamed("it cannot be built"):
        _ = trial.dataset


def check_attributes(trial: DatasetTrial) -> None:
    """name, title, protocol and revision are texts, map_cutoff is 1 or more, miniature a bool, backbone a name."""
    dataset = trial.dataset
    for name in ("name", "title", "protocol", "revision"):
        value = getattr(dataset, name, None)
        good = isinstance(value, str) and bool(value.strip()) and "\n" not in value
        _require(good, f"{name} is {value!r}, expected a line of text")
    cutoff = getattr(dataset, "map_cutoff", None)
    whole = isinstance(cutoff, (int, np.integer)) and not isinstance(cutoff, bool)
    _require(whole and int(cutoff or 0) >= 1, f"map_cutoff is {cutoff!r}, expected a whole number of 1 or more")
    miniature, backbone = getattr(dataset, "miniature", None), getattr(dataset, "backbone", 0)
    _require(isinstance(miniature, bool), f"miniature is {miniature!r}, expected True or False")
    named = backbone is None or (isinstance(backbone, str) and bool(backbone))
    _require(named, f"backbone is {backbone!r}, expected a name, or None for features")


def check_construction_is_cheap(trial: DatasetTrial) -> Reason:
    """Importing the file, building the data set and reading its attributes load no torch and open no image."""
    found = trial.probed
    if found is None:
        return NO_RECIPE
    _require(not found["torch"], "building it imports torch; import it inside load()")
    _require(not found["images"], f"building it opens {''.join(found['images'])}; leave that to load()")
    return None


def check_sound_data_pass(trial: DatasetTrial) -> None:
    """check() accepts the data it is given here, and load() gives splits."""
    trial.dataset.check()
    with _blamed("load failed"):
        _ = trial.splits


def check_missing_data_are_a_usage_error(trial: DatasetTrial) -> Reason:
    """Data that are not there are a UsageError of the constructor or of check(), never another."""
    _ = trial.dataset
    if trial.recipe is None:
        return NO_RECIPE
    given = trial.recipe.argument
    with _elsewhere() as folder:
        (folder / "empty").mkdir()
        wrong = [] if given is None else [trial.recipe.with_argument(folder / f"absent{given.suffix}")]
        if trial.recipe.data_root is not None:
            wrong.append(replace(trial.recipe, data_root=folder / "empty"))
        for recipe in wrong:
            try:
                recipe.build().check()
            except UsageError:
                continue
            except Exception as error:
                raise Broken(f"missing data give {_told(error)}, expected a UsageError that names them") from error
    return None if wrong else "it needs nothing on disk"


def check_revision_is_stable(trial: DatasetTrial) -> None:
    """The revision is the same whenever it is read, and in two instances."""
    first = trial.dataset.revision
    _require(first == trial.dataset.revision, "the revision changes from one reading to the next")
    if trial.recipe is not None:
        _require(first == trial.recipe.build().revision, "a second instance has another revision")


def check_same_in_a_fresh_process(trial: DatasetTrial) -> Reason:
    """Another process finds the same revision and the same rows: nothing depends on hash order or time."""
    found = trial.probed
    if found is None:
        return NO_RECIPE
    if trial.recipe is not None and trial.recipe.build().revision != trial.dataset.revision:
        raise Untested("a second instance has another revision anyway")
    _require(found["revision"] == trial.dataset.revision, "a fresh process finds another revision")
    _require(found["content"] == content_digest(trial.splits), "a fresh process loads other rows")
    return None


def check_revision_follows_the_content(trial: DatasetTrial) -> Reason:
    """Where an image or a feature changes, the revision changes: else old results would pass for new ones."""
    if trial.recipe is None:
        return NO_RECIPE
    _ = trial.splits
    with _elsewhere() as folder:
        recipe = trial.recipe.moved(folder)
        if recipe is None:
            return "it has no data on disk, or too many to try a change on a copy"
        before = recipe.build()
        revision, content = before.revision, content_digest(before.load(), whole=True)
        for path in _changed_one_by_one(folder):
            after = recipe.build()
            if content_digest(after.load(), whole=True) != content:
                told = f"the content of {path.name} changed, and the rows with it, but the revision did not"
                _require(after.revision != revision, told)
                return None
    return "no image or array file could be changed that its rows are made of"


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    """A folder for a while; what data sets remember of it goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("HASHBENCH_CACHE")
        os.environ["HASHBENCH_CACHE"] = os.path.join(folder, "cache")
        try:
            yield Path(folder).resolve()
        finally:
            os.environ.pop("HASHBENCH_CACHE")
            if before is not None:
                os.environ["HASHBENCH_CACHE"] = before


def _changed_one_by_one(folder: Path) -> Iterator[Path]:
    """Files below, each changed before it is given and put back after; the last first, which a sample would miss."""
    known = (*IMAGE_SUFFIXES, ".npz", ".npy")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in known and path.is_file())
    spread = files[::-1][:: max(1, len(files) // ALTERED)][:ALTERED]
    for path in spread:
        content = path.read_bytes()
        if _change(path):
            yield path
        path.write_bytes(content)


def _change(path: Path) -> bool:
    """Other pixels or other numbers in a file of the same format; whether that could be done."""
    try:
        if path.suffix.lower() not in (".npz", ".npy"):
            return _invert(path)
        loaded = np.load(path)
        if path.suffix.lower() == ".npy":
            np.save(path, -1 - loaded)
            return True
        arrays = dict(loaded)
        name = next(name for name, array in arrays.items() if array.dtype.kind == "f" and array.size)
        np.savez(path, **arrays | {name: -1 - arrays[name]})
    except Exception:  # no such format, an array of texts, ...: it stays as it is
        return False
    return True


def _invert(path: Path) -> bool:
    from PIL import Image

    with Image.open(path) as image:
        form, pixels = image.format, np.asarray(image.convert("RGB"))
    Image.fromarray(255 - pixels).save(path, format=form)
    return True


def check_splits_agree(trial: DatasetTrial) -> None:
    """No part is empty; query and database are labelled; training rows have labels or pairs to learn from, or none."""
    splits = trial.splits
    for name, split in splits.parts().items():
        _require(len(split) > 0, f"{name} is empty")
        _require(split.features is not None or split.images is not None, f"{name} has neither features nor images")
    for name in ("query", "database"):
        _require(splits.parts()[name].labels is not None, f"{name} has no labels, without which nothing can be scored")
    kinds = {name: split.images is not None for name, split in splits.parts().items()}
    _require(len(set(kinds.values())) == 1, "some parts have images and some have not")


def check_label_widths(trial: DatasetTrial) -> None:
    """All parts are labelled in the same classes, and class_names names each of them."""
    parts = trial.splits.parts().items()
    widths = {name: split.labels.shape[1] for name, split in parts if split.labels is not None and len(split)}
    _require(len(set(widths.values())) <= 1, f"label widths differ: {widths}")
    names = trial.splits.class_names
    width = next(iter(widths.values()), None)
    fits = names is None or width is None or len(names) == width
    _require(fits, f"{len(names or ())} class names for {width} classes")


def check_no_query_in_the_database(trial: DatasetTrial) -> None:
    """The audit finds no error, above all no query that is in the database."""
    from benchmark.data.audit import audit

    if any(len(split) == 0 for split in trial.splits.parts().values()):
        raise Untested("a part is empty")
    cutoff = getattr(trial.dataset, "map_cutoff", None)
    errors = audit(trial.splits, cutoff if isinstance(cutoff, int) and cutoff > 0 else 1).errors
    _require(not errors, "; ".join(map(str, errors)))


def check_ids_are_unique(trial: DatasetTrial) -> None:
    """No two rows of a part have one name."""
    for name, split in trial.splits.parts().items():
        if split.ids is not None and len(set(split.ids)) < len(split.ids):
            twice = next(row for row in split.ids if list(split.ids).count(row) > 1)
            raise Broken(f"{name}: the name {twice!r} occurs more than once")


def check_images_are_rgb(trial: DatasetTrial) -> Reason:
    """Images, where there are any, decode to (height, width, 3) uint8."""
    if all(split.images is None for split in trial.splits.parts().values()):
        return "it has no images"
    for name, split in trial.splits.parts().items():
        if split.images is None:
            continue
        for row in _spread(len(split), DECODED):
            image = split.images[int(row)]
            good = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
            _require(good, f"{name} image {row} is {image.dtype} {image.shape}, expected uint8 (height, width, 3)")
    return None


def check_features_are_finite(trial: DatasetTrial) -> Reason:
    """Features, where there are any, are finite numbers, equally many in each part."""
    found = {name: split.features for name, split in trial.splits.parts().items() if split.features is not None}
    if not found:
        return "it has no features"
    for name, features in found.items():
        finite = features.dtype.kind in "fiu" and bool(np.isfinite(features).all())
        _require(finite, f"{name}: features are not finite numbers")
    widths = {name: features.shape[1] for name, features in found.items()}
    _require(len(set(widths.values())) == 1, f"feature widths differ: {widths}")
    return None


def check_loading_twice_gives_equal_rows(trial: DatasetTrial) -> None:
    """load() gives the same rows in the same order every time."""
    _require(content_digest(trial.splits) == content_digest(trial.again), "loading twice gave different rows")


def check_loads_share_no_array(trial: DatasetTrial) -> None:
    """What one load gave can be written to without changing what another gave; read-only arrays may be shared."""
    for name, split in trial.splits.parts().items():
        for other in trial.again.parts().values():
            for kind, array in _arrays(split).items():
                twin = _arrays(other).get(kind)
                if twin is None or not (array.flags.writeable or twin.flags.writeable):
                    continue
                told = f"{name}.{kind} is one writable array in two loads; copy it, or make it read-only"
                _require(not np.may_share_memory(array, twin), told)


def check_splits_can_be_pickled(trial: DatasetTrial) -> None:
    """Splits travel to other processes and arrive as they were."""
    splits = trial.splits
    try:
        twin = pickle.loads(pickle.dumps(splits))
    except Exception as error:
        raise Broken(f"the splits cannot be pickled: {_told(error)}") from error
    _require(content_digest(twin) == content_digest(splits), "the splits are other ones after pickling")


DatasetCheck = Callable[[DatasetTrial], Reason]
DATASET_CHECKS: tuple[DatasetCheck, ...] = (
    check_builds,
    check_attributes,
    check_sound_data_pass,
    check_construction_is_cheap,
    check_missing_data_are_a_usage_error,
    check_revision_is_stable,
    check_same_in_a_fresh_process,
    check_revision_follows_the_content,
    check_splits_agree,
    check_label_widths,
    check_no_query_in_the_database,
    check_ids_are_unique,
    check_images_are_rgb,
    check_features_are_finite,
    check_loading_twice_gives_equal_rows,
    check_loads_share_no_array,
    check_splits_can_be_pickled,
)


# Running them

Report = Callable[[CheckResult], None]


def check_method(cls: Any, raise_first: bool = True, report: Report | None = None) -> list[CheckResult]:
    """Run every check on a method's class, or on the name of a registered one; `report` hears of each row at once."""
    trial = MethodTrial(cls)
    return _run_checks(METHOD_CHECKS, trial, trial.cls.info.source, raise_first, report)


def check_dataset(
    dataset: Any,
    raise_first: bool = True,
    report: Report | None = None,
    *,
    argument: str | None = None,
    data_root: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[CheckResult]:
    """Run every check on a data set: a registered class or name with what it is built from, or an instance.

    Of an instance nobody knows how it was built, so the promises about building it anew do not apply.
    """
    trial = DatasetTrial(dataset, argument=argument, data_root=data_root, options=options)
    told = datasets.get(trial.recipe.spec.partition(":")[0]) if trial.recipe else dataset
    source = getattr(getattr(told, "info", None), "source", None)
    return _run_checks(DATASET_CHECKS, trial, source, raise_first, report)


def promise(check: Callable[..., Any]) -> str:
    """What a check is called in a row."""
    return check.__name__.removeprefix("check_")


def _run_checks(
    checks: Sequence[Callable[[Any], Reason]], trial: Any, source: Path | None, raise_first: bool, report: Report | None
) -> list[CheckResult]:
    results = []
    for check in checks:
        row = _run_check(check, trial, source, raise_first)
        results.append(row)
        if report is not None:
            report(row)
    return results


def _run_check(check: Callable[[Any], Reason], trial: Any, source: Path | None, raise_first: bool) -> CheckResult:
    try:
        reason = check(trial)
    except (Exception, SystemExit) as error:
        if raise_first:
            raise
        if isinstance(error, Untested):
            return CheckResult(promise(check), False, f"not tested: {error}", tested=False)
        message = str(error) if isinstance(error, Broken) else _told(error)
        return CheckResult(promise(check), False, message + _place(error, source))
    return CheckResult(promise(check), True, f"does not apply: {reason}" if reason else "")


def _place(error: BaseException, source: Path | None) -> str:
    """The line of the plugin's file that an error came out of."""
    cause = error.__cause__ or error
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(source)]
    return f" ({Path(frames[-1].filename).name} line {frames[-1].lineno})" if frames else ""
