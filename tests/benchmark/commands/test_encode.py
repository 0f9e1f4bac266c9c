"""`encode`: as a user types it, killed and typed again, and with what it cannot read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack
from benchmark.execution.model import Model
from benchmark.execution.store import Store
from benchmark.program import typed

WORDS = ["--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--no-report", "--jobs", "1"]


def test_the_database_again_gives_the_stored_codes(command: Callable[..., Any], own_features: Path) -> None:
    command(*WORDS, "--keep-models")
    with np.load(own_features) as rows:
        np.save("rows.npy", rows["database_features"])
    code, out, err = command("encode", "lsh mine 8", "--images", "rows.npy", "--out", "codes.npy")
    assert (code, err) == (0, "")
    assert "160 codes of 8 bits by 'lsh mine 8 bits seed 0' in codes.npy" in out
    store = Store("results")
    stored = store.payload(next(store.records()))["database_codes"]
    assert np.array_equal(pack(np.load("codes.npy")), stored)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["zebra", "--images", "mine.npz:query_features", "--out", "c.npy"], "no cell of results matches 'zebra'"),
        (["lsh", "--images", "wide.npy", "--out", "c.npy"], "features of 3 columns, expected 24"),
        (["lsh", "--images", "nowhere", "--out", "c.npy"], "nowhere: no such file"),
        (["lsh", "--images", "wide.npy", "--out", "c.doc"], "unknown kind of file"),
        (["lsh", "--images", "wide.npy", "--out", "wide.npy"], "exists already"),
        (["lsh", "--images", "pics", "--out", "c.npy"], "nobody knows how to make them of images"),
        (["lsh", "--out", "c.npy"], "--images"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    command: Callable[..., Any], own_features: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    from PIL import Image

    command(*WORDS, "--keep-models")
    np.save("wide.npy", np.zeros((2, 3)))
    (tmp_path / "pics").mkdir()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "pics" / "a.png")
    before = sorted(tmp_path.rglob("*"))
    code, _, err = command("encode", *words)
    assert (code, told in err, err.count("\n")) == (2, True, 1), err
    assert sorted(tmp_path.rglob("*")) == before


def test_where_codes_cannot_go_is_told_before_the_cell_is_looked_for_and_the_cell_before_its_model_is_read(
    command: Callable[..., Any], own_features: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(*WORDS, "--keep-models")
    err = command("encode", "zebra", "--images", "mine.npz", "--out", "mine.npz")[2]
    assert "--out mine.npz: exists already" in err

    def slow(*_: Any, **__: Any) -> None:
        assert capsys.readouterr().out == "reading the model of 'lsh mine 8 bits seed 0'\n"
        raise UsageError("so far")

    monkeypatch.setattr("benchmark.execution.model.read_model", slow)
    np.save("rows.npy", np.zeros((2, 24)))
    assert "so far" in command("encode", "lsh", "--images", "rows.npy", "--out", "c.npy")[2]


@pytest.mark.parametrize("command_words", [
    ["encode", "itq 8", "--images", "l", "--out", "c.npy"],
    ["search", "itq 8", "--query", "l/red/00.png", "--database", "l"],
    ["serve", "itq", "--database", "l"],
])  # fmt: skip
def test_an_interrupt_says_what_is_kept_and_how_to_go_on(
    command: Callable[..., Any], picture_cells: Path, monkeypatch: pytest.MonkeyPatch, command_words: list[str]
) -> None:
    shutil.copytree(picture_cells / "l", "l")  # a folder whose codes are not in the cache yet
    words = [*command_words, "--results", str(picture_cells / "results")]
    chunks = Model.chunks

    def stopped(self: Model, given: Any, start: int = 0) -> Iterator[Any]:
        yield from chunks(self, given, start)
        if len(given) > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Model, "chunks", stopped)
    code, _, err = command(*words)
    assert (code, err) == (130, f"interrupted; what was encoded is kept; to go on: {typed(words)}\n")


def test_a_killed_one_goes_on_where_it_stopped(lab: Any) -> None:
    """With a broken image among them, by a model on features of images: what is done is not done again."""
    lab.pictures("pics", noisy=True)
    plugin = lab.plugin(
        "slow-planes",
        encode="""
            time.sleep(1.0 if len(split) == 256 and (HERE / "slowly").exists() else 0)
        """,
    )  # fmt: skip
    grid = ["--datasets", f"lists:{lab.lists('pics')}", "--methods", "slow-planes", "--plugin", plugin]
    lab.run(*grid, "--backbone", "mini-cnn", "--keep-models")
    from PIL import Image

    rng = np.random.default_rng(0)
    (lab.folder / "many").mkdir()
    for row in range(600):
        Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(lab.folder / "many" / f"{row:03d}.bmp")
    (lab.folder / "many" / "300.bmp").write_bytes(b"no image")
    words = ["encode", "slow-planes", "--plugin", plugin, "--images", lab.folder / "many", "--results", "results"]
    whole = lab.command(*words, "--out", "whole.npy")
    assert whole.code == 1, whole.text
    (lab.folder / "slowly").touch()
    process = lab.start(*words, "--out", "codes.npy")
    partial = lab.folder / "codes.npy.partial"
    lab.wait_for(lambda: partial.exists() and partial.stat().st_size > 2 * 256, process=process)
    process.kill()
    process.wait()
    assert not (lab.folder / "codes.npy").exists()
    done = lab.command(*words, "--out", "codes.npy")
    assert done.code == 1, done.text
    assert "note: 256 of 600 rows had been encoded before" in done.text
    assert "300.bmp is no image" in done.text
    assert (lab.folder / "codes.npy").read_bytes() == (lab.folder / "whole.npy").read_bytes()
    assert len((lab.folder / "codes.names.txt").read_text().split()) == 599
