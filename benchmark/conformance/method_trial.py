"""How a method is tried: fitted as few times as its promises allow, each time for all that look at it.

One that keeps every promise is fitted three times in this process and twice in a fresh one; one that takes images but
was tried on features, once more here, on images, and one that needs triplets, on a list of them:

- the first fit, of `bits` bits, is for all that is asked of a fitted method, and the global generators are watched;
- two further lengths are fitted by other instances: of another seed, on other rows, which are read-only;
- in the fresh process one instance is fitted on other rows first, then on those of the first fit, with other labels
  where labels are withheld. Codes that agree with the first fit's show four things at once: the same seed gives the
  same codes, in another process too; fitting again forgets; withheld labels do not matter.

Where the fresh process disagrees, or there is no file that it could load (`doubt`), each of the four gets fits of its
own, so that what is blamed is what is broken.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmark.conformance.fresh_process import digest_of, in_a_fresh_process, loadable
from benchmark.conformance.trial_data import SIDE, easy_data, frozen
from benchmark.conformance.verdicts import Broken, Untested, error_text
from benchmark.contracts import Split
from benchmark.errors import UsageError
from benchmark.models.learned import Unkept, keep_learned, restore_learned
from benchmark.models.state_file import read_state, state_bytes
from benchmark.registry import get_method, load_only

NO_FILE = "the class is defined in no file that another process could load; put it into one of its own"
BITS = 16  # what most promises are tested with, unless the method declines it
BIT_LENGTHS = (1, BITS, 47)  # besides: one bit, where much degenerates, and a longer one that nothing divides
SPARE_LENGTHS = (12, 24, 8, 32, 64, 128)  # take the place of those that are declined
STEPS = 60  # of a training by the profile `quick`
OTHER_ROWS = 5  # the seed of rows that are not those of the first fit


@dataclass
class _Fit:
    """An instance, the very rows that it was fitted on, and what its fit returned."""

    method: Any
    train: Split
    returned: Any


class MethodTrial:
    """A method's class with the data it is shown, and with instances that are fitted once for all promises.

    Every call gets rows of its own, so that a method that writes into them spoils nobody else's.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = get_method(cls) if isinstance(cls, str) else cls
        if not hasattr(self.cls, "info"):
            raise UsageError(f"{cls!r} is not registered: put @register_method(...) above the class")
        self._attempts: dict[Any, tuple[Any, Exception | SystemExit | None]] = {}
        self.random_state_kept = True  # by all that was watched so far

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
        from benchmark.deep.profile import load_profile

        short = replace(load_profile("quick").training, train="hash", steps=STEPS, epochs=0.0, batch=32, device="cpu")
        if self.images if images is None else images:
            short = replace(short, backbone="squeezenet1_1", weights="random", resize=SIDE, crop=SIDE)
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

    def other_train(self) -> Split:
        """Other training rows."""
        return self.shown(easy_data(OTHER_ROWS, self.images)[0])

    def relabelled(self) -> Split:
        """`train()` with other labels, as far as they are withheld: renamed where pairs were declared, or shuffled."""
        train, needs = easy_data(images=self.images)[0], self.cls.info.needs
        labels = train.required_labels()
        if needs in ("similarity", "triplets"):
            labels = np.roll(labels, 1, axis=1)
        elif needs == "nothing":
            labels = np.random.default_rng(1).permutation(labels)
        return self.shown(Split(features=train.features, images=train.images, labels=labels))

    def to_encode(self, split: Split) -> Split:
        """What the runner would show of rows to encode: no labels, unless it is a control that declared them."""
        return self.shown(split, self.cls.info.needs_at_encode)

    def query(self) -> Split:
        """Rows to encode."""
        return self.to_encode(easy_data(images=self.images)[1])

    def encode(self, method: Any, split: Split) -> Any:
        """What an instance makes of rows: codes, or vectors where it ranks by those."""
        return getattr(method, self.cls.info.coding)(split)

    def declined(self, bits: int, images: bool | None = None) -> Any:
        """What `unsupported` says of so many bits: the reason, or None."""
        images = self.images if images is None else images
        declines, train = getattr(self.built(bits), "unsupported", None), self.shown(easy_data(images=images)[0])
        if declines is None:
            return None
        return self._once(f"unsupported({bits} bits, images={images})", lambda: declines(train, bits))

    @cached_property
    def lengths(self) -> list[int]:
        """The bit lengths that it is tried with: three that it does not decline, or as many as there are."""
        asked = (*BIT_LENGTHS, *SPARE_LENGTHS)
        taken = list(itertools.islice((bits for bits in asked if not self.declined(bits)), len(BIT_LENGTHS)))
        if not taken:
            raise Untested(f"it declines each of {', '.join(map(str, asked))} bits on easy data")
        return taken

    @property
    def bits(self) -> int:
        """What most promises are tested with."""
        return BITS if BITS in self.lengths else max(self.lengths)

    @property
    def other_lengths(self) -> list[int]:
        """The further lengths; where there is none, the same once more."""
        return [bits for bits in self.lengths if bits != self.bits] or [self.bits]

    def _once(self, what: Any, make: Callable[[], Any]) -> Any:
        """The value of `make`, made once; where that failed, it is another promise's part to say how."""
        if what not in self._attempts:
            try:
                self._attempts[what] = (make(), None)
            except (Exception, SystemExit) as error:
                self._attempts[what] = (None, error)
        value, failure = self._attempts[what]
        if failure is not None:
            raise Untested(f"{what} failed: {error_text(failure)}") from failure
        return value

    def first_fit(self) -> _Fit:
        """The first fit, on easy data."""
        return self._once(f"fit with {self.bits} bits", self._fit)

    def _fit(self) -> _Fit:
        with self._watched():
            method, train = self.build(self.bits), self.train()
            return _Fit(method, train, method.fit(train))

    def fitted(self) -> Any:
        """The instance of the first fit. Shared: take a deep copy to change it."""
        return self.first_fit().method

    def encoded(self) -> Any:
        """The very thing that `fitted()` returned for `query()`."""
        method = self.fitted()

        def encode() -> Any:
            with self._watched():
                return self.encode(method, self.query())

        return self._once(f"encode with {self.bits} bits", encode)

    def codes(self) -> np.ndarray:
        """`encoded()`; a copy."""
        return np.array(self.encoded())

    def other(self, bits: int, writable: bool = False) -> Any:
        """What another instance encodes: of another seed, fitted on other rows; all rows are read-only unless told."""
        what = f"fit and encode with {bits} bits on {'' if writable else 'read-only '}rows"
        return self._once(what, lambda: self._other(bits, writable))

    def _other(self, bits: int, writable: bool) -> Any:
        train, query = easy_data(OTHER_ROWS, self.images)
        if not writable:
            train, query = frozen(train), frozen(query)
        with self._watched():
            method = self.build(bits, seed=2)
            method.fit(self.shown(train))
            return self.encode(method, self.to_encode(query))

    def of_length(self, bits: int) -> Any:
        """`other(bits)`; where that failed, it may be that the rows were read-only, so others are tried."""
        try:
            return self.other(bits)
        except Untested:
            return self.other(bits, writable=True)

    @cached_property
    def doubt(self) -> str | None:
        """Why no fresh process vouches for `codes()`; None where one does."""
        if not loadable(self.cls):
            return NO_FILE
        here = digest_of(self.codes())
        try:
            there = self.fresh_digest()
        except Broken as failure:
            return str(failure)
        return None if there == here else "a fresh process gave different codes for the same seed"

    def fresh_digest(self) -> str:
        """The hash of `retold_codes()` of a fresh process."""
        return str(self._fresh_digests["retold"])

    def loaded_digest(self) -> str:
        """The hash of `loaded_codes()` of a fresh process; of this one where no other could load the class, or it ended
        for another reason."""
        try:
            return str(self._fresh_digests["loaded"]) if loadable(self.cls) else _loaded_digest(self, self.kept())
        except Broken:
            return _loaded_digest(self, self.kept())

    @cached_property
    def _fresh_digests(self) -> dict[str, str]:
        """Both by one process, for the price of one import of torch."""
        info = self.cls.info
        try:
            kept = self.kept()
        except (Unkept, Untested):
            kept = None
        return dict(in_a_fresh_process(_digests, info.name, str(info.source), info.entry, kept))

    def kept(self) -> bytes:
        """The first fit as a file; Unkept where there is no such file."""
        return state_bytes({}, keep_learned(self.fitted(), lambda: self.build(self.bits)))

    def loaded_codes(self, kept: bytes) -> np.ndarray:
        """The codes of `query()` by an instance that was never fitted, but made of that file."""
        method = self.build(self.bits)
        restore_learned(method, read_state(kept, self.cls.info.name)[1])
        return np.array(self.encode(method, self.query()))

    def retold_codes(self) -> np.ndarray:
        """`codes()` by an instance with a past and with other labels, which a good method does not notice."""
        self.build(self.bits)  # for nothing: who counts instances does not get the number that `codes()` had
        return self.codes_after(self.other_train(), self.relabelled())

    def codes_after(self, *fits: Split) -> np.ndarray:
        """The codes of `query()` by a new instance, same bits and seed, fitted on these rows one after the other."""
        with self._watched():
            method = self.build(self.bits)
            for train in fits:
                method.fit(train)
            return np.array(self.encode(method, self.query()))

    def repeated(self) -> np.ndarray:
        """What a second instance gives."""
        return self._once("fitting a second instance", lambda: self.codes_after(self.train()))

    def reproducible_codes(self) -> np.ndarray:
        """`codes()`, where a second instance gives the same."""
        if not np.array_equal(self.codes(), self.repeated()):
            raise Untested("the same seed gives different codes anyway")
        return self.codes()

    def refitted(self) -> np.ndarray:
        """What an instance gives that was fitted on other rows before."""
        return self._once("fitting again", lambda: self.codes_after(self.other_train(), self.train()))

    def with_other_labels(self) -> np.ndarray:
        """What an instance gives that was fitted with other labels in place of those that are withheld."""
        return self._once("fitting with other labels", lambda: self.codes_after(self.relabelled()))

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Notes whether the global generators are used meanwhile; torch's from the time after it was loaded.

        A library may draw when it is loaded, which is not its user's doing: where one was, later fits tell.
        """
        with _random_state_moved():
            before, loaded = _random_states(), len(sys.modules)
            yield
            after = _random_states()
            if len(sys.modules) == loaded:
                self.random_state_kept &= all(after[name] == state for name, state in before.items())


def codes_digests(sources: Mapping[str, tuple[str, str | None]]) -> dict[str, str]:
    """What a fresh process computes: the hashes of these methods' retold codes, by name.

    `sources` has their files and entry points: a module of a package is imported as such, or it would not find its
    neighbours.
    """
    for name, (source, entry) in sources.items():
        load_only("method", name, source, entry)
    return {name: digest_of(MethodTrial(name).retold_codes()) for name in sources}


def _digests(name: str, source: str, entry: str | None, kept: bytes | None) -> dict[str, str]:
    """What a fresh process computes for one method."""
    found = {"retold": codes_digests({name: (source, entry)})[name]}
    if kept is None:
        return found
    return {**found, "loaded": _loaded_digest(MethodTrial(name), kept)}


def _loaded_digest(trial: MethodTrial, kept: bytes) -> str:
    try:
        return digest_of(trial.loaded_codes(kept))
    except Exception as error:  # to be blamed on what was kept, not on the process
        return error_text(error)


@contextlib.contextmanager
def _random_state_moved() -> Iterator[None]:
    """The global generators elsewhere each time, so that using or reseeding them is noticed; put back in the end."""
    torch: Any = sys.modules.get("torch")
    kept = random.getstate(), np.random.get_state(legacy=False), torch.get_rng_state() if torch else None
    random.seed(), np.random.seed(), torch.default_generator.seed() if torch else None
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        if torch:
            torch.set_rng_state(kept[2])


def _random_states() -> dict[str, str]:
    states = {"random": repr(random.getstate()), "numpy": repr(np.random.get_state(legacy=False))}
    if "torch" in sys.modules:
        states["torch"] = digest_of(sys.modules["torch"].get_rng_state().numpy())
    return states
