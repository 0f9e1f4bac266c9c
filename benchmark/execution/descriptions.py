"""What a record of somebody else says of its method and its data set, beside numbers: names, titles, family, what is
learned from, whether they are miniatures. Such words decide in which row a number stands, and under which heading.

Where the method or the data set is registered here, the words must be theirs. Where it is not, they are kept as long as
they clash with nothing here, and it is said that nobody has checked them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from benchmark.contracts import Family, HashDataset, Needs
from benchmark.errors import UsageError
from benchmark.execution.given_codes import check_free_name, title_of_codes
from benchmark.execution.provenance import packages
from benchmark.execution.record import Record
from benchmark.registry import Registry, datasets, get_dataset, methods, plugin_file, plugin_of

Words = Mapping[str, Any]  # field of a record -> what stands there, None where nothing does
REVISION = "parts.dataset.revision"
FILLED_IN = ("titles.method", "titles.dataset", "titles.needs", "family")  # as records of earlier versions lack them
KINDS = {"family": get_args(Family), "titles.needs": get_args(Needs)}
PACKAGE, VERSION = r"\w[\w.-]*", r"\w[\w.+!-]*"  # of what people are told to install


class Owner(NamedTuple):
    """Whose words they are, where it is registered, and the fields: of its name, of what makes it the same thing, of
    its title, and all that is said of it."""

    what: str
    registry: Registry[Any]
    name: str
    same: str
    title: str
    fields: tuple[str, ...]


METHOD = Owner(
    what="method",
    registry=methods,
    name="cell.method",
    same="cell.method",
    title="titles.method",
    fields=("titles.method", "family", "titles.needs"),
)
DATA = Owner(
    what="data set",
    registry=datasets,
    name="cell.dataset",
    same=REVISION,
    title="titles.dataset",
    fields=("titles.dataset", "miniature", "cell.dataset", "cell.protocol"),
)


class Described(NamedTuple):
    """A record whose words may stand here, and whose of them nobody has checked."""

    record: Record
    unchecked: str


def described(record: Record, dataset: HashDataset | None, ours: Collection[Words]) -> Described:
    """The record as it may stand beside others, whose words `ours` are; UsageError names the first word that may not.

    `dataset` is that of the record, if it is at hand. What a record does not say is filled in.
    """
    told, of_method, of_data = words_of(record), _of_method(record), _of_data(record, dataset)
    for owner, true in ((METHOD, of_method), (DATA, of_data)):
        for field, value in true.items():
            if told[field] != value and not (told[field] is None and field in FILLED_IN):
                whose = f"the {owner.what} '{told[owner.name]}'"
                raise UsageError(f"its {field} is {told[field]!r}, that of {whose} here is {value!r}")
    strange = ([] if of_method else [METHOD]) + ([] if dataset is not None else [DATA])
    for owner in [*strange, *([METHOD] if record.codes_only else [])]:
        _refuse_clashes(owner, told, ours)
    words = {**told, **of_method, **of_data}
    titles = {name: words[f"titles.{name}"] for name in ("method", "dataset", "needs") if words[f"titles.{name}"]}
    titles |= _plugin_files(record, dataset)
    again = replace(record, titles=titles, family=words["family"] or "", miniature=words["miniature"])
    return Described(again, " and ".join(f"{owner.what} '{told[owner.name]}'" for owner in strange))


def words_of(record: Record) -> Words:
    """All that is compared."""
    return {
        **{f"titles.{name}": record.titles.get(name) for name in ("method", "dataset", "needs")},
        **{f"cell.{name}": record.cell.get(name) for name in ("method", "dataset", "protocol")},
        **{f"parts.dataset.{name}": record.parts["dataset"].get(name) for name in ("revision", "map_cutoff")},
        "family": record.family or None,
        "miniature": record.miniature,
    }


# What is true here


def _of_method(record: Record) -> Words:
    """What the words must be; nothing where the method is not known here."""
    name = str(record.cell["method"])
    if record.codes_only:
        return {"titles.method": title_of_codes(check_free_name(name)), "family": None, "titles.needs": None}
    if name not in methods.names():
        return {}
    info = methods.get(name).info
    return {"titles.method": info.title, "family": info.family, "titles.needs": info.needs}


def _of_data(record: Record, dataset: HashDataset | None) -> Words:
    """The same of the data set: all of it where it is at hand, else what its class says, if it is known."""
    if dataset is not None:
        return {
            "cell.dataset": dataset.name,
            "cell.protocol": dataset.protocol,
            "parts.dataset.map_cutoff": dataset.map_cutoff,
            "titles.dataset": dataset.title,
            "miniature": dataset.miniature,
        }
    name, asked = str(record.cell["dataset"]), record.asked
    if name not in datasets.names() or datasets.get(name).info.takes:
        return {}
    kind = str(asked.get("dataset")).partition(":")[0]
    if kind != name and (kind not in datasets.names() or datasets.get(kind).info.stand_in != name):
        raise UsageError(f"its asked.dataset is {asked.get('dataset')!r}, expected '{name}', which its cell.dataset is")
    _refuse_other_revision(name, asked)
    cls, title = datasets.get(name), str(record.titles.get("dataset"))
    variation = title.startswith(f"{cls.info.title}, ")  # "MS-COCO, 25 % unseen"
    own = {"miniature": cls.miniature} if isinstance(getattr(cls, "miniature", None), bool) else {}
    return {"titles.dataset": title if variation else cls.info.title, **own}


def _refuse_other_revision(name: str, asked: Words) -> None:
    """Of a data set that is made without files: it is here, and what is not the same is not that data set."""
    try:
        here = get_dataset(name, **asked.get("options", {}))
    except UsageError:
        if asked.get("data_root") is None:
            raise
        return
    if here.name == name:  # not its stand-in
        raise UsageError(f"its {REVISION} is not that of '{name}' here ({here.revision}): run it again by this version")


def _plugin_files(record: Record, dataset: HashDataset | None) -> dict[str, str]:
    """The files to give for its plugins: those of the classes where all are here. Packages that people are told to
    install must be theirs, too, or at least have names of packages."""
    name, kind = str(record.cell["method"]), str(record.asked.get("dataset")).partition(":")[0]
    told, files = record.provenance.get("packages"), record.titles.get("plugins", "").splitlines()
    sound = isinstance(told, Mapping) and all(
        re.fullmatch(PACKAGE, str(package)) and re.fullmatch(VERSION, str(version)) for package, version in told.items()
    )
    if dataset is not None and name in methods.names():
        classes: list[Any] = [methods.get(name), datasets.get(kind), plugin_of(dataset)]
        files = [file for file in dict.fromkeys(map(plugin_file, classes)) if file]
        known = packages(one.info.entry for one in classes if one.info.entry)
        sound = sound and all(package in known for package in told or ())
    if told is not None and not sound:
        raise UsageError(f"its provenance.packages is {told!r}, expected those that its method and data set come with")
    return {"plugins": "\n".join(files)} if files else {}


# What clashes with what is here


def _refuse_clashes(owner: Owner, told: Words, ours: Collection[Words]) -> None:
    """Words that nobody can check must be those of our records of the same thing, and its title nobody else's."""
    for field, known in KINDS.items():
        if told[field] is not None and told[field] not in known:
            raise UsageError(f"its {field} is {told[field]!r}, expected one of {', '.join(known)}")
    called = {(_plain(cls.info.title), str(cls.info.name)) for cls in owner.registry}
    for other in ours:
        called.add((_plain(other[owner.title] or other[owner.name]), str(other[owner.name])))
        for field in owner.fields if other[owner.same] == told[owner.same] else ():
            if None not in (told[field], other[field]) and told[field] != other[field]:
                raise UsageError(f"its {field} is {told[field]!r}, in the records here it is {other[field]!r}")
    title = _plain(told[owner.title] or told[owner.name])
    others = [name for one, name in sorted(called) if one == title]
    if others and str(told[owner.name]) not in others:
        whose = f"the {owner.what} '{others[0]}' here"
        raise UsageError(f"its {owner.title} is {told[owner.title]!r}, which is that of {whose}")


def _plain(text: Any) -> str:
    """What a reader takes for the same title."""
    return " ".join(str(text).casefold().split())
