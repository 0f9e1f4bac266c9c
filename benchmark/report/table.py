"""One table, written as CSV, Markdown, LaTeX and HTML from the same entries. What it says is decided in tables.py.

The LaTeX needs booktabs and graphicx only; a table wider than the text is scaled down to it. Text from plugins
(titles, reasons) is escaped in every format.
"""

from __future__ import annotations

import csv
import html
import io
import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

DASH = "–"
WIDEST = 26  # columns that can be read on paper
TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$",
    "–": "--", "—": "---", "×": r"$\times$", "−": r"$-$", "ε": r"$\varepsilon$", "→": r"$\to$", "…": r"\dots{}",
    "<": r"$<$", ">": r"$>$", "|": r"$|$", "‡": r"$\ddagger$", "†": r"$\dagger$", "Δ": r"$\Delta$",
    "“": "``", "”": "''", "’": "'", '"': "''",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One entry of a table. `value` is what the CSV holds and a reader sorts by; `text` is what is printed."""

    text: str = ""
    value: float | str | None = None
    spread: float | None = None  # standard deviation, printed small behind the value
    place: int = 0  # 1: best, printed bold; 2: second, underlined
    mark: str = ""  # significance, e.g. "*"
    note: str = ""  # footnote: why it is missing or doubtful


@dataclass(frozen=True)
class Column:
    """A column, under a group heading where neighbours share one."""

    label: str
    group: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """Rows of entries with a caption that says how every number was made."""

    name: str
    title: str
    caption: str
    columns: list[Column]
    rows: list[list[Entry]]
    rules: list[int] = field(default_factory=list)  # a thin line stands above these rows
    foot: int = 0  # this many last rows are no competitors (chance): ruled off, never sorted
    remarks: list[str] = field(default_factory=list)
    shared: str = ""  # what the caption says beside its own words, and all tables of a sheet have in common
    kind: str = "Scores"  # tables of one kind share a place on the page
    screen: bool = False  # its entries are too long for paper

    @property
    def broad(self) -> bool:
        """Whether no page of paper is wide enough."""
        return self.screen or len(self.columns) > WIDEST

    @property
    def full_caption(self) -> str:
        return " ".join(part for part in (self.caption, self.shared) if part)

    def body(self) -> list[list[Entry]]:
        return self.rows[: len(self.rows) - self.foot]

    def feet(self) -> list[list[Entry]]:
        return self.rows[len(self.rows) - self.foot :]

    def notes(self) -> dict[str, str]:
        """Footnote text -> its letter, in order of appearance."""
        texts = dict.fromkeys(entry.note for row in self.rows for entry in row if entry.note)
        return {text: _letter(number) for number, text in enumerate(texts)}

    def footer(self) -> list[tuple[str, str]]:
        """Pairs (letter or empty, text) printed under the table."""
        return [("", remark) for remark in self.remarks] + [(letter, text) for text, letter in self.notes().items()]

    def write(self, folder: Path) -> list[Path]:
        """name.csv, name.md and name.tex in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for suffix, text in (("csv", to_csv(self)), ("md", to_markdown(self)), ("tex", to_latex(self))):
            path = folder / f"{self.name}.{suffix}"
            path.write_text(text, encoding="utf-8", errors="replace")
            written.append(path)
        return written


def number(value: float | None, digits: int = 4, **extra: object) -> Entry:
    """An entry of `digits` decimals; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return Entry(DASH, None, **extra)  # type: ignore[arg-type]
    return Entry(f"{value:.{digits}f}", float(value), **extra)  # type: ignore[arg-type]


def text(value: str, **extra: object) -> Entry:
    return Entry(value, value, **extra)  # type: ignore[arg-type]


def _letter(index: int) -> str:
    return chr(97 + index) if index < 26 else _letter(index // 26 - 1) + chr(97 + index % 26)


def spread_text(entry: Entry) -> str:
    """The standard deviation at the precision of its value."""
    digits = len(entry.text.partition(".")[2])
    return f"{entry.spread:.{digits}f}"


def header(table: Table) -> list[str]:
    """One flat label per column."""
    return [f"{c.group} {c.label}".strip() for c in table.columns]


# What a spreadsheet takes for the start of a formula, in the wide letters of East Asia too.
FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")


def csv_cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a quote before it; numbers stay as they are."""
    if not isinstance(value, str):
        return value
    lines = value.replace("\r\n", "\n").replace("\r", "\n")  # csv quotes only the end of line it writes itself
    return f"'{lines}" if lines.startswith(FORMULA) else lines


def csv_text(labels: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """The one writer of every csv of a report."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (labels, *rows):
        writer.writerow([csv_cell(value) for value in row])
    return out.getvalue()


def frame_csv(frame: pd.DataFrame, digits: int | None = None) -> str:
    """A frame without its index; numbers in full, or of so many digits; nothing where there is no value."""

    def shown(value: object) -> object:
        if value is None or value != value:  # nan
            return ""
        return float(f"{value:.{digits}g}") if digits and isinstance(value, float) else value

    rows = ([shown(value) for value in row] for row in frame.itertuples(index=False, name=None))
    return csv_text([str(name) for name in frame.columns], rows)


def to_csv(table: Table) -> str:
    """Full precision; a column `... std` behind each column that has spreads; footnotes in the last column."""
    spread = [any(row[i].spread is not None for row in table.rows) for i in range(len(table.columns))]
    noted = bool(table.notes())
    labels: list[str] = []
    for label, wide in zip(header(table), spread, strict=True):
        labels += [label, f"{label} std"] if wide else [label]
    lines: list[list[object]] = []
    for row in table.rows:
        fields: list[object] = []
        for entry, wide in zip(row, spread, strict=True):
            fields.append("" if entry.value is None else entry.value)
            fields += ["" if entry.spread is None else entry.spread] if wide else []
        lines.append(fields + ([_row_notes(table, row)] if noted else []))
    return csv_text(labels + (["notes"] if noted else []), lines)


def _row_notes(table: Table, row: list[Entry]) -> str:
    noted = zip(header(table), row, strict=True)
    return "; ".join(f"{label}: {entry.note}" for label, entry in noted if entry.note)


def to_markdown(table: Table) -> str:
    notes = table.notes()
    lines = [f"**{markdown(table.title)}.** {markdown(table.full_caption)}", ""]
    lines.append("| " + " | ".join(markdown(label) for label in header(table)) + " |")
    lines.append("|" + "|".join("---:" if column.numeric else ":---" for column in table.columns) + "|")
    lines += ["| " + " | ".join(_md_entry(entry, notes) for entry in row) + " |" for row in table.rows]
    lines.append("")
    lines += [
        f"<sup>{letter}</sup> {markdown(line)}  " if letter else f"{markdown(line)}  "
        for letter, line in table.footer()
    ]
    return "\n".join(lines) + "\n"


def markdown(raw: str) -> str:
    """Text for Markdown: what means something there is escaped."""
    escaped = html.escape(raw, quote=False)
    for character in "\\|*_`[]":
        escaped = escaped.replace(character, "\\" + character)
    return " ".join(escaped.split())


def _md_entry(entry: Entry, notes: dict[str, str]) -> str:
    shown = markdown(entry.text)
    shown = {1: f"**{shown}**", 2: f"<u>{shown}</u>"}.get(entry.place, shown)
    if entry.spread is not None:
        shown += f" ± {spread_text(entry)}"
    return shown + markdown(entry.mark) + (f"<sup>{notes[entry.note]}</sup>" if entry.note else "")


def tex(raw: str) -> str:
    """Text for LaTeX: specials escaped; letters that pdflatex lacks are taken apart, or shown as a question mark."""
    out = []
    for character in raw:
        if character in TEX:
            out.append(TEX[character])
        elif character.isascii():
            out.append(character if character.isprintable() else " ")
        elif character.isalpha() and ord(character) < 0x100 and character not in "ðþÐÞªº":
            out.append(character)
        else:
            plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
            out.append(plain or "?")
    return " ".join("".join(out).split())


def to_latex(table: Table) -> str:
    """A floating table*; a tabular wider than the text is scaled to it."""
    notes = table.notes()
    align = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        "% needs: \\usepackage{booktabs,graphicx}",
        r"\begin{table*}[tb]",
        r"\centering",
        rf"\caption{{{tex(table.title)}. {tex(table.full_caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\vspace{4pt}\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        r"\setbox0=\hbox{%",
        rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}",
        r"\toprule",
        *_tex_head(table),
        r"\midrule",
    ]
    for index, row in enumerate(table.rows):
        ruled = index in table.rules or (table.foot and index == len(table.rows) - table.foot)
        lines += [r"\midrule"] if ruled else []
        lines.append(" & ".join(_tex_entry(entry, notes) for entry in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}%"]
    lines.append(r"\ifdim\wd0>\textwidth\resizebox{\textwidth}{!}{\box0}\else\box0\fi")
    if table.footer():
        lines.append(r"\par\vspace{3pt}\parbox{\textwidth}{\scriptsize\raggedright")
        lines += [(rf"$^{{{letter}}}$\," if letter else "") + tex(line) + r"\\" for letter, line in table.footer()]
        lines[-1] = lines[-1].removesuffix(r"\\") + "}"
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def _tex_head(table: Table) -> list[str]:
    groups = [column.group for column in table.columns]
    labels = " & ".join(tex(column.label) for column in table.columns) + r" \\"
    if not any(groups):
        return [labels]
    cells, rules, start = [], [], 0
    while start < len(groups):
        end = start
        while end < len(groups) and groups[end] == groups[start]:
            end += 1
        if groups[start]:
            cells.append(rf"\multicolumn{{{end - start}}}{{c}}{{{tex(groups[start])}}}")
            rules.append(rf"\cmidrule(lr){{{start + 1}-{end}}}")
        else:
            cells += [""] * (end - start)
        start = end
    return [" & ".join(cells) + r" \\", " ".join(rules), labels]


def _tex_entry(entry: Entry, notes: dict[str, str]) -> str:
    shown = tex(entry.text)
    shown = {1: rf"\textbf{{{shown}}}", 2: rf"\underline{{{shown}}}"}.get(entry.place, shown)
    if entry.spread is not None:
        shown += rf"\,{{\tiny$\pm${spread_text(entry).removeprefix('0')}}}"
    raised = tex(entry.mark) + (notes[entry.note] if entry.note else "")
    return shown + (rf"\rlap{{$^{{{raised}}}$}}" if raised else "")


DOCUMENT = r"""\documentclass[10pt]{article}
\usepackage[margin=0.75in]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""


def document(tables: list[Table]) -> str:
    """A LaTeX file that shows every table that fits on paper, to be compiled beside them."""
    shown = (rf"\input{{{table.name}.tex}}" + "\n" + r"\clearpage" for table in tables if not table.broad)
    left_out = (f"% too wide for paper: {table.name}.csv" for table in tables if table.broad)
    return DOCUMENT % "\n".join([*shown, *left_out])
