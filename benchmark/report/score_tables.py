"""What the tables of scores, costs and health say: sheet -> Table. Ranks are in ranks.py, formats in table.py."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmark.evaluation.statistics import holm, paired_tests
from benchmark.execution.record import CODES_ONLY
from benchmark.report.common_field import fewer_seeds
from benchmark.report.dataset_sweeps import dataset_sweeps
from benchmark.report.display_names import clean, slug
from benchmark.report.looks import Ablation, highlight
from benchmark.report.published import Published, measured_alike
from benchmark.report.sheets import (
    DatasetColumn,
    Sheet,
    chance_level,
    competitors,
    controls,
    curve_bits,
    cutoff,
    is_variant,
    main_sheet,
    map_at,
    methods,
    mixtures,
    scored,
)
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import DASH, Column, Entry, Table, number, text
from benchmark.wording import sentence, some_listed

if TYPE_CHECKING:
    import pandas as pd

SURE = 0.05
FEW_SEEDS = 3
TOLD_OF_SEEDS = "tests count the variance over seeds beside that over queries"
TESTED = (
    "on per-query AP, by a paired permutation test where both have one seed, else by a t test whose variance is that "
    "over queries and that over seeds (a method with one seed is taken to vary as its rival)"
)
MARK = f"* the best differs from the runner-up, p < {SURE}, Holm-corrected over the table: {TESTED}."
UNSURE = f"No best surely differs from its runner-up (p < {SURE}, Holm-corrected over the table: {TESTED})."
BOLD = "Among the scores of a column the best is bold, the second underlined, ties at the printed precision included."
CONTROLS = "Controls ({}) stand apart at the end, and grey in figures: no methods, and never ranked or tested."
SCALED = {
    "center-l2": "centred on the training rows and made of unit length",
    "center": "centred on the training rows",
    "l2": "made of unit length",
    "none": "as they are",
}
GROUPS = {"head": "Head", "middle": "Middle", "tail": "Tail"}


# --- captions ----------------------------------------------------------------------------------------------


def caption(sheet: Sheet, *, spreads: bool = True) -> str:
    """How the numbers were made: data sets with split and k, conventions, seeds, backbone, profile.

    `spreads`: whether the table prints them where there are several seeds.
    """
    cells = scored(sheet.cells)
    return (
        f"{'; '.join(dataset_words(sheet, dataset) for dataset in sheet.datasets())}. "
        f"Ties: {_words(cells, 'ties')}; AP divided by: {_words(cells, 'denominator')}; "
        f"query without a hit: {_words(cells, 'empty')}; {seed_words(cells, spreads)}; "
        f"backbone: {sheet.backbone or 'none (given features)'}; "
        f"{f'features: {used}; ' if (used := feature_words(cells)) else ''}profile: {sheet.profile or DASH}"
        f"{'; ' if sheet.extra else ''}{sheet.extra}; settings: {settings_words(cells)}."
    )


def seed_words(cells: pd.DataFrame, spreads: bool = True) -> str:
    """Which seeds, what ± is, and how seeds enter the tests, where there are any: only what is true of these cells."""
    seeds = [str(seed) for seed in sorted(cells["seed"].unique())]
    tested = competitors(cells)["method"].nunique() > 1
    if len(seeds) < 2:
        of = ", so that tests and intervals speak of queries, not of other trainings" if tested else ""
        return f"seed {_or_dash(seeds)} alone{of}"
    each = cells.groupby(["dataset_label", "bits", "method", "params"])["seed"].nunique()
    most, short = int(each.max()), fewer_seeds(cells)
    if most == 1:
        of = ", so that tests and intervals speak of queries alone" if tested else ""
        return f"one seed a cell ({', '.join(seeds)}){of}"
    many = f"{each.min()} to {most}" if each.min() < most else f"{most}"
    means = "mean ± standard deviation (n − 1)" if spreads else "mean"
    whose = f"; fewer of {some_listed(short)}" if short else ""
    few = f", of which {most} seeds tell little: large differences may stay unsure" if most <= FEW_SEEDS else ""
    of = f"; {TOLD_OF_SEEDS}{few}" if tested else ""
    return f"{means} over {many} seeds ({', '.join(seeds)}{whose}){of}"


def feature_words(cells: pd.DataFrame) -> str:
    """How features are reduced and scaled before anything is learned from them, where no setting says otherwise: it
    decides as much as the method does. Nothing where nobody is known to see features."""
    from benchmark.registry import methods as registered

    found = [registered.get(name).info.parameters for name, _ in methods(cells) if name in registered.names()]
    modes = sorted({str(parameters["scaling"]) for parameters in found if "scaling" in parameters})
    if not modes:
        return ""
    components = int(cells["components"].max())
    seen = f"networks see the first {components} principal components" if components else "all of them"
    return f"{seen}, {' or '.join(SCALED[mode] for mode in modes)} unless settings say otherwise"


SETTINGS = {
    "shipped": "by cross-validation on training rows, as shipped",
    "tuned": "by cross-validation on training rows, tuned here",
    "defaults": "defaults, not tuned for this data",
    CODES_ONLY: "codes made elsewhere and only scored here, so that how they were trained is not known",
}


def settings_words(cells: pd.DataFrame) -> str:
    """How settings were chosen; where not all in one way, for which data sets, and for which methods on them."""
    if not len(cells):
        return DASH
    by_hand = [title for _, title in methods(cells[cells["params"] != ""])]
    hand = f"; but for what was given by hand for {', '.join(by_hand)}" if by_hand else ""
    kinds = list(cells["settings"].unique())
    if len(kinds) == 1:
        return f"{SETTINGS.get(kinds[0], kinds[0])}{hand}"
    words = []
    for kind in kinds:
        where: dict[str, list[str]] = {}  # whose -> data sets
        for label, own in cells.groupby("dataset_label", sort=False):
            titles = own.loc[own["settings"] == kind, "title"].unique()
            usual = own["settings"].mode()[0] == kind
            whose = "all" if len(titles) == own["title"].nunique() else "others" if usual else ", ".join(titles)
            if len(titles):
                where.setdefault(whose, []).append(str(label))
        told = f"{SETTINGS.get(kind, kind)} ({'; '.join(_whose_words(*one) for one in where.items())})"
        words.append(("others" in where, told))
    said = "; ".join(told for _, told in sorted(words, key=lambda one: one[0]))  # the others after those named
    return f"{said}{hand}"


def _whose_words(whose: str, labels: Sequence[str]) -> str:
    on = ", ".join(labels)
    return on if whose == "all" else f"the others on {on}" if whose == "others" else f"{whose} on {on}"


def _or_dash(words: Sequence[str]) -> str:
    return ", ".join(words) or DASH


def dataset_words(sheet: Sheet, dataset: DatasetColumn) -> str:
    """A data set with what its scores depend on."""
    k = cutoff(sheet.of(dataset))
    protocol = "" if dataset.protocol == "miniature" else f"protocol {dataset.protocol}, "
    chance = chance_level(sheet.of(dataset))
    known = "" if chance is None else f", chance {chance:.4f}"
    return f"{dataset.label} ({protocol}split {_short_revision(dataset.revision)}, k = {k}{known})"


def _short_revision(revision: str) -> str:
    """The beginning of a hash; words of an author's own whole, as far as a caption goes."""
    return revision[:8] if set(revision) <= set(string.hexdigits) else clean(revision, 24)


def at_bits(sheet: Sheet) -> str:
    """At which code length a table that shows only one was made, and why at this one where there are several."""
    where: dict[int, list[str]] = {}
    several, lacking = False, False
    for dataset in sheet.datasets():
        cells = sheet.of(dataset)
        where.setdefault(curve_bits(cells), []).append(dataset.label)
        own = competitors(scored(cells))
        several |= cells["bits"].nunique() > 1
        lacking |= set(own["method"]) != set(own.loc[own["bits"] == curve_bits(cells), "method"])
    lengths = sorted(where.items())
    told = [f"{bits} bits ({', '.join(labels)})" if len(where) > 1 else f"{bits} bits" for bits, labels in lengths]
    most = "of the lengths that the most methods have there, the longest"
    why = most if lacking else "the longest length that all methods with a score there have"
    return f"at {', '.join(told)}{f', {why}' if several else ''}"


def _words(cells: pd.DataFrame, column: str) -> str:
    known = cells[column].dropna().unique() if column in cells else []
    return ", ".join(str(value) for value in known) or DASH


# --- entries -----------------------------------------------------------------------------------------------


READ = ("status", "reason", "doubts", "settings", "seed")  # what an entry says beside its number


def score_entry(cells: pd.DataFrame, column: str = "map", digits: int = 4, scale: float = 1.0, seeds: int = 0) -> Entry:
    """Mean over seeds, its spread where there are several, or a dash and why. `seeds`: how many others have."""
    cells = cells[[name for name in (*READ, column) if name in cells]]  # a row of all columns is slow to take out
    good = scored(cells)
    values = good[column].dropna().to_numpy(float) * scale if column in good else np.array([])
    if not len(values):
        reasons = [reason for reason in cells["reason"] if reason]
        return Entry(DASH, None, note=reasons[0] if reasons else _unknown(good, column))
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return number(float(values.mean()), digits, spread=spread, note=_doubt(cells, good, seeds))


def _unknown(good: pd.DataFrame, column: str) -> str:
    """Why cells that are done have no such number, or that there are none."""
    if good.empty:
        return "not run"
    if column.startswith(SEARCH):
        return NOT_MEASURED
    return CODES_ONLY if (good["settings"] == CODES_ONLY).any() else "does not apply"


def _doubt(cells: pd.DataFrame, good: pd.DataFrame, seeds: int) -> str:
    """A remark on a score that must not be read alone."""
    told = [doubt for doubt in good["doubts"] if doubt]
    if told:
        return told[0]
    seeds = max(seeds, cells["seed"].nunique())
    if len(good) >= seeds:
        return ""
    missing = cells[cells["status"] != "ok"]
    others = "the other was not run" if seeds - len(good) == 1 else "the others were not run"
    return f"{len(good)} of {seeds} seeds; {missing['reason'].iloc[0] if len(missing) else others}"


def _digits(sheet: Sheet) -> int:
    """Four decimals as in print; three where a spread stands behind each, or the table would not fit a page."""
    return 3 if scored(sheet.cells)["seed"].nunique() > 1 else 4


def rank_places(entries: Sequence[Entry], unranked: int = 0) -> list[Entry]:
    """Mark the best and the second, with all ties at the printed precision; the last `unranked` are controls."""
    ranked = [entry.value is not None and place < len(entries) - unranked for place, entry in enumerate(entries)]
    printed = [float(entry.text) if own else -math.inf for entry, own in zip(entries, ranked, strict=True)]
    order = sorted({value for value in printed if value > -math.inf}, reverse=True)
    rivals = sum(value > -math.inf for value in printed) > 1  # alone is not best
    places = {value: place for place, value in enumerate(order[:2], start=1)} if rivals else {}
    return [replace(entry, place=places.get(value, 0)) for entry, value in zip(entries, printed, strict=True)]


def _p_of_the_lead(groups: list[pd.DataFrame], entries: list[Entry], stored: StoredArrays) -> float | None:
    """p of the best against the runner-up by per-query AP; None where there is no single best or no AP."""
    best = [i for i, entry in enumerate(entries) if entry.place == 1]
    second = [i for i, entry in enumerate(entries) if entry.place == 2]
    if len(best) != 1 or not second:
        return None
    a, b = (stored.by_seed(scored(groups[i]), "ap") for i in (best[0], second[0]))
    if a is None or b is None or a.shape[1] != b.shape[1]:
        return None
    return float(paired_tests([a, b], [(0, 1)])[0][0])


def _mark_winners(blocks: list[list[Entry]], tests: list[float | None]) -> list[list[Entry]]:
    adjusted = iter(holm([p for p in tests if p is not None]))
    marked = []
    for block, p in zip(blocks, tests, strict=True):
        mark = "*" if p is not None and next(adjusted) < SURE else ""
        marked.append([replace(entry, mark=mark if entry.place == 1 else "") for entry in block])
    return marked


# --- MAP ---------------------------------------------------------------------------------------------------


def map_table(sheet: Sheet, stored: StoredArrays, *, name: str, title: str, note: str = "") -> Table:
    """MAP@k per method x bits x data set: best bold, second underlined, sure winners marked, chance below."""
    rows, digits = methods(sheet.cells), _digits(sheet)
    columns, blocks, tests = [Column("Method", numeric=False)], [], []
    chance = [text("Chance")]
    for dataset in sheet.datasets():
        cells = sheet.of(dataset)
        for bits in sorted(cells["bits"].unique()):
            of_bits = cells[cells["bits"] == bits]
            groups = [of_bits[of_bits["method"] == method] for method, _ in rows]
            columns.append(Column(f"{bits} bits", dataset.label))
            seeds = of_bits["seed"].nunique()
            entries = [score_entry(group, digits=digits, seeds=seeds) for group in groups]
            blocks.append(rank_places(entries, len(controls(sheet.cells))))
            tests.append(_p_of_the_lead(groups, blocks[-1], stored))
            chance.append(number(chance_level(cells), digits))
    blocks = _mark_winners(blocks, tests)
    body = [[text(label), *(block[i] for block in blocks)] for i, (_, label) in enumerate(rows)]
    remarks = [MARK if any(entry.mark for row in body for entry in row) else UNSURE] * any(p is not None for p in tests)
    remarks += mixtures(sheet)
    told = _told(note, bold_words(body), control_words(sheet.cells), sheet.elsewhere_words)
    foot = 1 + len(controls(sheet.cells))
    shared = caption(sheet)
    return Table(name, title, told, columns, [*body, chance], foot=foot, remarks=remarks, shared=shared)


def control_words(cells: pd.DataFrame) -> str:
    """What a caption says of the controls in its table; nothing where there is none."""
    titles = ", ".join(title for _, title in controls(cells))
    return CONTROLS.format(titles) if titles else ""


def bold_words(body: Sequence[Sequence[Entry]]) -> str:
    """What bold and underlined are; nothing where nothing is, as where one method stands alone."""
    return BOLD if any(entry.place for row in body for entry in row) else ""


def _told(*parts: str) -> str:
    """Sentences of a caption, without those that have nothing to say."""
    return " ".join(part.strip() for part in parts if part)


def group_table(sheet: Sheet, stored: StoredArrays, *, name: str) -> Table | None:
    """MAP of head, middle and tail classes, of data sets that have them: what the paper argues about and does not
    show."""
    known = [f"map_{group}" for group in GROUPS if f"map_{group}" in sheet.cells]
    skewed = sheet.cells[known].notna().any(axis=1).groupby(sheet.cells["dataset_label"]).transform("any")
    if not skewed.any():
        return None
    left_out = _without_groups(sheet.only(~skewed))
    sheet = sheet.only(skewed)
    cells = scored(sheet.cells)
    rows, digits = methods(cells), _digits(sheet)
    columns, blocks, chance = [Column("Method", numeric=False)], [], [text("Chance")]
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        at = of_set[of_set["bits"] == curve_bits(of_set)]
        by_chance = stored.chance_by_group(at)
        for group, label in GROUPS.items():
            columns.append(Column(label, dataset.label))
            entries = [
                score_entry(at[at["method"] == method], f"map_{group}", digits, seeds=at["seed"].nunique())
                for method, _ in rows
            ]
            blocks.append(rank_places(entries, len(controls(cells))))
            chance.append(number(by_chance.get(group), digits))
    body = [[text(label), *(block[i] for block in blocks)] for i, (_, label) in enumerate(rows)]
    note = (
        f"Mean over the classes of each group, by frequency among training rows: head is the most frequent 1 % of the "
        f"classes, middle the next 9 %, tail the rest, each at least one class; {at_bits(sheet)}."
    )
    note = _told(note, left_out)
    title = sheet.titled(f"{map_at(cells)} of head, middle and tail classes")
    told = _told(note, bold_words(body), control_words(cells), sheet.elsewhere_words)
    foot = 1 + len(controls(cells))
    return Table(name, title, told, columns, [*body, chance], foot=foot, shared=caption(sheet))


def _without_groups(sheet: Sheet) -> str:
    """Which data sets a table of groups lacks, and why, as far as that is known."""
    equal, unknown = list[str](), list[str]()
    for dataset in sheet.datasets():
        good = scored(sheet.of(dataset))
        (equal if good[["largest_class", "smallest_class"]].notna().all(axis=1).any() else unknown).append(
            dataset.label
        )
    told = f"Without groups, as their classes are about equally frequent: {', '.join(equal)}." if equal else ""
    return _told(told, f"Without scores by group: {', '.join(unknown)}." if unknown else "")


# --- against published numbers -----------------------------------------------------------------------------


def published_table(sheet: Sheet, *, name: str) -> Table | None:
    """Reproduced beside published, where data set, protocol, backbone, k and conventions agree; else nothing."""
    lengths = [int(bits) for bits in sorted(sheet.cells["bits"].unique())]
    alike = {}
    for label, method, bits in (
        sheet.cells[["dataset_label", "method", "bits"]].drop_duplicates().itertuples(index=False)
    ):
        other = _published_for(_cells_of(sheet, label, method, bits))
        if other is not None:
            alike[label, method, int(bits)] = other
    wanted = [bits for bits in lengths if any(key[2] == bits for key in alike)]
    columns = [Column("Data set", numeric=False), Column("Method", numeric=False)]
    columns += [Column(label, f"{bits} bits") for bits in wanted for label in ("here", "published", "Δ")]
    rows: list[list[Entry]] = []
    rules = []
    for dataset in sheet.datasets():
        known = [(m, t) for m, t in methods(sheet.of(dataset)) if any(key[:2] == (dataset.label, m) for key in alike)]
        rules += [len(rows)] if rows and known else []
        for place, (method, label) in enumerate(known):
            parts = [(_cells_of(sheet, dataset.label, method, bits), bits) for bits in wanted]
            entries = [_against(cells, alike.get((dataset.label, method, bits))) for cells, bits in parts]
            first = Entry("" if place else dataset.label, dataset.label)
            rows.append([first, text(label), *(entry for three in entries for entry in three)])
    if not rows:
        return None
    title = sheet.titled(f"{map_at(sheet.cells)} reproduced here against published")
    sources = "; ".join(dict.fromkeys(one.source for one in alike.values()))
    note = f"Δ = here − published. Published numbers: {sources}, whose tie rule is not stated."
    return Table(name, title, note, columns, rows, rules, shared=caption(sheet))


def _cells_of(sheet: Sheet, label: str, method: str, bits: int) -> pd.DataFrame:
    cells = sheet.cells
    return cells[(cells["dataset_label"] == label) & (cells["method"] == method) & (cells["bits"] == bits)]


def _published_for(cells: pd.DataFrame) -> Published | None:
    """The printed number that these cells, of several seeds, may be set against."""
    good = scored(cells)
    plain = len(good) and (good["params"] == "").all()
    return measured_alike(good.iloc[0].to_dict()) if plain else None


def _against(cells: pd.DataFrame, other: Published | None) -> list[Entry]:
    here = score_entry(cells)
    if other is None or here.value is None:
        return [here, Entry(DASH, None, note="not published for these conditions"), Entry(DASH)]
    difference = float(here.value) - other.map
    there = number(other.map, note=other.doubt)
    return [here, there, Entry(f"{difference:+.4f}".replace("-", "−"), difference)]


# --- costs and health --------------------------------------------------------------------------------------


SEARCH, NOT_MEASURED = "search_", "not measured"  # what a user measures for cells of their choice, and the others
Measure = tuple[str, str, int, float]  # column of the frame, label, decimals, factor
COSTS: tuple[Measure, ...] = (
    ("seconds_fit", "fit", 2, 1.0),
    ("seconds_encode", "encode", 2, 1.0),
    ("seconds_score", "score", 2, 1.0),
    ("peak_memory", "MB", 0, 1e-6),
    ("stored_bits", "bits", 0, 1.0),
    ("search_scan", "scan", 2, 100.0),
    ("search_lookup", "lookup", 2, 100.0),
    ("search_multi", "multi", 2, 100.0),
)
SEARCHES: tuple[Measure, ...] = (
    ("search_codes", "codes", 0, 1.0),
    ("search_columns", "columns", 0, 1.0),
    *(
        (f"search_{index}{end}", f"{index}{label}", digits, factor)
        for index in ("scan", "lookup", "multi")
        for end, label, digits, factor in (
            ("", "", 2, 100.0),
            ("_99", " 99 %", 2, 100.0),
            ("_touched", " touched", 0, 1.0),
            ("_bytes", " bytes", 1, 1.0),
        )
    ),
)
HEALTH: tuple[Measure, ...] = (
    ("precision_at_radius_2", "P@H≤2", 4, 1.0),
    ("empty_ball_share", "empty", 1, 100.0),
    ("health_bit_balance", "bias", 3, 1.0),
    ("health_constant_bits", "const.", 1, 100.0),
    ("health_distinct_share", "dist.", 1, 100.0),
)


def measure_table(
    sheet: Sheet, measures: Sequence[Measure], *, name: str, title: str, note: str, kind: str
) -> Table | None:
    """One column per measure and data set, at the bits of the curves; nothing where searches alone are shown and none
    was measured there."""
    cells = scored(sheet.cells)
    means = "; means over seeds" if cells["seed"].nunique() > 1 else ""
    columns = [Column("Method", numeric=False)]
    body: dict[str, list[Entry]] = {method: [text(label)] for method, label in methods(cells)}
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        at = of_set[of_set["bits"] == curve_bits(of_set)]
        for column, label, digits, factor in _known(measures, cells, at):
            columns.append(Column(label, dataset.label))
            for method, row in body.items():
                entry = score_entry(at[at["method"] == method], column, digits, factor)
                row.append(replace(entry, spread=None))
    kept = {method: row for method, row in body.items() if any(entry.note != NOT_MEASURED for entry in row[1:])}
    if not kept:
        return None
    return Table(
        name,
        sheet.titled(title),
        _told(note, f"{sentence(at_bits(sheet))}{means}.", sheet.elsewhere_words),
        columns,
        [*kept.values()],
        foot=sum(method in kept for method, _ in controls(cells)),
        shared=caption(sheet, spreads=False),
        kind=kind,
    )


def _known(measures: Sequence[Measure], cells: pd.DataFrame, at: pd.DataFrame) -> list[Measure]:
    """Those that some cell has; of searches, that some cell has here."""
    return [
        measure
        for measure in measures
        if measure[0] in cells and (at if measure[0].startswith(SEARCH) else cells)[measure[0]].notna().any()
    ]


def radius_table(sheet: Sheet, *, name: str) -> Table | None:
    """P@H<=2 per method x bits x data set, the share of empty balls beside each: without it P@H<=2 cannot be read."""
    cells = scored(sheet.cells)
    if "precision_at_radius_2" not in cells or cells["precision_at_radius_2"].isna().all():
        return None
    rows, digits = methods(cells), _digits(sheet)
    columns, blocks = [Column("Method", numeric=False)], []
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        for bits in sorted(of_set["bits"].unique()):
            at = of_set[of_set["bits"] == bits]
            groups = [at[at["method"] == method] for method, _ in rows]
            seeds = at["seed"].nunique()
            precise = [score_entry(group, "precision_at_radius_2", digits, seeds=seeds) for group in groups]
            empty = [score_entry(group, "empty_ball_share", 0, 100.0) for group in groups]
            columns += [Column(f"{bits} bits", dataset.label), Column(f"{bits} empty", dataset.label)]
            blocks.append(rank_places(precise, len(controls(cells))))
            blocks.append([replace(entry, spread=None, note="") for entry in empty])
    body = [[text(label), *(block[i] for block in blocks)] for i, (_, label) in enumerate(rows)]
    title = sheet.titled("Precision within Hamming radius 2 (P@H≤2)")
    told = _told(RADIUS_NOTE, bold_words(body), control_words(cells), sheet.elsewhere_words)
    foot = len(controls(cells))
    return Table(name, title, told, columns, body, foot=foot, shared=caption(sheet), kind=CODES_KIND)


# --- all of them -------------------------------------------------------------------------------------------


COST_NOTE = (
    "Seconds to fit, to encode queries and database, and to score (machine as in the provenance; "
    "the shared extraction of features is not counted); peak memory of the process in MB; bits stored per item."
)
RATIO_NOTE = (
    " Where performance/search.py has measured it, what a query costs as a part (%) of a scan of float features, the "
    "cell's own where it had some, in the same run, one thread, median: scan of all codes, "
    "lookup within radius 2, multi-index hashing."
)
SEARCH_NOTE = (
    "Cells that performance/search.py has measured, on codes drawn from their database, as many as given: per query, "
    "one thread, median and 99th percentile as a part (%) of a scan of float features of so many columns in the same "
    "run; codes touched; bytes per item of the index. Scan of all codes, lookup within radius 2, multi-index hashing."
)
CODES_KIND = "Within radius 2, and the codes"
COSTS_KIND = "Costs"
RADIUS_NOTE = (
    "A query whose ball of radius 2 is empty counts 0; empty: share of such queries (%), which is high for long codes: "
    "a low P@H≤2 may mean codes that lie far apart, not wrong ones."
)
HEALTH_TITLE = "Health of the codes"
HEALTH_NOTE = (
    "P@H≤2 counts a query whose ball of radius 2 is empty as 0; empty: share of such queries (%). Of the database's "
    "codes, bias: mean over bits of |mean of the bit|, 0 balanced, 1 constant; const.: constant bits (%); dist.: "
    "distinct codes per item (%)."
)


def sheet_tables(sheet: Sheet, stored: StoredArrays) -> list[tuple[str, Callable[[], Table | None]]]:
    """Every table one sheet may fill, as (name, how to make it); `sheet` holds default parameters only."""
    main, end = main_sheet(sheet), sheet.slug
    made: list[tuple[str, Callable[[], Table | None]]] = []
    for kind, part, words in _map_parts(sheet):
        if len(part.cells):
            title = sheet.titled(f"{words} ({_features(part)})")
            seeds = [seed_words(scored(one.cells)) for one in (part, sheet)]  # what a page says once is of the sheet
            note = f"Here: {seeds[0]}. " if seeds[0] != seeds[1] else ""
            made.append(
                (f"{kind}-{end}", partial(map_table, part, stored, name=f"{kind}-{end}", title=title, note=note))
            )
    measured = partial(partial, measure_table, main)
    searched = [name for name, *_ in COSTS if name.startswith(SEARCH) and name in main.cells]
    ratios = RATIO_NOTE if main.cells[searched].notna().any(axis=None) else ""
    if len(scored(main.cells)):
        groups, costs, health, search, radius = (
            f"{kind}-{end}" for kind in ("groups", "costs", "health", "search", "radius")
        )
        made += [
            (groups, partial(group_table, main, stored, name=groups)),
            (f"published-{end}", partial(published_table, sheet, name=f"published-{end}")),
            (radius, partial(radius_table, main, name=radius)),
            (health, measured(HEALTH, name=health, title=HEALTH_TITLE, note=HEALTH_NOTE, kind=CODES_KIND)),
            (costs, measured(COSTS, name=costs, title="Costs", note=COST_NOTE + ratios, kind=COSTS_KIND)),
            (search, measured(SEARCHES, name=search, title="Costs of a search", note=SEARCH_NOTE, kind=COSTS_KIND)),
        ]
    return made


def _features(sheet: Sheet) -> str:
    return f"{map_at(sheet.cells)}, {sheet.backbone} features" if sheet.backbone else map_at(sheet.cells)


def _map_parts(sheet: Sheet) -> Iterator[tuple[str, Sheet, str]]:
    """(kind, cells, title) of each table of MAP: all methods, data sets set apart, swept ones, ablations."""
    yield "map", main_sheet(sheet), "Mean average precision"
    variant = is_variant(sheet.cells)
    for apart in highlight().apart:
        named = sheet.cells["dataset"].str.contains(apart.contains, regex=False)
        yield apart.name, sheet.only(named & ~variant), apart.title
    for swept in dataset_sweeps(sheet.cells[~variant]):
        words = f"Mean average precision by {swept.parameter.replace('_', ' ')} of {swept.base}"
        yield f"sweep-{slug(swept.dataset)}-{slug(swept.parameter)}", replace(sheet, cells=swept.by_value), clean(words)
    for ablation in highlight().ablations:
        if (sheet.cells["method"] == ablation.base).any():
            yield ablation.name, _ablation(sheet, ablation), ablation.title


def _ablation(sheet: Sheet, ablation: Ablation) -> Sheet:
    """A method and its variants, in the columns where any variant was run."""
    is_variant = sheet.cells["method"].isin(ablation.variants)
    any_variant = is_variant.groupby([sheet.cells[name] for name in ("dataset_label", "bits")]).transform("any")
    return sheet.only(any_variant & (is_variant | (sheet.cells["method"] == ablation.base)))
