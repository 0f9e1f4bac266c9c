"""What the framework promises around every method; registration puts it there, so that no author has to.

- `fit` and `encode` see what the method declared and no more, in arrays that cannot be written to;
- `encode` before `fit` is an error that says so, and codes that are not -1 and +1 are one, too; a control that ranks
  by vectors has `embed` in place of `encode`, and vectors that are not finite numbers are an error;
- data that lack what the method declared are declined with the reason, and refused by `fit`;
- a method that names a `thread_limit` gets no more threads than that, in numpy's libraries and in torch.

The class stays the author's: `fit`, `encode` and `unsupported` are replaced on it, in its subclasses as well, and a
call to the same method from inside (`super().fit`, `self.encode` while fitting) goes straight through. Against
mistakes this isolates well; a method that wants to cheat runs in the same process and can.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from benchmark.contracts import MethodInfo, Needs, Split
from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.codes import MAX_BITS, check_codes

FITTED = "_fitted_as_registered"  # on an instance: its fit has ended well
REMEDY = "expected -1 and +1 as int8: return np.where(values > 0, 1, -1).astype(np.int8)"
_inside: ContextVar[frozenset[int]] = ContextVar("inside", default=frozenset())  # instances whose calls are under way


def guard(cls: type) -> None:
    """Put the promises around a registered class and around every subclass it will have."""
    coding: str = cls.info.coding  # type: ignore[attr-defined]
    for name, around in (("fit", _fit), (coding, _encode)):
        if not callable(getattr(cls, name, None)):
            raise UsageError(f"class {cls.__qualname__} has no {name}: a method needs fit(train) and {coding}(split)")
        if not hasattr(getattr(cls, name), "guarded"):
            setattr(cls, name, _marked(around(_written(cls, name))))
    if not isinstance(_found(cls, "unsupported"), _Unsupported):
        cls.unsupported = _Unsupported(_found(cls, "unsupported"))  # type: ignore[attr-defined]
    if "__init_subclass__" not in vars(cls) and not hasattr(cls.__init_subclass__, "guarded"):
        cls.__init_subclass__ = classmethod(_marked(_guards_subclass(cls)))  # type: ignore[assignment]


def _written(cls: type, name: str) -> Callable[..., Any]:
    """The author's function: of this class, or whatever a class above it has when it is called."""
    if name in vars(cls):
        own: Callable[..., Any] = vars(cls)[name]
        return own

    def above(self: Any, split: Split) -> Any:
        return getattr(super(cls, self), name)(split)

    above.__name__, above.__doc__ = name, getattr(cls, name).__doc__
    return above


def _guards_subclass(cls: type) -> Callable[..., None]:
    def __init_subclass__(subclass: type, **keywords: Any) -> None:
        super(cls, subclass).__init_subclass__(**keywords)  # type: ignore[arg-type]
        guard(subclass)

    return __init_subclass__


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
    function.guarded = True  # type: ignore[attr-defined]
    return function


def _found(cls: type, name: str) -> Any:
    """The attribute as it stands in the nearest class that has it, bound to nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


# The calls


def _fit(written: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(written)
    def fit(self: Any, train: Split) -> Any:
        return guarded_fit(written, self, train)  # all else by name: a class typed into a notebook travels by value

    return fit


def guarded_fit(written: Callable[..., Any], method: Any, train: Split) -> Any:
    """What stands around the author's `fit`."""
    if id(method) in _inside.get():
        return written(method, train)
    info: MethodInfo = method.info
    shown = shown_to(info, train, info.needs)
    reason = method.unsupported(train, getattr(method, "bits", 1))
    if reason:
        raise UsageError(f"{info.name}: {reason}")
    notes = getattr(method, "__dict__", {})  # a class with __slots__ has none, and is trusted below
    notes.pop(FITTED, None)
    with _under_way(method):
        fitted = written(method, shown)
    notes[FITTED] = True
    return method if fitted is None else fitted


def _encode(written: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(written)
    def encode(self: Any, split: Split) -> Any:
        return guarded_encode(written, self, split)

    return encode


def guarded_encode(written: Callable[..., Any], method: Any, split: Split) -> Any:
    """What stands around the author's `encode` or `embed`."""
    if id(method) in _inside.get():
        return written(method, split)
    info: MethodInfo = method.info
    if not getattr(method, FITTED, not hasattr(method, "__dict__")):
        raise UsageError(f"{info.name}: {info.coding} was called before fit; call fit(train) first")
    shown = shown_to(info, split, info.needs_at_encode)
    with _under_way(method):
        codes = written(method, shown)
    if info.ranks == "vectors":
        return checked_vectors(info.name, codes, len(split))
    return checked_codes(info.name, codes, getattr(method, "bits", None), len(split))


@contextlib.contextmanager
def _under_way(method: Any) -> Iterator[None]:
    limit = getattr(method, "thread_limit", None)
    token = _inside.set(_inside.get() | {id(method)})
    try:
        with at_most_threads(limit) if limit else contextlib.nullcontext():
            yield
    finally:
        _inside.reset(token)


def checked_codes(name: str, codes: Any, bits: int | None, rows: int) -> np.ndarray:
    """(rows, bits) int8 codes over {-1, +1}; the same numbers in another type are converted, others are an error."""
    array = np.asarray(codes)
    width = bits if bits is not None else array.shape[-1] if array.ndim else 1
    if array.shape != (rows, width):
        given = "None" if codes is None else f"an array of shape {array.shape}"
        raise InvalidCodes(f"{name}: encode returned {given}, expected {(rows, width)}")
    zero_one = array.dtype == bool or (array.dtype.kind in "iuf" and not array.all() and np.isin(array, (0, 1)).all())
    if zero_one:
        given = "bool" if array.dtype == bool else f"0 and 1 of type {array.dtype}"
        raise InvalidCodes(f"{name}: encode returned codes of {given}; {REMEDY}")
    try:  # block by block, since only what is scored has a limit on bits
        parts = [check_codes(array[:, k : k + MAX_BITS], name=f"{name}: encode") for k in range(0, width, MAX_BITS)]
    except InvalidCodes as error:
        raise InvalidCodes(f"{error}; {REMEDY}") from None
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def checked_vectors(name: str, vectors: Any, rows: int) -> np.ndarray:
    """(rows, columns) float32, all finite, of any number of columns."""
    array = np.asarray(vectors)
    if array.ndim != 2 or len(array) != rows or not array.shape[1] or array.dtype.kind not in "fiu":
        given = "None" if vectors is None else f"{array.dtype} of shape {array.shape}"
        raise InvalidCodes(f"{name}: embed returned {given}, expected numbers of shape ({rows}, columns)")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InvalidCodes(f"{name}: embed returned NaN or infinity in row {row}, expected finite numbers")
    return array.astype(np.float32, copy=False)


# What a method is shown


def shown_to(info: MethodInfo, split: Any, needs: Needs) -> Split:
    """What a method may see of a split, in arrays it cannot write to; the caller's own arrays stay as they are."""
    if not isinstance(split, Split):
        raise UsageError(
            f"{info.name}: given a {type(split).__name__}, expected a Split: write Split(features=..., labels=...)"
        )
    seen = split.visible(info.input, needs)
    for part in ("features", "labels"):
        object.__setattr__(seen, part, _read_only(getattr(seen, part)))
    return seen


def _read_only(array: Any) -> Any:
    if array is None:
        return None
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def missing(info: MethodInfo, train: Split) -> str | None:
    """Why these training rows lack what the method declared; None where nothing is missing."""
    if info.needs == "labels" and train.labels is None:
        has = (
            "similar pairs only"
            if train.similarity is not None
            else "triplets only"
            if train.triplets is not None
            else "none"
        )
        return f"learns from class labels, but the training split has {has}"
    if info.needs == "labels" and train.labels is not None and not train.labels.any():
        return "learns from class labels, but no training row has one"
    if info.needs == "similarity" and train.similarity is None and train.triplets is not None:
        return "learns from similar and dissimilar pairs, but the training split has triplets only"
    if info.needs == "similarity" and train.similarity is None:
        return "no similarity to learn from: the training split has neither labels nor a pair list"
    if info.needs == "triplets" and train.similarity is None and train.triplets is None:
        return "no similarity to learn from: the training split has neither labels nor a list of pairs or triplets"
    return None


class _Unsupported:
    """`unsupported(train, bits)`: what the data lack, or else what the author says of the part the method may see."""

    def __init__(self, written: Any) -> None:
        self._written = written

    def __get__(self, instance: Any, owner: type) -> Callable[[Split, int], str | None]:
        info: MethodInfo = owner.info  # type: ignore[attr-defined]
        bind = getattr(self._written, "__get__", None)
        author = bind(instance, owner) if bind else self._written

        def unsupported(train: Split, bits: int) -> str | None:
            shown = shown_to(info, train, info.needs)
            return missing(info, train) or (author(shown, bits) if author else None)

        return unsupported


# Threads


@contextlib.contextmanager
def at_most_threads(limit: int) -> Iterator[None]:
    """No more than so many threads in the libraries behind numpy and in torch; fewer stay fewer."""
    import threadpoolctl

    libraries = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    changed = [(library, library.num_threads) for library in libraries if (library.num_threads or 0) > limit]
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > limit:
        changed.append((torch, torch.get_num_threads()))
    try:
        for library, _ in changed:
            library.set_num_threads(limit)
        yield
    finally:
        for library, threads in changed:
            library.set_num_threads(threads)
