"""What a word after --database means, and that what is known of its rows belongs to these rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack
from benchmark.execution.encoding import encode_to
from benchmark.execution.image_database import file_database, folder_database, open_database, own_database
from benchmark.execution.model_inputs import inputs_at
from benchmark.execution.record import Record
from benchmark.execution.store import Store


class Brightness:
    """Stands for a model: eight bits that tell how bright a picture is; remembers what it was given."""

    bits, sha256, label, key = 8, "s", "brightness", "k"

    def __init__(self) -> None:
        self.given: list[str] = []

    def check_takes(self, rows: Any) -> None:
        pass

    def encode(self, files: list[str]) -> np.ndarray:
        return np.stack([self._code(np.asarray(Image.open(file).convert("RGB"))) for file in files])

    def chunks(self, rows: Any) -> Any:
        codes, faults = {}, {}
        for row, name in enumerate(rows.names):
            self.given.append(name)
            try:
                codes[row] = self._code(rows.images[row])
            except UsageError as error:
                faults[row] = str(error)
        found = np.array([*codes.values()], np.int8).reshape(-1, 8)
        yield SimpleNamespace(rows=[*codes], codes=found, faults=faults)

    def _code(self, pixels: np.ndarray) -> np.ndarray:
        return np.where(np.arange(8) < pixels.mean() / 32, 1, -1).astype(np.int8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Grey pictures of rising brightness, in two folders."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    for number in range(6):
        path = tmp_path / "pics" / f"c{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (40 * number,) * 3).save(path)
    return tmp_path / "pics"


def test_a_folder_has_the_codes_labels_and_pictures_of_its_files(folder: Path) -> None:
    model: Any = Brightness()
    database = folder_database(folder, model)
    assert database.names == ["c0/0.png", "c0/2.png", "c0/4.png", "c1/1.png", "c1/3.png", "c1/5.png"]
    expected = pack(model.encode([str(folder / name) for name in database.names]))
    np.testing.assert_array_equal(database.packed, expected)
    assert [database.labels(row) for row in range(6)] == ["c0"] * 3 + ["c1"] * 3
    assert database.images[3].mean() == 40
    assert database.told == []


def test_only_what_changed_is_encoded_again_and_broken_files_are_named_each_time(folder: Path) -> None:
    model: Any = Brightness()
    folder_database(folder, model)
    (folder / "c0" / "0.png").unlink()
    Image.new("RGB", (4, 4), (250,) * 3).save(folder / "c1" / "1.png")
    (folder / "c1" / "broken.png").write_bytes(b"x")
    model.given.clear()
    database = folder_database(folder, model)
    assert model.given == ["c1/1.png", "c1/broken.png"]
    assert database.told[0].endswith("1 new, 1 changed, 1 gone")
    assert "broken.png is no image" in database.told[1]
    assert database.packed[database.names.index("c1/1.png")] == pack(np.ones((1, 8)))[0]
    model.given.clear()
    assert len(folder_database(folder, model).told) == 1
    assert model.given == []


def test_a_death_does_not_cost_what_was_encoded_and_is_no_change_of_the_folder(folder: Path) -> None:
    class Mortal(Brightness):
        """One picture at a time; dies at the fourth that it is given."""

        def chunks(self, rows: Any) -> Any:
            for row, name in enumerate(rows.names):
                self.given.append(name)
                if len(self.given) == 4:
                    raise KeyboardInterrupt
                yield SimpleNamespace(rows=[row], codes=self._code(rows.images[row])[None], faults={})

    first: Any = Mortal()
    with pytest.raises(KeyboardInterrupt):
        folder_database(folder, first)
    model: Any = Brightness()
    database = folder_database(folder, model)
    assert model.given == ["c1/1.png", "c1/3.png", "c1/5.png"]
    assert database.told == []
    np.testing.assert_array_equal(database.packed, pack(model.encode([str(folder / name) for name in database.names])))
    assert not [*(folder.parent / "cache").rglob("*.begun")]


def test_an_interrupt_costs_nothing_however_little_was_new(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Brightness):
        def chunks(self, rows: Any) -> Any:
            for chunk in super().chunks(rows):
                yield chunk
                raise KeyboardInterrupt

    monkeypatch.setattr("benchmark.execution.image_database.GROWTH", 100)
    model: Any = Brightness()
    folder_database(folder, model)
    Image.new("RGB", (4, 4), (250,) * 3).save(folder / "c1" / "new.png")
    with pytest.raises(KeyboardInterrupt):
        folder_database(folder, Interrupted())  # type: ignore[arg-type]
    model.given.clear()
    folder_database(folder, model)
    assert model.given == []


def test_a_folder_without_one_readable_picture_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.png").write_bytes(b"x")
    model: Any = Brightness()
    with pytest.raises(UsageError, match="none of its 1 images can be read"):
        folder_database(tmp_path / "bad", model)


def test_codes_of_a_file_take_names_from_it_or_from_the_list_beside_it(folder: Path, tmp_path: Path) -> None:
    model: Any = Brightness()
    names = ["c0/2.png", "c1/5.png"]
    codes = model.encode([str(folder / name) for name in names])
    np.savez(tmp_path / "a.npz", codes=pack(codes), bits=8, names=np.array(names))
    np.save(tmp_path / "b.npy", codes)
    (tmp_path / "b.names.txt").write_text("\n".join(names) + "\n")
    np.save(tmp_path / "c.npy", codes)
    for name, expected in (("a.npz", names), ("b.npy", names), ("c.npy", ["0", "1"])):
        database = file_database(tmp_path / name, model, None)
        assert (list(database.names), len(database)) == (expected, 2)
        np.testing.assert_array_equal(database.packed, pack(codes))
    assert file_database(tmp_path / "a.npz", model, folder).images[1].mean() == 200
    with pytest.raises(UsageError, match="they are of another model, or the pictures have changed"):
        file_database(_saved(tmp_path / "d.npz", -codes, names), model, folder)
    with pytest.raises(UsageError, match=r"none of its 2 pictures, the first of which is c0/2\.png, are in"):
        file_database(tmp_path / "a.npz", model, tmp_path)


@pytest.fixture
def hundred(folder: Path) -> Path:
    """A hundred dark pictures, all files of one size."""
    for number in range(100):
        path = folder.parent / "many" / f"{number:02}.bmp"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), (9, 9, 9)).save(path)
    return folder.parent / "many"


def _encoded(pictures: Path, name: str) -> Path:
    model: Any = Brightness()
    model.images_at_once = 256
    out = pictures.parent / name
    chunks = model.chunks

    def whole(rows: Any, start: int) -> Any:
        for chunk in chunks(rows):
            yield SimpleNamespace(**vars(chunk), all_rows=range(len(rows)), end=len(rows))

    model.chunks = whole
    encode_to(model, inputs_at(pictures), out, print)
    return out


@pytest.mark.parametrize("kind", ["npz", "npy", "csv"])
def test_pictures_that_are_gone_are_left_out_and_told_in_a_line(hundred: Path, kind: str) -> None:
    out, model = _encoded(hundred, f"c.{kind}"), Brightness()
    for number in (7, 50, 99):
        (hundred / f"{number:02}.bmp").unlink()
    database = file_database(out, model, hundred)  # type: ignore[arg-type]
    assert (len(database), len(database.packed), len(database.images)) == (97, 97, 97)  # type: ignore[arg-type]
    assert database.told == [f"left out: 3 of the 100 pictures of {out} are not in {hundred}, the first is 07.bmp"]
    assert "07.bmp" not in database.names


@pytest.mark.parametrize("kind", ["npz", "npy", "csv"])
@pytest.mark.parametrize("size", [4, 5])
def test_one_picture_that_was_replaced_is_noticed_in_every_kind_of_file(hundred: Path, kind: str, size: int) -> None:
    """Another size tells at once; of the same size and another time, it is encoded again."""
    out, model = _encoded(hundred, f"c.{kind}"), Brightness()
    assert file_database(out, model, hundred).told == []  # type: ignore[arg-type]
    Image.new("RGB", (size, size), (200,) * 3).save(hundred / "41.bmp")
    with pytest.raises(UsageError, match=r"the first is 41\.bmp.*: encode them again"):
        file_database(out, model, hundred)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["npz", "npy", "csv"])
def test_without_sizes_and_times_pictures_from_all_over_the_file_are_encoded_again(hundred: Path, kind: str) -> None:
    out, model = _encoded(hundred, f"c.{kind}"), Brightness()
    (hundred.parent / "c.files.txt").unlink()
    for number in range(90, 100):
        Image.new("RGB", (4, 4), (200,) * 3).save(hundred / f"{number}.bmp")
    with pytest.raises(UsageError, match=r"of 16 pictures .* 2 have other codes, the first is 92\.bmp"):
        file_database(out, model, hundred)  # type: ignore[arg-type]


def test_a_bit_that_another_machine_rounds_otherwise_is_no_change(hundred: Path) -> None:
    class Long(Brightness):
        bits = 32
        flipped = 0

        def _code(self, pixels: np.ndarray) -> np.ndarray:
            return np.where(np.arange(32) < self.flipped, -1, 1).astype(np.int8)

    model, names = Long(), ["00.bmp", "01.bmp"]
    out = hundred.parent / "c.npz"
    np.savez(out, codes=np.full((2, 4), 255, np.uint8), bits=32, names=np.array(names))
    model.flipped = 2
    assert file_database(out, model, hundred).told == []  # type: ignore[arg-type]
    model.flipped = 3
    with pytest.raises(UsageError, match="2 have other codes"):
        file_database(out, model, hundred)  # type: ignore[arg-type]


def _saved(path: Path, codes: np.ndarray, names: list[str]) -> Path:
    np.savez(path, codes=pack(codes), bits=8, names=np.array(names))
    return path


def test_the_cells_own_database_has_stored_codes_and_labels(tmp_path: Path) -> None:
    store, codes = Store(tmp_path / "results"), np.arange(6, dtype=np.uint8).reshape(3, 2)
    hot = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]], bool)
    arrays = {"database_labels": np.packbits(hot, axis=1), "class_names": np.array(["a", "b", "c"])}
    store.save_dataset("r", {**arrays, "database_ids": np.array(["x", "y", "z"])})
    cell = {"method": "m", "dataset": "d", "bits": 16, "seed": 0}
    parts = {"dataset": {"revision": "r"}}
    record = Record("0" * 64, cell, parts, status="ok", metrics={"map": 0.5}, asked={"dataset": "no-such-data"})
    store.commit(record, {"database_codes": codes, "ap": np.zeros(1)})
    stored = store.read(record.key)
    assert stored is not None
    database = own_database(stored, store)
    np.testing.assert_array_equal(database.packed, codes)
    assert list(database.names) == ["x", "y", "z"]
    assert [database.labels(row) for row in range(3)] == ["a", "b, c", ""]
    assert database.images is None
    assert database.told[0].startswith("no pictures: the data set cannot be loaded here")
    assert store.drop_codes(stored)
    with pytest.raises(UsageError, match=r"m d 16 bits seed 0: its record in .* holds no codes.*--force"):
        own_database(store.read(record.key), store)  # type: ignore[arg-type]


def test_a_word_that_is_neither_is_refused(tmp_path: Path) -> None:
    nobody: Any = SimpleNamespace()
    with pytest.raises(UsageError, match="or the word 'codes' for those of the cell"):
        open_database(str(tmp_path / "nowhere"), nobody, nobody, nobody)
