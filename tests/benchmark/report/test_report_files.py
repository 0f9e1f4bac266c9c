"""The manifest is a note, not an order (B13); what decides a page is in its digest, comments are not."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.report import render
from benchmark.report.report_files import DECISIVE, MANIFEST, PACKAGE, Manifest, code_digest, remove_old


@pytest.fixture
def made(synthetic, undrawn, tmp_path: Path) -> Path:
    synthetic.cell("itq", "nus-mini", 16)
    return render(synthetic.store, tmp_path / "out").parent


@pytest.mark.parametrize(
    "name",
    [
        "../precious.txt", "tables/../../precious.txt", "figures/../../precious.txt", "precious.txt", "figures",
        "tables/notes.txt", "figures/.hidden.png", "figures/sub/a.png", "tables/A.csv", "figures/a.png\n",
        "linked/precious.txt", "{folder}/precious.txt",
    ],
)  # fmt: skip
def test_a_path_put_into_the_manifest_is_not_deleted(made: Path, synthetic, undrawn, name: str) -> None:
    """B13: the next report removed whatever the manifest named."""
    folder = made.parent
    name = name.format(folder=folder)
    for path in (folder / "precious.txt", made / "precious.txt", made / "tables/notes.txt", made / "tables/A.csv"):
        path.write_text("dear")
    (made / "figures/.hidden.png").write_text("dear")
    (made / "figures/sub").mkdir()
    (made / "figures/sub/a.png").write_text("dear")
    (made / "linked").symlink_to(folder)
    before = {path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == b"dear"}
    manifest = json.loads((made / MANIFEST).read_text())
    manifest["files"][name] = {"bytes": 4, "sha256": "x"}
    (made / MANIFEST).write_text(json.dumps(manifest))
    synthetic.cell("lsh", "nus-mini", 16)
    render(synthetic.store, made)
    assert {path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == b"dear"} == before


def test_a_folder_that_is_a_link_leads_nowhere(tmp_path: Path) -> None:
    """B13: figures/ replaced by a link to somebody's pictures."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "mine.png").write_text("dear")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/figures").symlink_to(pictures)
    remove_old(tmp_path / "out", ["figures/mine.png"])
    assert (pictures / "mine.png").exists()


@contextlib.contextmanager
def at_most_a_minute() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["index.html", MANIFEST, "tables/map-quick-mini-cnn.csv", "tables/all.tex"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_is_replaced_and_not_written_through(
    made: Path, synthetic, undrawn, tmp_path: Path, name: str, kind: str
) -> None:
    """D: a report waited for the pipe for ever. B13: through the link it overwrote what is not its own."""
    assert (made / name).is_file(), sorted(path.name for path in made.rglob("*"))
    (made / name).unlink()
    dear = tmp_path / "dear.txt"
    dear.write_text("dear")
    if kind == "pipe":
        os.mkfifo(made / name)
    else:
        (made / name).symlink_to(dear)
    with at_most_a_minute():
        render(synthetic.store, made)
    assert dear.read_text() == "dear"
    assert stat.S_ISREG((made / name).lstat().st_mode)
    assert Manifest.read(made).whole(made)


def test_of_a_link_the_link_goes(tmp_path: Path) -> None:
    (tmp_path / "mine.png").write_text("dear")
    (tmp_path / "out/figures").mkdir(parents=True)
    (tmp_path / "out/figures/a.png").symlink_to(tmp_path / "mine.png")
    remove_old(tmp_path / "out", ["figures/a.png"])
    assert (tmp_path / "mine.png").exists()
    assert not (tmp_path / "out/figures/a.png").is_symlink()


@pytest.mark.parametrize(
    "what", ["index.html", "tables/map-quick-mini-cnn.csv", "figures/map-nus-mini-quick-mini-cnn.png"]
)
@pytest.mark.parametrize("how", ["truncated", "changed", "gone"])
def test_a_damaged_file_is_made_again(made: Path, synthetic, undrawn, what: str, how: str) -> None:
    """B13: a truncated page with a matching manifest counted as up to date."""
    path = made / what
    before = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(before[: len(before) // 2] if how == "truncated" and before else bytes(len(before) or 1))
    render(synthetic.store, made)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    ["", "[]", "null", '{"files": 3}', '{"files": ["index.html"], "figures": {}}', '{"files": {"a": 1}}', "é"],
)
def test_any_manifest_can_be_read(made: Path, synthetic, undrawn, content: str) -> None:
    (made / MANIFEST).write_bytes(content.encode("latin-1"))
    page = (made / "index.html").read_bytes()
    assert not Manifest.read(made).whole(made)
    render(synthetic.store, made)
    assert (made / "index.html").read_bytes() == page
    assert Manifest.read(made).whole(made)


# --- what the digest covers --------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, to be edited."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "benchmark", ignore=shutil.ignore_patterns("__pycache__")))


def edited(copy: Path, name: str, old: str, new: str) -> str:
    path = copy / name
    content = path.read_text(encoding="utf-8")
    assert old in content, (name, old)
    # Another path, as hashes of code are remembered by path.
    again = copy.with_name(f"{copy.name}-edited")
    shutil.copytree(copy, again)
    (again / name).write_text(content.replace(old, new, 1), encoding="utf-8")
    return code_digest(again)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("report/headline.py", "the highest mean", "the very highest mean"),
        ("report/display_names.py", "LONGEST = 80", "LONGEST = 90"),
        ("report/page.html.j2", "<h1>hashbench", "<h1>my hashbench"),
        ("report/highlight.toml", 'front = ["dph"]', "front = []"),
        ("report/published.csv", "0.3252", "0.3253"),
        ("evaluation/statistics.py", "LEVEL = 0.95", "LEVEL = 0.9"),
        ("evaluation/metrics.py", "return", "return  None or"),
        ("evaluation/ties.py", "return", "return None or"),
        ("evaluation/counting.py", "return", "return None or"),
        ("execution/record.py", '"failed"', '"Failed"'),
        ("execution/store.py", "return", "return None or"),
        ("labels.py", "return", "return None or"),
        ("arrays.py", "return", "return None or"),
    ],
)
def test_whatever_decides_the_page_changes_the_digest(copy: Path, name: str, old: str, new: str) -> None:
    """Issue 12: the cache digest hashed the wrong modules."""
    assert edited(copy, name, old, new) != code_digest(copy)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("report/headline.py", "from __future__", "# A comment.\nfrom __future__"),
        ("report/headline.py", '"""The report in a few', '"""This report in a few'),
        ("evaluation/statistics.py", "import numpy as np\n", "import numpy as np\n\n\n"),
        ("deep/samplers.py", "import", "import sys\nimport"),
        ("commands/report.py", "HELP = ", "HELP = 'x' + "),
    ],
)
def test_comments_and_other_rooms_do_not(copy: Path, name: str, old: str, new: str) -> None:
    assert edited(copy, name, old, new) == code_digest(copy)


# What the report imports, at whatever depth, and leaves out of its digest.
UNDECISIVE = {
    "contracts", "errors", "guard", "parameters", "registry", "seeds", "similarity",  # of plugins; no plugin decides
    "unseen",  # rows: the revision stands for them
    "conformance", "data", "deep", "shallow",  # images shown: the revision in each record stands for them
    "execution",  # keys and places; of it the record and the store are covered
}  # fmt: skip


def test_every_module_that_the_report_reaches_is_covered_or_named_here() -> None:
    """A list by hand forgets; this one is compared with the imports."""
    import grimp  # comes with import-linter

    graph = grimp.build_graph("benchmark", cache_dir=None)
    reached = graph.find_upstream_modules("benchmark.report", as_package=True)
    files = {one.removeprefix("benchmark.").replace(".", "/") for one in reached if one != "benchmark"}
    covered = tuple(name.removesuffix(".py") for name in DECISIVE)
    left = {one for one in files if not one.startswith(covered) and one.split("/")[0] not in UNDECISIVE}
    assert not left


def test_other_code_makes_the_report_again(made: Path, synthetic, undrawn, monkeypatch: pytest.MonkeyPatch) -> None:
    index = made / "index.html"
    before = index.stat().st_mtime_ns
    render(synthetic.store, made)
    assert index.stat().st_mtime_ns == before
    monkeypatch.setattr("benchmark.report.report_files.code_digest", lambda: "other")
    render(synthetic.store, made)
    assert index.stat().st_mtime_ns > before
