"""The "experimental setup" of a paper, from what the records say: experiment.md, experiment.tex, references.bib.

A sentence is there only where the records know it. Citations stand in the sentences as `[@key]`, which is Markdown of
pandoc, and become \\cite in LaTeX; the entries are those that methods and data sets carry in their docstrings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmark.cards.bibtex import Citation, references
from benchmark.cards.card import citations, suite_citation
from benchmark.execution.record import Record
from benchmark.report.display_names import clean
from benchmark.report.score_tables import feature_words, seed_words, settings_words
from benchmark.report.sheets import DatasetColumn, Sheet, competitors, controls, cutoff, defaults, methods, scored
from benchmark.report.table import markdown, tex
from benchmark.wording import counted, listed, sentence

if TYPE_CHECKING:
    import pandas as pd

CITED = re.compile(r"(\[@[^\]\s]+(?:; @[^\]\s]+)*\])")
TIES = {
    "expected": "items at one distance are in random order, and the exact expectation over all orders is taken",
    "stable": "items at one distance keep the order of the database",
    "best": "items at one distance are ordered in favour of the method",
    "worst": "items at one distance are ordered against the method",
}
DENOMINATORS = {
    "hits": "the number of relevant items among the first k",
    "min_k_relevant": "the lesser of k and the number of relevant items",
    "relevant": "the number of relevant items in the database",
}
EMPTY = {"zero": "counts 0", "skip": "is left out"}
TRAINING = ("train", "optimizer", "learning_rate", "weight_decay", "schedule", "batch", "augment")
DOCUMENT = r"""%% Paste what stands between the two lines; references.bib has the entries.
\documentclass[10pt]{article}
\begin{document}
%% ---------------------------------------------------------------------------
\section*{Experimental setup}
%s
%% ---------------------------------------------------------------------------
\bibliographystyle{plain}
\bibliography{references}
\end{document}
"""


def experiment_files(all_sheets: Sequence[Sheet], records: Mapping[str, Record]) -> dict[str, str]:
    """File name -> content; nothing where no cell has a score."""
    paragraphs = setup_paragraphs(all_sheets, records)
    if not paragraphs:
        return {}
    cells = [scored(sheet.cells) for sheet in all_sheets]
    entries = [suite_citation(), *(entry for own in cells for entry in _entries(own))]
    return {
        "experiment.md": "# Experimental setup\n\n" + "\n\n".join(map(_as_markdown, paragraphs)) + "\n",
        "experiment.tex": DOCUMENT % "\n\n".join(map(_as_latex, paragraphs)),
        "references.bib": references(entries),
    }


def setup_paragraphs(all_sheets: Sequence[Sheet], records: Mapping[str, Record]) -> list[str]:
    """One paragraph per sheet that has scores."""
    shown = [defaults(sheet) for sheet in all_sheets]
    return [_paragraph(sheet, records) for sheet in shown if len(scored(sheet.cells))]


def _paragraph(sheet: Sheet, records: Mapping[str, Record]) -> str:
    sheet = sheet.only(sheet.cells["status"] == "ok")
    first = records[sheet.cells["key"].iloc[0]]
    parts = [
        f"{sentence(sheet.heading)}." if sheet.heading else "",
        "; ".join(_data_words(sheet, one) for one in sheet.datasets()) + ".",
        "Miniatures are small stand-ins for the data sets they are named after." if sheet.miniature else "",
        _method_words(sheet),
        _training_words(sheet, records),
        f"Settings: {settings_words(sheet.cells)}.",
        _score_words(sheet.cells),
        f"Seeds: {seed_words(sheet.cells)}.",
        _machine_words(sheet, records, first),
    ]
    return " ".join(part for part in parts if part)


def _data_words(sheet: Sheet, dataset: DatasetColumn) -> str:
    cells = sheet.of(dataset)
    rows = [cells[f"{part}_rows"].dropna() for part in ("train", "query", "database")]
    sizes = [f"{int(own.iloc[0]):,}" if len(own) else "an unknown number of" for own in rows]
    protocol = "" if dataset.protocol in ("", "miniature") else f"protocol {clean(dataset.protocol)}, "
    return (
        f"{dataset.label}{_cited(_dataset_entries(dataset.name))}: {sizes[0]} training items, {sizes[1]} queries, a "
        f"database of {sizes[2]} ({protocol}split {clean(dataset.revision)}), k = {cutoff(cells)}"
    )


def _method_words(sheet: Sheet) -> str:
    ranked = [f"{title}{_cited(_method_entries(name))}" for name, title in methods(competitors(sheet.cells))]
    others = [f"{title}{_cited(_method_entries(name))}" for name, title in controls(sheet.cells)]
    lengths = listed([str(bits) for bits in sorted(sheet.cells["bits"].unique())])
    verb = "compare" if len(ranked) > 1 else "run"
    compared = f"we {verb} {listed(ranked)} at {lengths} bits" if ranked else f"we score codes of {lengths} bits"
    yardsticks = f"; as yardsticks, {listed(others)}" if others else ""
    return f"With hashbench [@{suite_citation().key}] {compared}{yardsticks}.{_gap_words(sheet.cells)}"


def _gap_words(cells: pd.DataFrame) -> str:
    """Who has no score at some code length of a data set; nothing where the grid is full."""
    columns = cells[["dataset_label", "bits"]].drop_duplicates()
    have = cells.groupby("method")[["dataset_label", "bits"]].apply(lambda own: len(own.drop_duplicates()))
    gaps = [f"{title} in {len(columns) - have[name]}" for name, title in methods(cells) if have[name] < len(columns)]
    of = f"Of {counted(len(columns), 'pair')} of a data set and a code length"
    return f" {of}, scores are missing of {listed(gaps)}." if gaps else ""


def _training_words(sheet: Sheet, records: Mapping[str, Record]) -> str:
    """The backbone, and the profile's values where a cell was made with one."""
    profiles = [records[key].parts.get("profile") for key in sheet.cells["key"]]
    known: Mapping[str, Any] = next(
        (one["training"] for one in profiles if isinstance(one, Mapping) and one.get("training")), {}
    )
    values = ", ".join(f"{name.replace('_', ' ')} {known[name]}" for name in TRAINING if known.get(name) is not None)
    values += _hash_layer_words(known) + _length_words(known)
    weights = json.loads(next((one for one in sheet.cells["weights"] if one), '""'))
    features = f"Features are those of {sheet.backbone}" if sheet.backbone else "Features are as given"
    used = feature_words(sheet.cells)
    said = f"{features}{f' (weights {clean(weights)})' if weights else ''}{f', {used}' if used else ''}."
    if "deep" not in set(sheet.cells["family"]):
        return said
    otherwise = "where settings, or factors that are a method's own, do not say otherwise"
    told = f" ({clean(values, 300)}, {otherwise})" if values else ""
    return f"{said} Networks are trained by the profile {sheet.profile or 'none'}{told}."


def _hash_layer_words(training: Mapping[str, Any]) -> str:
    """The layer that is trained first of all has a rate of its own."""
    factor = training.get("hash_rate")
    return f", the hash layer at {factor:g} times the learning rate" if factor and factor != 1 else ""


def _length_words(training: Mapping[str, Any]) -> str:
    """How long a network is trained: of steps and epochs the longer counts."""
    steps, epochs = training.get("steps"), training.get("epochs")
    if not steps:
        return ""
    return f", {steps} steps or {epochs:g} epochs, whichever is more" if epochs else f", {steps} steps"


def _score_words(cells: pd.DataFrame) -> str:
    def told(column: str, words: Mapping[str, str]) -> str:
        known = cells[column].dropna().unique() if column in cells else []
        return " or ".join(words.get(value, str(value)) for value in known) or "unknown"

    return (
        f"MAP@k is the mean over queries of AP@k, the sum of the precision at each relevant item among the first k "
        f"divided by {told('denominator', DENOMINATORS)}; {told('ties', TIES)}; a query without a relevant item among "
        f"them {told('empty', EMPTY)}, one without any in the database is left out. Precision within Hamming radius 2 "
        f"counts an empty ball as 0."
    )


def _machine_words(sheet: Sheet, records: Mapping[str, Record], first: Record) -> str:
    made = first.provenance
    versions, machine = made.get("versions") or {}, made.get("machine") or {}
    software = ", ".join(f"{clean(name)} {clean(value)}" for name, value in versions.items() if value != "absent")
    several = sheet.cells["versions"].nunique() > 1 or sheet.cells["machine"].nunique() > 1
    memory = machine.get("memory")
    size = f", {memory / 2**30:.0f} GiB of memory" if isinstance(memory, (int, float)) else ""
    cores = f", {counted(machine['cores'], 'core')}" if machine.get("cores") else ""
    hardware = f"{clean(machine.get('processor', ''))}{cores}{size}" if machine else ""
    told = "; ".join(part for part in (software, hardware) if part)
    threads = f", {made['threads']} thread{'s' * (made['threads'] != 1)} a cell" if made.get("threads") else ""
    return f"Software and hardware{' (of the first cell; others differ)' if several else ''}: {told}{threads}." * bool(
        told
    )


# --- what is cited -----------------------------------------------------------------------------------------


def _entries(cells: pd.DataFrame) -> list[Citation]:
    found = [_method_entries(name) for name in dict.fromkeys(cells["method"])]
    found += [_dataset_entries(name) for name in dict.fromkeys(cells["dataset"])]
    return [entry for group in found for entry in group]


def _method_entries(name: str) -> Sequence[Citation]:
    from benchmark.registry import methods as registered

    return citations(registered.get(name)) if name in registered.names() else ()


def _dataset_entries(name: str) -> Sequence[Citation]:
    from benchmark.registry import datasets as registered

    return citations(registered.get(name)) if name in registered.names() else ()


def _cited(entries: Sequence[Citation]) -> str:
    return f" [@{'; @'.join(entry.key for entry in entries)}]" if entries else ""


def _as_markdown(paragraph: str) -> str:
    return "".join(part if place % 2 else _spaced(part, markdown) for place, part in enumerate(CITED.split(paragraph)))


def _as_latex(paragraph: str) -> str:
    def cite(part: str) -> str:
        return rf"\cite{{{part[2:-1].replace('; @', ',')}}}"

    return "".join(cite(part) if place % 2 else _spaced(part, tex) for place, part in enumerate(CITED.split(paragraph)))


def _spaced(part: str, escape: Any) -> str:
    """Escaped, with the spaces at its ends that escaping takes away."""
    words = escape(part)
    return f"{' ' * part[:1].isspace()}{words}{' ' * (part[-1:].isspace() and bool(words))}"
