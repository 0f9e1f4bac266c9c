"""The miniatures keep the paper's protocol at their scale, and are the same on every machine, pixel by pixel."""

from __future__ import annotations

import colorsys
import hashlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.contracts import Splits
from benchmark.data.miniature import glyphs, pixels, scenes

NAMES = ("imagenet-mini", "nus-mini", "coco-mini")
# sha256 of the first 256 query and database images, all labels and the training rows' names. They change only with
# the generator; a machine on which they differ does not run the same benchmark.
PIXELS = {
    "imagenet-mini": "56dfe40f87e25f4755804759bedf0df283e63f159fce4d353dfb92c29367cc1c",
    "nus-mini": "af110ee660a386c2ef9f6fa00bb2047f3f28fee37fe26670da838bb77cee62ab",
    "coco-mini": "9218f518cc3e37d15cd3cdf3157fae7f229646c91297f44472aa21e5b7335ba8",
}


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def splits(name: str) -> Splits:
    return get_dataset(name).load()


def test_identical_on_every_machine(name: str, splits: Splits) -> None:
    digest = hashlib.sha256()
    for part in (splits.query, splits.database):
        digest.update(np.stack([part.images[i] for i in range(256)]).tobytes())
        digest.update(np.packbits(part.labels).tobytes())
    digest.update("\n".join(splits.train.ids).encode())
    assert digest.hexdigest() == PIXELS[name]


def test_is_named_a_miniature(name: str) -> None:
    dataset = get_dataset(name)
    assert (dataset.name, dataset.miniature, dataset.backbone) == (name, True, "mini-cnn")
    assert "miniature" in dataset.title
    dataset.check()


def test_attributes_cost_no_import_and_no_rendering() -> None:
    code = (
        "import sys; from benchmark import get_dataset\n"
        f"print([get_dataset(n).revision for n in {NAMES}])\n"
        "assert not {'sklearn', 'torch', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([get_dataset(n).revision for n in NAMES])


def test_images_are_small_colour_pictures(splits: Splits) -> None:
    for part in splits.parts().values():
        image = part.images[len(part) - 1]
        assert image.shape == (32, 32, 3)
        assert image.dtype == np.uint8
        with pytest.raises(IndexError):
            part.images[len(part)]


def test_training_rows_are_database_rows_and_queries_are_not(splits: Splits) -> None:
    database = {row: i for i, row in enumerate(splits.database.ids)}
    assert len(database) == len(splits.database)
    assert len(set(splits.train.ids)) == len(splits.train)
    assert not database.keys() & set(splits.query.ids)
    for i in range(0, len(splits.train), 500):
        row = database[splits.train.ids[i]]
        assert np.array_equal(splits.train.images[i], splits.database.images[row])
        assert np.array_equal(splits.train.labels[i], splits.database.labels[row])


def test_glyphs_of_queries_are_nobody_elses() -> None:
    pools = {name: set(np.concatenate(glyphs.pool(name)).tolist()) for name in glyphs.SHARES}
    assert sum(len(members) for members in pools.values()) == len(set.union(*pools.values())) == 1797
    assert all(len(part) >= 30 for name in glyphs.SHARES for part in glyphs.pool(name))


def test_every_class_has_ten_queries_and_a_name(splits: Splits) -> None:
    classes = splits.query.labels.shape[1]
    assert splits.query.labels.sum(0).min() >= 10
    assert splits.query.labels.any(1).all()
    assert len(set(splits.class_names)) == classes
    assert splits.train.labels.any(0).all()


def test_imagenet_is_skewed_as_in_the_paper() -> None:
    splits = get_dataset("imagenet-mini").load()
    counts = np.sort(splits.train.labels.sum(0))[::-1]
    shares = counts / counts.sum()
    assert shares[0] == pytest.approx(0.13, abs=0.005)
    assert shares[1:10] == pytest.approx(np.full(9, 0.0411), rel=0.1)
    assert shares[10:].mean() == pytest.approx(0.0056, rel=0.05)
    assert (splits.query.labels.sum(0) == 10).all()
    assert (splits.database.labels.sum(1) == 1).all()
    assert (np.diff(splits.database.labels.argmax(1)) >= 0).all()
    assert splits.database.labels.shape[1] == 100


def test_nus_is_long_tailed_with_a_fifth_unlabelled() -> None:
    splits = get_dataset("nus-mini").load()
    for part in (splits.train, splits.database):
        assert (~part.labels.any(1)).mean() == pytest.approx(0.22, abs=0.03)
        assert part.labels.sum(1).mean() == pytest.approx(1.89, abs=0.1)
    counts = np.sort(splits.database.labels.sum(0))
    assert len(counts) == 81
    assert counts[-1] / np.median(counts) > 15
    assert splits.class_names[-1] == "grey"


def test_coco_has_three_labels_and_one_dominant_class() -> None:
    splits = get_dataset("coco-mini").load()
    shares = splits.database.labels.mean(0)
    assert len(shares) == 80
    assert splits.database.labels.sum(1).mean() == pytest.approx(2.93, abs=0.1)
    assert splits.database.labels.any(1).all()
    assert shares.max() == pytest.approx(0.547, abs=0.03)
    assert np.sort(shares)[-2] < 0.2


def test_hues_are_those_of_the_colour_wheel() -> None:
    hues = np.arange(0, scenes.WHEEL, 37)
    full, none = np.full(len(hues), 255), np.zeros(len(hues), int)
    expected = [colorsys.hsv_to_rgb(hue / scenes.WHEEL, 1, 1) for hue in hues]
    assert pixels._colour(hues, full, none) == pytest.approx(255 * np.array(expected), abs=1.5)


def test_colourless_is_grey() -> None:
    red, green, blue = pixels._colour(np.array([scenes.COLOURLESS]), np.array([200]), np.array([0]))[0]
    assert red == green == blue == 200


@pytest.mark.parametrize("scrambled", [False, True])
def test_a_glyph_is_turned_scaled_and_placed(scrambled: bool) -> None:
    palette, variation = scenes.Palette(("red",)), scenes.Variation((14, 20))
    drawn = scenes.draw_scenes(np.random.default_rng(3), "query", np.array([[4]]), palette, variation)
    drawn.scrambled[0, 0] = scrambled
    assert pixels._opacity(drawn, np.array([0]), 0)[0] == pytest.approx(slow_opacity(drawn), abs=0)


def slow_opacity(drawn: scenes.Scenes) -> np.ndarray:
    """Pixel by pixel, with a sine rounded to 1/4096 as stored: the glyph's pixel that lies under each canvas pixel."""
    stored, side = glyphs.opacities()[drawn.glyph[0, 0]], glyphs.SIDE
    angle, size, (x0, y0) = math.radians(drawn.angle[0, 0]), drawn.size[0, 0], drawn.centre[0, 0] / 2
    cosine, sine = round(4096 * math.cos(angle)) / 4096, round(4096 * math.sin(angle)) / 4096
    opacity = np.zeros((32, 32))
    for row in range(32):
        for column in range(32):
            x, y = column + 0.5 - x0, row + 0.5 - y0
            u = math.floor((cosine * x + sine * y) * side / size) + side // 2
            v = math.floor((cosine * y - sine * x) * side / size) + side // 2
            if 0 <= u < side and 0 <= v < side:
                if drawn.scrambled[0, 0]:
                    u, v = (u + side // 2) % side, (v + side // 2) % side
                opacity[row, column] = stored[v, u]
    return opacity


def test_the_revision_follows_what_the_code_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment or a docstring in the code that makes the images changes nothing, another number does."""
    text = Path(str(pixels.__file__)).read_text()
    changes = {
        "same": text,
        "comment": text.replace("NOISE = 10", "# loud\nNOISE = 10"),
        "docstring": text.replace('"""Scenes to pixels', '"""From scenes to pixels'),
        "number": text.replace("NOISE = 10", "NOISE = 11"),
    }
    found = {}
    for kind, changed in changes.items():
        (tmp_path / f"{kind}.py").write_text(changed)
        monkeypatch.setattr(pixels, "__file__", str(tmp_path / f"{kind}.py"))
        found[kind] = get_dataset("coco-mini").revision
    assert found["same"] == found["comment"] == found["docstring"] != found["number"]
