"""Codes into files: whole or not at all, from where it stopped, with what could not be read named."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmark.errors import UsageError
from benchmark.evaluation.codes import unpack
from benchmark.execution.encoding import beside, check_length, check_target, encode_to, read_codes_file
from benchmark.execution.model import EncodedChunk
from benchmark.execution.model_inputs import ModelRows, decoded_chunk, inputs_at, inputs_of

BITS, AT_ONCE, ROWS = 12, 4, 18


class Counting:
    """A model whose code of an image is its first pixel in bits; counts the chunks it was asked for."""

    bits, images_at_once, sha256, key = BITS, AT_ONCE, "a", "k"

    def __init__(self, dies_after: int = 10**9) -> None:
        self.dies_after, self.made = dies_after, 0

    def check_takes(self, given: ModelRows) -> None:
        pass

    def encode_features(self, features: np.ndarray) -> np.ndarray:
        return code_of(features[:, 0].astype(int))

    def chunks(self, given: ModelRows, start: int = 0) -> Iterator[EncodedChunk]:
        for first in range(start, len(given), AT_ONCE):
            if self.made == self.dies_after:
                raise KeyboardInterrupt
            self.made += 1
            rows = range(first, min(first + AT_ONCE, len(given)))
            found = decoded_chunk(given.images, rows, np.asarray)  # type: ignore[arg-type]
            values = np.array([image[0, 0, 0] for image in found.images], int)
            yield EncodedChunk(rows, found.rows, code_of(values), found.faults)


def code_of(values: np.ndarray) -> np.ndarray:
    return np.where(values[:, None] >> np.arange(BITS) & 1, 1, -1).astype(np.int8)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "pics").mkdir()
    for row in range(ROWS):
        Image.fromarray(np.full((3, 3, 3), row, np.uint8)).save(tmp_path / "pics" / f"{row:02d}.png")
    return tmp_path / "pics"


def encoded(model: Any, given: ModelRows, out: Path, say: Callable[[str], None] = print) -> Any:
    return encode_to(model, given, out, say)


def heard(said: list[tuple[str, int]], model: Counting, line: str) -> None:
    """A line, and how many chunks had been made by then."""
    said.append((line, model.made))


@pytest.mark.parametrize("died_after", [1, 3, 4])
def test_it_goes_on_where_it_stopped(pictures: Path, tmp_path: Path, died_after: int) -> None:
    out = tmp_path / "codes.npy"
    with pytest.raises(KeyboardInterrupt):
        encoded(Counting(died_after), inputs_at(pictures), out)
    assert not out.exists()
    model, said = Counting(), list[tuple[str, int]]()
    encoded(model, inputs_at(pictures), out, partial(heard, said, model))
    assert said == [(f"note: {died_after * AT_ONCE} of {ROWS} rows had been encoded before", 0)]
    assert model.made == 5 - died_after
    assert np.array_equal(np.load(out), code_of(np.arange(ROWS)))
    assert beside(out, "names").read_text().split() == [f"{row:02d}.png" for row in range(ROWS)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "codes.files.txt",
        "codes.names.txt",
        "codes.npy",
        "pics",
    ]


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_chunk_that_was_cut_short_or_damaged_is_made_again(pictures: Path, tmp_path: Path, lost: int) -> None:
    out, partial = tmp_path / "codes.npy", tmp_path / "codes.npy.partial"
    with pytest.raises(KeyboardInterrupt):
        encoded(Counting(3), inputs_at(pictures), out)
    content = partial.read_bytes()
    for damaged in (content[:-lost], content[:-lost] + b"?" + content[len(content) - lost + 1 :]):
        partial.write_bytes(damaged)
        model = Counting()
        encoded(model, inputs_at(pictures), out)
        assert model.made > 2
        assert np.array_equal(np.load(out), code_of(np.arange(ROWS)))
        partial.write_bytes(content)


def test_other_files_or_another_model_begin_anew_and_say_so(pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "codes.npy"
    for change, told in ((lambda: (pictures / "05.png").unlink(), "images have changed"), (None, "another model")):
        with pytest.raises(KeyboardInterrupt):
            encoded(Counting(2), inputs_at(pictures), out)
        model = Counting()
        if change is None:
            model.sha256 = "b"
        else:
            change()
        said: list[tuple[str, int]] = []
        encoded(model, inputs_at(pictures), out, partial(heard, said, model))
        ((line, made),) = said
        assert (made, told in line, "begun anew" in line) == (0, True, True)


def test_files_that_change_meanwhile_are_noticed_and_nothing_is_written(pictures: Path, tmp_path: Path) -> None:
    class Meddled(Counting):
        def chunks(self, given: ModelRows, start: int = 0) -> Iterator[EncodedChunk]:
            yield from super().chunks(given, start)
            Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(pictures / "00.png")

    with pytest.raises(UsageError, match="changed while they were encoded"):
        encoded(Meddled(), inputs_at(pictures), tmp_path / "codes.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["pics"]


def test_broken_images_are_left_out_and_named_those_of_an_earlier_call_too(pictures: Path, tmp_path: Path) -> None:
    for row in (1, 9):
        (pictures / f"{row:02d}.png").write_bytes(b"no image")
    out = tmp_path / "codes.npy"
    with pytest.raises(KeyboardInterrupt):
        encoded(Counting(2), inputs_at(pictures), out)
    found = encoded(Counting(), inputs_at(pictures), out)
    assert list(found.faults) == ["01.png", "09.png"]
    assert all("is no image" in why for why in found.faults.values())
    good = [row for row in range(ROWS) if row not in (1, 9)]
    assert np.array_equal(np.load(out), code_of(np.array(good)))
    assert [line.partition("\t")[0] for line in beside(out, "broken").read_text().splitlines()] == ["01.png", "09.png"]


@pytest.mark.parametrize("kind", ["npy", "npz", "csv"])
def test_where_nothing_could_be_encoded_nothing_is_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "bad.png").write_bytes(b"no image")
    with pytest.raises(UsageError, match=r"none of the 1 images could be encoded \(.*is no image.*nothing was written"):
        encoded(Counting(), inputs_at(tmp_path / "bad.png"), tmp_path / f"codes.{kind}")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.png"]


def test_every_kind_of_file_holds_the_same_codes(pictures: Path, tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    values = code_of(np.arange(ROWS))
    encoded(Counting(), inputs_at(pictures), tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as file:
        assert np.array_equal(unpack(file["codes"], int(file["bits"])), values)
        assert list(file["names"][:2]) == ["00.png", "01.png"]
    encoded(Counting(), inputs_at(pictures), tmp_path / "c.csv")
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert [[int(bit) * 2 - 1 for bit in row["code"]] for row in rows] == values.tolist()
    model = Counting()
    model.bits = 8
    monkey = ModelRows([str(row) for row in range(ROWS)], features=np.arange(ROWS)[:, None].astype(float))
    model.encode_features = lambda rows: code_of(rows[:, 0].astype(int))[:, :8]  # type: ignore[method-assign]
    encoded(model, monkey, tmp_path / "c.faiss")
    index = faiss.read_index_binary(str(tmp_path / "c.faiss"))
    distances, _ = index.search(np.packbits(values[:1, :8] > 0, axis=1), ROWS)
    assert sorted(distances[0]) == sorted((values[:, :8] != values[0, :8]).sum(axis=1))


def test_features_go_the_same_way(tmp_path: Path) -> None:
    rows = np.arange(5.0)[:, None]
    np.save(tmp_path / "f.npy", rows)
    for name, given in (("a", inputs_at(tmp_path / "f.npy")), ("b", inputs_of(rows))):
        assert encoded(Counting(), given, tmp_path / f"{name}.npy").rows == 5
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), code_of(np.arange(5)))


def test_two_at_one_file_are_refused(pictures: Path, tmp_path: Path) -> None:
    class Nested(Counting):
        def chunks(self, given: ModelRows, start: int = 0) -> Iterator[EncodedChunk]:
            encoded(Counting(), given, tmp_path / "codes.npy")
            yield from ()

    with pytest.raises(UsageError, match="another process is encoding into it"):
        encoded(Nested(), inputs_at(pictures), tmp_path / "codes.npy")


def test_a_head_that_is_no_json_begins_anew(pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.npy.partial").write_bytes(b"{?\n\x00\x01")
    assert encoded(Counting(), inputs_at(pictures), tmp_path / "codes.npy").rows == ROWS


def test_what_cannot_be_written_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.npy").write_bytes(b"precious")
    for out, told in (("x.txt", "unknown kind"), ("old.npy", "exists already"), ("no/x.npy", "there is no folder")):
        with pytest.raises(UsageError, match=told):
            check_target(tmp_path / out)
    check_target(tmp_path / "old.npy", force=True)
    with pytest.raises(UsageError, match="whole bytes"):
        check_length(tmp_path / "x.faiss", 12)
    for out in ("x.npy", "x.faiss"):
        check_length(tmp_path / out, 16)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"pip install 'hashbench\[search\]'"):
        check_target(tmp_path / "x.faiss")


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "faiss"])
def test_what_was_written_is_read_again_with_names_and_the_cell_that_made_it(
    pictures: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "faiss":
        pytest.importorskip("faiss")
        monkeypatch.setattr(Counting, "bits", 16)
        monkeypatch.setattr(sys.modules[__name__], "BITS", 16)
    model, out = Counting(), tmp_path / f"c.{kind}"
    encoded(model, inputs_at(pictures), out)
    found = read_codes_file(out, model.bits)
    assert np.array_equal(unpack(found.packed, model.bits), code_of(np.arange(ROWS)))
    assert found.names == [f"{row:02d}.png" for row in range(ROWS)]
    assert found.model == ("k" if kind == "npz" else "")
    states = [(pictures / name).stat() for name in found.names]
    assert found.files is not None
    assert found.files.tolist() == [[state.st_size, state.st_mtime_ns] for state in states]
    for damage in (b"", b"1 2\n", b"1 2\n" * (ROWS - 1) + b"1 x\n"):
        beside(out, "files").write_bytes(damage)
        assert read_codes_file(out, model.bits).files is None


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.csv", "name,code\na,0101\nb,01x1\n", "c.csv line 3: expected a name and 4 digits 0 or 1"),
        ("c.csv", "name,code\na,01011\n", "c.csv line 2: expected a name and 4 digits"),
        ("c.faiss", "no index", "no binary index of faiss"),
    ],
)
def test_a_file_of_codes_that_is_none_is_told(tmp_path: Path, name: str, content: str, told: str) -> None:
    if name.endswith("faiss"):
        pytest.importorskip("faiss")
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=told):
        read_codes_file(tmp_path / name, 4)


def test_without_faiss_its_file_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.faiss").touch()
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"--database .*c.faiss: needs the package faiss"):
        read_codes_file(tmp_path / "c.faiss", 8)
