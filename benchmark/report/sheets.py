"""The frame -> sheets: what may stand in one table, and the questions every table and figure asks of it.

A sheet holds the cells of one profile, one backbone and one kind of data (real or miniature), made with the same
profile values, weights and evaluator; data sets of one name but another protocol, content or cut-off are different
columns of it. Codes that others made have no profile and no backbone: they stand in every sheet that has their data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmark.execution.record import CODES_ONLY
from benchmark.report.dataset_sweeps import variations
from benchmark.report.display_names import clean, short_hash, unique_slugs
from benchmark.report.looks import CONTROL, highlight, method_order
from benchmark.report.record_frame import SETUP
from benchmark.wording import listed

if TYPE_CHECKING:
    import pandas as pd

LONGEST_SETTING = 40  # letters of parameters behind a title
BY_HAND_ONLY = "run only with parameters given by hand"


@dataclass(frozen=True, eq=False)
class DatasetColumn:
    """One column group: a data set under one protocol, split and cut-off. `label` and `slug` are its own alone."""

    name: str
    protocol: str
    revision: str
    miniature: bool
    label: str
    slug: str


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells that may be compared with each other in one table."""

    profile: str
    backbone: str
    miniature: bool
    cells: pd.DataFrame
    extra: str = ""  # what tells it from a sheet of the same names: profile content, weights, evaluator
    slug: str = "sheet"
    heading: str = ""  # for titles; empty where the report has one sheet only
    highlight: tuple[str, ...] = ()  # methods that were asked to be put in front
    variants: pd.DataFrame | None = None  # cells of methods that were set apart, beside their base
    apart: tuple[str, ...] = ()  # labels of data sets that were set apart: balanced ones, and those of sweeps

    @property
    def words(self) -> str:
        """For sentences."""
        return f"profile {self.profile or '–'}, backbone {self.backbone or 'none'}" + (
            f", {self.extra}" if self.extra else ""
        )

    @property
    def variant_words(self) -> str:
        """Which methods stand in a table of their own, in a sentence; nothing where there is none."""
        titles = [] if self.variants is None else [title for _, title in methods(self.variants)]
        return f"Variants, in a table of their own: {listed(titles)}." if titles else ""

    @property
    def elsewhere_words(self) -> str:
        """Which methods and data sets stand in tables of their own, in sentences; nothing where there is none."""
        labels = f"Data sets, in tables of their own: {listed(self.apart)}." if self.apart else ""
        return " ".join(part for part in (self.variant_words, labels) if part)

    def datasets(self) -> list[DatasetColumn]:
        columns = ["dataset", "protocol", "revision", "miniature", "dataset_label", "dataset_slug"]
        rows = self.cells[columns].drop_duplicates("dataset_label").itertuples(index=False, name=None)
        return [DatasetColumn(*row) for row in rows]

    def of(self, dataset: DatasetColumn) -> pd.DataFrame:
        """Cells of one data set, of all methods and parameters."""
        return self.cells[self.cells["dataset_label"] == dataset.label]

    def only(self, mask: Any) -> Sheet:
        """The same sheet with some of its cells."""
        return replace(self, cells=self.cells[mask])

    def titled(self, title: str) -> str:
        """A title that says which sheet it is of, where there are several."""
        return f"{title}; {self.heading}" if self.heading else title


def sheets(table: pd.DataFrame, highlighted: Sequence[str] = ()) -> list[Sheet]:
    """Shown cells by profile, backbone, kind of data and setup, the largest sheet first."""
    if table.empty:
        return []
    shown = table[table["shown"]]
    given = shown["settings"] == CODES_ONLY
    found = _joined(_apart(shown[~given]), shown[given])
    found.sort(key=lambda sheet: -len(sheet.cells))
    return [replace(sheet, highlight=tuple(highlighted)) for sheet in _named(found)]


def _joined(found: Sequence[Sheet], given: pd.DataFrame) -> list[Sheet]:
    """With the codes that others made beside ours of the same data; those of data that nobody else has, alone."""
    import pandas as pd

    joined, alone = [], given
    for sheet in found:
        own = given[given["dataset_label"].isin(sheet.cells["dataset_label"])]
        joined.append(replace(sheet, cells=pd.concat([sheet.cells, own])) if len(own) else sheet)
        alone = alone[~alone.index.isin(own.index)]
    return joined + _apart(alone)


def _apart(shown: pd.DataFrame) -> list[Sheet]:
    """Cells by profile, backbone, kind of data and setup."""
    cells = _with_one_profile(shown)
    named = ["profile", "backbone", "miniature"]
    found = []
    for (profile, backbone, miniature), alike in cells.groupby(named, sort=False):
        for _, own in alike.groupby(SETUP, sort=False):
            found.append(Sheet(profile, backbone, bool(miniature), own, _extra(own, alike)))
    return found


def _with_one_profile(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells whose numbers depend on no profile stand beside those that do, where there is one profile only."""
    other = ["profile", "backbone", "miniature", "weights", "evaluator"]
    ids = cells["profile_id"].where(cells["profile_id"] != "")
    grouped = ids.groupby([cells[name] for name in other])
    alone = grouped.transform("nunique") == 1
    return cells.assign(profile_id=cells["profile_id"].where(~alone | ids.notna(), grouped.transform("first")))


def _extra(own: pd.DataFrame, alike: pd.DataFrame) -> str:
    """What tells these cells from others of the same profile, backbone and kind of data."""
    words = []
    if alike["profile_id"].nunique() > 1:
        words.append(f"profile content {own['profile_id'].iloc[0] or 'none'}")
    if alike["weights"].nunique() > 1:
        words.append(f"weights {_weights_name(own, alike)}")
    if alike["evaluator"].nunique() > 1:
        words.append(f"evaluator {own['evaluator'].iloc[0] or 'unknown'}")
    return ", ".join(words)


def _weights_name(own: pd.DataFrame, alike: pd.DataFrame) -> str:
    """In the user's words where they tell, else by the hash."""
    words = next((name for name in sorted(own["weights_name"]) if name), "").rpartition("/")[2]
    others = alike.loc[~alike.index.isin(own.index), "weights_name"].str.rpartition("/")[2]
    identity = own["weights"].iloc[0]
    return words if words and words not in set(others) else short_hash(identity) if identity else "none"


def _named(found: Sequence[Sheet]) -> list[Sheet]:
    """File names and headings, no two alike."""
    parts = {number: [sheet.profile, sheet.backbone or "features", sheet.extra] for number, sheet in enumerate(found)}
    wanted = {number: "-".join(part for part in words if part) for number, words in parts.items()}
    for number, sheet in enumerate(found):
        if sheet.miniature and list(wanted.values()).count(wanted[number]) > 1:
            wanted[number] += "-miniature"
    slugs = unique_slugs({(found[number].words, found[number].miniature): text for number, text in wanted.items()})
    named = []
    for sheet in found:
        kind = "miniatures" if sheet.miniature else ""
        heading = ", ".join(part for part in (sheet.words, kind) if part) if len(found) > 1 else ""
        named.append(replace(sheet, slug=slugs[sheet.words, sheet.miniature], heading=heading))
    return named


def defaults(sheet: Sheet) -> Sheet:
    """What ordinary tables show: cells with default parameters; and where a method was run with other ones only, the
    same everywhere, those, under a title that says so. What was swept has figures of its own; where nothing else was
    run, a cell without a score says so."""
    one_setting = sheet.cells.groupby("method")["params"].transform("nunique") == 1
    cells = _with_by_hand_only(sheet.cells, (sheet.cells["params"] == "") | one_setting)
    titles = [title + setting_words(params) for title, params in zip(cells["title"], cells["params"], strict=True)]
    return replace(sheet, cells=cells.assign(title=titles))


def _with_by_hand_only(cells: pd.DataFrame, ordinary: pd.Series[bool]) -> pd.DataFrame:
    """The ordinary cells, and in their columns those that one of their methods ran in another way alone: they are not
    `not run`."""
    import pandas as pd

    column = [cells["dataset_label"], cells["bits"]]
    lacking = ordinary.groupby(cells["method"]).transform("any") & ordinary.groupby(column).transform("any")
    lacking &= ~ordinary.groupby([cells["method"], *column]).transform("any")
    if not lacking.any():
        return cells[ordinary]
    own = cells[lacking].drop_duplicates(["method", "dataset_label", "bits", "seed"])
    own = own.assign(params="", status=BY_HAND_ONLY, reason=BY_HAND_ONLY)
    return pd.concat([cells[ordinary], own]).sort_index()


def setting_words(params: str) -> str:
    """` (iterations=5)`; nothing where all parameters are the defaults."""
    if not params:
        return ""
    told = ", ".join(f"{name}={value}" for name, value in json.loads(params).items())
    return f" ({clean(told, LONGEST_SETTING)})"


def main_sheet(sheet: Sheet) -> Sheet:
    """Without the variants, the variations and the data sets that have tables of their own."""
    cells, variant = sheet.cells, is_variant(sheet.cells)
    away = cells["dataset_label"].isin(variations(cells))
    for one in highlight().apart:
        away |= cells["dataset"].str.contains(one.contains, regex=False)
    apart = tuple(cells.loc[away, "dataset_label"].unique())
    return replace(sheet.only(~away & ~variant), variants=cells[~away & variant], apart=apart)


def is_variant(cells: pd.DataFrame) -> pd.Series[bool]:
    """Whether a cell is one of a variant whose base is there, too; without its base it is a method like others."""
    there = set(cells["method"])
    names = [name for one in highlight().ablations if one.base in there for name in one.variants]
    return cells["method"].isin(names)


def scored(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that ended well."""
    return cells[cells["status"] == "ok"]


def competitors(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of what is compared and ranked: of all but the controls."""
    return cells[cells["family"] != CONTROL]


def controls(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """(name, title) of what is never ranked, in the order of tables, where it stands last."""
    return methods(cells[cells["family"] == CONTROL])


def curve_bits(cells: pd.DataFrame) -> int:
    """Bits at which one length is shown: the longest that all methods have, or, if none is, that most of them have."""
    good = scored(cells) if len(scored(cells)) else cells
    own = competitors(good) if len(competitors(good)) else good
    have = own.groupby("bits")["method"].nunique()
    return int(have.index[have == have.max()].max())


def at_curve_bits(sheet: Sheet, dataset: DatasetColumn) -> tuple[pd.DataFrame, int]:
    """Scored cells of a data set at the bits its curves are shown at."""
    cells = scored(sheet.of(dataset))
    bits = curve_bits(cells)
    return cells[cells["bits"] == bits], bits


def leading(cells: pd.DataFrame, wanted: Sequence[str] = ()) -> list[str]:
    """The methods shown side by side: those wanted, else the highlighted pair, else the two of highest MAP, no control.

    Of what is wanted, those that have cells here.
    """
    pair, there = highlight().pair, set(cells["method"])
    if there & set(wanted):
        return [name for name in wanted if name in there]
    if set(pair) <= there:
        return list(pair)
    order = competitors(cells).groupby("method")["map"].mean().sort_values(ascending=False, kind="stable")
    return [str(method) for method in order.index[:2]]


def chance_level(cells: pd.DataFrame) -> float | None:
    """MAP of a random ranking on the data set of these cells."""
    known = cells["chance_map"].dropna().tolist() if "chance_map" in cells else []
    return float(known[0]) if known else None


def cutoff(cells: pd.DataFrame) -> str:
    """k of MAP@k, or "all"."""
    known = cells["cutoff"].dropna().unique()
    return ", ".join(str(int(k) or "all") for k in sorted(known)) or "–"


def map_at(cells: pd.DataFrame) -> str:
    """`MAP@100`, or `MAP@k` where data sets have different cut-offs."""
    k = cutoff(cells)
    return "MAP@k" if "," in k or k == "–" else f"MAP@{k}"


def methods(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """(name, title) of the methods in the order of tables."""
    rows = cells[["method", "title", "family"]].drop_duplicates("method").itertuples(index=False, name=None)
    return [(name, title) for name, title, family in sorted(rows, key=lambda row: method_order(row[0], row[2]))]


def mixtures(sheet: Sheet) -> list[str]:
    """What should be one thing in a sheet and is several: said beside its numbers."""
    cells, said = scored(sheet.cells), []
    for column, words in (("versions", "library versions"), ("machine", "machines")):
        if cells[column].nunique() > 1:
            said.append(f"The cells were made under {cells[column].nunique()} different {words} (see provenance).")
    several = [title for name, title in methods(cells) if _of_different_code(cells[cells["method"] == name]["sources"])]
    if several:
        said.append(f"Cells of {', '.join(several)} were made by different versions of the method's code.")
    return [f"{line[:-1]} ({sheet.heading})." if sheet.heading else line for line in said]


def _of_different_code(sources: Iterable[str]) -> bool:
    """Whether one file has two hashes; that a cell used a file that another did not need says nothing."""
    known: dict[str, str] = {}
    for one in {text for text in sources if text}:
        files = json.loads(one)
        for name, value in files.items() if isinstance(files, dict) else [("", one)]:
            if known.setdefault(name, value) != value:
                return True
    return False
