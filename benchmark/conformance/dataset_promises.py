"""The promises of a data set, one small check each, and `DATASET_CHECKS`, all of them in order."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmark.conformance.changed_files import changed_one_by_one, elsewhere
from benchmark.conformance.dataset_trial import DECODED, DatasetTrial, content_digest, spread_rows
from benchmark.conformance.trial_data import split_arrays
from benchmark.conformance.verdicts import Broken, Reason, Untested, blamed, error_text, require
from benchmark.errors import UsageError
from benchmark.wording import counted

NO_RECIPE = (
    "it cannot be built anew: give the class of a plugin file, or its name, not an instance or a class of a script"
)
ALL_OR_NONE = "give them for all parts, or for none to have them computed from the images"


def check_builds(trial: DatasetTrial) -> None:
    """cls(argument, data_root=..., **options) builds it."""
    with blamed("it cannot be built"):
        _ = trial.dataset


def check_attributes(trial: DatasetTrial) -> None:
    """name, title, protocol and revision are texts, map_cutoff is 0 or more, miniature a bool, backbone a name."""
    dataset = trial.dataset
    for name in ("name", "title", "protocol", "revision"):
        value = getattr(dataset, name, None)
        good = isinstance(value, str) and bool(value.strip()) and "\n" not in value
        require(good, f"{name} is {value!r}, expected a line of text")
    cutoff = getattr(dataset, "map_cutoff", None)
    whole = isinstance(cutoff, (int, np.integer)) and not isinstance(cutoff, bool)
    require(whole and int(cutoff or 0) >= 0, f"map_cutoff is {cutoff!r}, expected a whole number, 0 for all")
    miniature, backbone = getattr(dataset, "miniature", None), getattr(dataset, "backbone", 0)
    require(isinstance(miniature, bool), f"miniature is {miniature!r}, expected True or False")
    named = backbone is None or (isinstance(backbone, str) and bool(backbone))
    require(named, f"backbone is {backbone!r}, expected a name, or None for features")


def check_construction_is_cheap(trial: DatasetTrial) -> Reason:
    """Importing the file, building the data set and reading its attributes load no torch and open no image."""
    found = trial.probed
    if found is None:
        return NO_RECIPE
    require(not found["torch"], "building it imports torch; import it inside load()")
    require(not found["images"], f"building it opens {''.join(found['images'])}; leave that to load()")
    return None


def check_sound_data_pass(trial: DatasetTrial) -> None:
    """check() accepts the data it is given here, and load() gives splits."""
    trial.dataset.check()
    with blamed("load failed"):
        _ = trial.splits


def check_missing_data_are_a_usage_error(trial: DatasetTrial) -> Reason:
    """Data that are not there are a UsageError of the constructor or of check(), never another."""
    _ = trial.dataset
    if trial.recipe is None:
        return NO_RECIPE
    given = trial.recipe.argument
    with elsewhere() as folder:
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
                raise Broken(f"missing data give {error_text(error)}, expected a UsageError that names them") from error
    return None if wrong else "it needs nothing on disk"


def check_revision_is_stable(trial: DatasetTrial) -> None:
    """The revision is the same whenever it is read, and in two instances."""
    first = trial.dataset.revision
    require(first == trial.dataset.revision, "the revision changes from one reading to the next")
    if trial.recipe is not None:
        require(first == trial.recipe.build().revision, "a second instance has another revision")


def check_same_in_a_fresh_process(trial: DatasetTrial) -> Reason:
    """Another process finds the same revision and the same rows: nothing depends on hash order or time."""
    found = trial.probed
    if found is None:
        return NO_RECIPE
    if trial.recipe is not None and trial.recipe.build().revision != trial.dataset.revision:
        raise Untested("a second instance has another revision anyway")
    require(found["revision"] == trial.dataset.revision, "a fresh process finds another revision")
    require(found["content"] == content_digest(trial.splits), "a fresh process loads other rows")
    return None


def check_revision_follows_the_content(trial: DatasetTrial) -> Reason:
    """Where an image or a feature changes, the revision changes: else old results would pass for new ones."""
    if trial.recipe is None:
        return NO_RECIPE
    _ = trial.splits
    with elsewhere() as folder:
        recipe = trial.recipe.moved(folder)
        if recipe is None:
            return "it has no data on disk, or too many to try a change on a copy"
        before = recipe.build()
        revision, content = before.revision, content_digest(before.load(), whole=True)
        for path in changed_one_by_one(folder):
            after = recipe.build()
            if content_digest(after.load(), whole=True) != content:
                told = f"the content of {path.name} changed, and the rows with it, but the revision did not"
                require(after.revision != revision, told)
                return None
    return "no image or array file could be changed that its rows are made of"


def check_revision_follows_the_options(trial: DatasetTrial) -> Reason:
    """Where an option changes the rows, the revision changes: else old results would pass for new ones."""
    if trial.recipe is None:
        return NO_RECIPE
    revision, content = trial.dataset.revision, content_digest(trial.splits)
    if content != content_digest(trial.again):
        raise Untested("loading twice gives other rows anyway")
    tried = False
    for how, recipe in trial.recipe.varied():
        try:
            other = recipe.build()
            other.check()
            changed = content_digest(other.load()) != content
        except (Exception, SystemExit):  # that value may be none
            continue
        tried = True
        told = f"{how} it loads other rows under the same revision; name the option in it"
        require(not changed or other.revision != revision, told)
    return None if tried else "it has no option, or none of which another value is known"


def check_splits_agree(trial: DatasetTrial) -> None:
    """No part is empty; query and database are labelled; images are in all parts or in none, and features too."""
    splits = trial.splits
    for name, split in splits.parts().items():
        require(len(split) > 0, f"{name} is empty")
        require(split.features is not None or split.images is not None, f"{name} has neither features nor images")
    for name in ("query", "database"):
        require(splits.parts()[name].labels is not None, f"{name} has no labels, without which nothing can be scored")
    kinds = {name: split.images is not None for name, split in splits.parts().items()}
    require(len(set(kinds.values())) == 1, "some parts have images and some have not")
    lacking = [name for name, split in splits.parts().items() if split.features is None]
    told = f"it gives features, but none for {', '.join(lacking)}: cells of methods on features fail; {ALL_OR_NONE}"
    require(len(lacking) in (0, len(splits.parts())), told)


def check_label_widths(trial: DatasetTrial) -> None:
    """All parts are labelled in the same classes, and class_names names each of them."""
    parts = trial.splits.parts().items()
    widths = {name: split.labels.shape[1] for name, split in parts if split.labels is not None and len(split)}
    require(len(set(widths.values())) <= 1, f"label widths differ: {widths}")
    names = trial.splits.class_names
    width = next(iter(widths.values()), None)
    fits = names is None or width is None or len(names) == width
    require(fits, f"{counted(len(names or ()), 'class name')} for {counted(width or 0, 'class', 'classes')}")


def check_no_query_in_the_database(trial: DatasetTrial) -> None:
    """The audit finds no error, above all no query that is in the database."""
    from benchmark.data.audit import audit

    if any(len(split) == 0 for split in trial.splits.parts().values()):
        raise Untested("a part is empty")
    cutoff = getattr(trial.dataset, "map_cutoff", None)
    errors = audit(trial.splits, cutoff if isinstance(cutoff, int) and cutoff >= 0 else 1).errors
    require(not errors, "; ".join(map(str, errors)))


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
        for row in spread_rows(len(split), DECODED):
            image = split.images[int(row)]
            good = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
            require(good, f"{name} image {row} is {image.dtype} {image.shape}, expected uint8 (height, width, 3)")
    return None


def check_features_are_finite(trial: DatasetTrial) -> Reason:
    """Features, where there are any, are finite numbers, equally many in each part."""
    found = {name: split.features for name, split in trial.splits.parts().items() if split.features is not None}
    if not found:
        return "it has no features"
    for name, features in found.items():
        finite = features.dtype.kind in "fiu" and bool(np.isfinite(features).all())
        require(finite, f"{name}: features are not finite numbers")
    widths = {name: features.shape[1] for name, features in found.items()}
    require(len(set(widths.values())) == 1, f"feature widths differ: {widths}")
    return None


def check_loading_twice_gives_equal_rows(trial: DatasetTrial) -> None:
    """load() gives the same rows in the same order every time."""
    require(content_digest(trial.splits) == content_digest(trial.again), "loading twice gave different rows")


def check_loads_share_no_array(trial: DatasetTrial) -> None:
    """What one load gave can be written to without changing what another gave; read-only arrays may be shared."""
    for name, split in trial.splits.parts().items():
        for other in trial.again.parts().values():
            for kind, array in split_arrays(split).items():
                twin = split_arrays(other).get(kind)
                if twin is None or not (array.flags.writeable or twin.flags.writeable):
                    continue
                told = f"{name}.{kind} is one writable array in two loads; copy it, or make it read-only"
                require(not np.may_share_memory(array, twin), told)


def check_splits_can_be_pickled(trial: DatasetTrial) -> None:
    """Splits travel to other processes and arrive as they were."""
    splits = trial.splits
    try:
        twin = pickle.loads(pickle.dumps(splits))
    except Exception as error:
        raise Broken(f"the splits cannot be pickled: {error_text(error)}") from error
    require(content_digest(twin) == content_digest(splits), "the splits are other ones after pickling")


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
    check_revision_follows_the_options,
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
