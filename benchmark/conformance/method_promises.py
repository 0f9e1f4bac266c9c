"""The promises of a method, one small check each, and `METHOD_CHECKS`, all of them in order."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable

import numpy as np

from benchmark.conformance.fresh_process import digest_of, loadable
from benchmark.conformance.method_trial import BIT_LENGTHS, NO_FILE, MethodTrial
from benchmark.conformance.trial_data import CLASSES, easy_data, listed_triplets, same_rows
from benchmark.conformance.verdicts import Broken, Reason, Untested, blamed, error_text, require
from benchmark.contracts import Split
from benchmark.evaluation.codes import check_codes
from benchmark.evaluation.metrics import evaluate
from benchmark.models.learned import Unkept


def check_can_be_built(trial: MethodTrial) -> None:
    """cls(bits, seed) builds it, whatever the bits: what it cannot do is for `unsupported` to say."""
    for bits in BIT_LENGTHS:
        with blamed(f"it cannot be built with {bits} bits"):
            trial.built(bits)


def check_declines_with_a_reason(trial: MethodTrial) -> None:
    """`unsupported(train, bits)`, where there is one, gives None or says why not, and not always."""
    for bits in BIT_LENGTHS:
        trial.built(bits)
        with blamed(f"unsupported(train, {bits}) failed"):
            reason = trial.declined(bits)
        good = reason is None or (isinstance(reason, str) and bool(reason.strip()))
        require(good, f"unsupported(train, {bits}) gave {reason!r}, expected None or a sentence")
    with blamed("unsupported leaves nothing"):
        _ = trial.lengths


def check_fits_on_what_it_declared(trial: MethodTrial) -> None:
    """fit works when given what was declared (`input`, `needs`), and everything else is withheld."""
    info = trial.cls.info
    _ = trial.bits  # if there is none, that is another promise's part to say
    withheld = "train.labels and train.similarity are None" if info.needs == "nothing" else "train.labels is None"
    told = "" if info.needs == "labels" else f"; {withheld}"
    with blamed(f"fit failed (declared: input={info.input!r}, needs={info.needs!r}{told})"):
        trial.fitted()


def check_fit_returns_self(trial: MethodTrial) -> None:
    """fit returns the method, so that calls can be chained."""
    returned = trial.first_fit().returned
    require(returned is trial.fitted(), f"fit returns {type(returned).__name__}, not self")


def check_codes_are_plus_minus_one(trial: MethodTrial) -> None:
    """encode returns (n, bits) codes over {-1, +1}, as int8; embed, where it stands for it, (n, d) float32."""
    trial.fitted()
    with blamed(f"{trial.cls.info.coding} failed"):
        codes = trial.encoded()
    if trial.cls.info.ranks == "codes":
        check_codes(codes, bits=trial.bits, rows=len(trial.query()))
    kind = np.int8 if trial.cls.info.ranks == "codes" else np.float32
    require(codes.dtype == kind, f"{trial.cls.info.ranks} are {codes.dtype}, expected {np.dtype(kind)}")


def check_single_row(trial: MethodTrial) -> None:
    """One row can be encoded."""
    _require_shape(trial, trial.query().take(np.array([3])))


def check_no_rows(trial: MethodTrial) -> None:
    """No row gives no code: (0, bits)."""
    _require_shape(trial, trial.query().take(np.array([], np.int64)))


def _require_shape(trial: MethodTrial, rows: Split) -> None:
    expected = (len(rows), trial.codes().shape[1])
    shape = np.shape(trial.encode(trial.fitted(), rows))
    require(shape == expected, f"{len(rows)} rows gave codes of shape {shape}, expected {expected}")


def check_encode_twice_is_the_same(trial: MethodTrial) -> None:
    """encode changes nothing."""
    codes, again = trial.codes(), trial.encode(trial.fitted(), trial.query())
    require(np.array_equal(codes, again), "encoding twice gives two results")


def check_encode_ignores_batch_and_order(trial: MethodTrial) -> None:
    """A row's code depends on the row alone: not on its neighbours or its place."""
    method, codes, query = trial.fitted(), trial.codes(), trial.query()
    order = np.random.default_rng(0).permutation(len(query))
    turned = trial.encode(method, query.take(order))
    require(np.array_equal(turned, codes[order]), "codes change with the order of rows")
    part = np.arange(0, len(query), 7)
    few = trial.encode(method, trial.query().take(part))
    require(np.array_equal(few, codes[part]), "codes change with the batch")


def check_can_be_copied(trial: MethodTrial) -> None:
    """A deep copy of a fitted method encodes the same."""
    known, twin = trial.codes(), copy.deepcopy(trial.fitted())
    require(np.array_equal(known, trial.encode(twin, trial.query())), "a copy encodes differently")


def check_input_untouched(trial: MethodTrial) -> None:
    """Neither fit nor encode changes what it is given."""
    trial.codes()
    require(same_rows(trial.first_fit().train, trial.train()), "fit changed an array that it was given")
    query = trial.query()
    trial.encode(trial.fitted(), query)
    require(same_rows(query, trial.query()), "encode changed an array that it was given")


def check_better_than_random(trial: MethodTrial) -> Reason:
    """On well-separated classes the codes retrieve better than random codes."""
    if trial.cls.info.family == "control":
        return "a control need not be good"
    train, query = easy_data(images=trial.images)
    found = trial.codes(), trial.fitted().encode(trial.to_encode(train))
    _require_better(found, query, train)
    return None


def _require_better(codes: tuple[np.ndarray, np.ndarray], query: Split, train: Split) -> None:
    try:
        found = evaluate(*codes, query.labels, train.labels, k=len(train)).map
    except ValueError as error:
        raise Untested(f"these are no codes: {error}") from error
    require(found > 1.3 / CLASSES, f"MAP {found:.3f} on an easy problem where chance is {1 / CLASSES:.3f}")


def check_read_only_input(trial: MethodTrial) -> None:
    """Arrays that must not be written to are accepted."""
    trial.codes()
    working = [bits for bits in trial.other_lengths if _works(trial, bits)]
    if not working:
        raise Untested("no further number of bits works")
    for bits in working:
        with blamed("read-only rows are not accepted"):
            trial.other(bits)


def _works(trial: MethodTrial, bits: int) -> bool:
    try:
        trial.of_length(bits)
    except Untested:
        return False
    return True


def check_instances_share_nothing(trial: MethodTrial) -> None:
    """Two instances do not share what they learned."""
    codes, told = trial.codes(), "fitting another instance changed this one; keep what is learned on self"
    _fit_others(trial)
    try:
        encoded = trial.encode(trial.fitted(), trial.query())
    except Exception as error:  # what it learned of another length has another shape
        raise Broken(f"{told}: {error_text(error)}") from error
    require(np.array_equal(codes, encoded), told)


def _fit_others(trial: MethodTrial) -> None:
    """Whether they work is for other promises to say."""
    for bits in trial.other_lengths:
        with contextlib.suppress(Untested):
            trial.other(bits)


def check_global_random_state_untouched(trial: MethodTrial) -> None:
    """The global generators of random, numpy and torch are left as they were."""
    trial.codes()
    _fit_others(trial)  # the first fit may be what loads torch, and there is nothing to compare its generator with
    require(trial.random_state_kept, "a global random generator was used or reseeded; use one of your own")


def check_same_seed_same_codes(trial: MethodTrial) -> None:
    """The same seed gives the same codes."""
    codes = trial.codes()
    if trial.doubt is not None:
        with blamed("fitting a second instance failed"):
            repeated = trial.repeated()
        require(np.array_equal(codes, repeated), "the same seed gave different codes")


def check_fitting_again_forgets(trial: MethodTrial) -> None:
    """A method that was fitted before, on other rows, gives the codes that it gives without."""
    trial.codes()
    if trial.doubt is not None:
        codes = trial.reproducible_codes()
        with blamed("fitting the same instance again failed"):
            again = trial.refitted()
        require(np.array_equal(codes, again), "an instance that was fitted before gave different codes; begin anew")


def check_withheld_labels_do_not_matter(trial: MethodTrial) -> Reason:
    """Labels that were not declared change nothing: not their names where pairs were declared, else nothing at all."""
    needs = trial.cls.info.needs
    if needs == "labels":
        return "it declared needs='labels'"
    trial.codes()
    if trial.doubt is not None:
        codes = trial.reproducible_codes()
        told = f"codes change with labels that are withheld (needs={needs!r}); declare needs='labels'"
        with blamed(told):
            without = trial.with_other_labels()
        require(np.array_equal(codes, without), told)
    return None


def check_every_bit_length(trial: MethodTrial) -> None:
    """Any number of bits works, or is declined with a reason."""
    trial.codes()
    for bits in trial.other_lengths:
        with blamed(f"{bits} bits neither work nor are declined by unsupported(train, bits)"):
            shape = np.shape(trial.of_length(bits))
        width = bits if trial.cls.info.ranks == "codes" else trial.codes().shape[1]
        require(shape == (len(trial.query()), width), f"{bits} bits give codes of shape {shape}")


def check_unfitted_error(trial: MethodTrial) -> None:
    """encode before fit is an error that says so."""
    method, query = trial.built(trial.bits), trial.query()
    try:
        trial.encode(method, query)
    except Exception as error:
        require("fit" in str(error).lower(), f"the error does not say to call fit first: {error!r}")
    else:
        raise Broken("encoding before fit gave codes; raise an error that says to call fit first")


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
    codes = [trial.encode(method, trial.to_encode(split)) for split in (query, train)]
    if trial.cls.info.ranks == "codes":
        check_codes(codes[0], bits=trial.bits, rows=len(query))
    if trial.cls.info.family != "control":
        _require_better((codes[0], codes[1]), query, train)
    return None


def check_triplet_list_too(trial: MethodTrial) -> Reason:
    """A method on triplets learns from a list of them: not only from triplets of similar and dissimilar pairs."""
    if trial.cls.info.needs != "triplets":
        return f"it declared needs={trial.cls.info.needs!r}"
    train, query = easy_data(images=trial.images)
    method = trial.build(trial.bits)
    with blamed("fit failed on a list of triplets (train.similarity is None)"):
        method.fit(trial.shown(listed_triplets(train)))
    codes = [trial.encode(method, trial.to_encode(split)) for split in (query, train)]
    _require_better((codes[0], codes[1]), query, train)
    return None


def check_same_seed_same_codes_in_a_fresh_process(trial: MethodTrial) -> Reason:
    """The same seed gives the same codes in another process: nothing depends on hash order or on what ran before."""
    if not loadable(trial.cls):
        return NO_FILE
    trial.codes()
    if trial.doubt is not None:
        _require_kept_here(trial)
        raise Broken(trial.doubt)
    return None


def check_a_kept_model_encodes_the_same(trial: MethodTrial) -> Reason:
    """What is kept of a fitted method is all that it encodes by: loaded, in a fresh process, it gives the same."""
    here = digest_of(trial.codes())
    try:
        trial.kept()
    except Unkept as error:
        return f"it cannot be kept: {error}"
    there = trial.loaded_digest()
    told = "other codes" if len(there) == len(here) and " " not in there else there
    require(there == here, f"a model that was kept and loaded gives {told}; give it keep() and restore(kept)")
    return None


def _require_kept_here(trial: MethodTrial) -> None:
    """What else a fresh process shows is kept in this one, so that only the process is left to blame."""
    for check in (check_same_seed_same_codes, check_fitting_again_forgets, check_withheld_labels_do_not_matter):
        try:
            check(trial)
        except (Broken, Untested) as error:
            raise Untested(f"in one process neither: {error}") from error


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
    check_better_than_random,
    check_read_only_input,
    check_instances_share_nothing,
    check_global_random_state_untouched,
    check_same_seed_same_codes,
    check_fitting_again_forgets,
    check_withheld_labels_do_not_matter,
    check_every_bit_length,
    check_unfitted_error,
    check_images_too,
    check_triplet_list_too,
    check_a_kept_model_encodes_the_same,
    check_same_seed_same_codes_in_a_fresh_process,
)
