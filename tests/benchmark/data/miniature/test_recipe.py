"""The recipe: another image or label is another hash, another comment is not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.data.miniature import pixels, recipe


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


@pytest.mark.parametrize("module", ["glyphs", "labelled_rows", "pixels", "scenes", "seeds"])
def test_every_module_that_decides_an_image_or_a_label_counts(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe.source_hash()
    changed = getattr(recipe, module)
    (tmp_path / "changed.py").write_text(Path(str(changed.__file__)).read_text() + "\nMORE = 1\n")
    monkeypatch.setattr(changed, "__file__", str(tmp_path / "changed.py"))
    assert recipe.source_hash() != before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "revision", "content"),
    [
        ("imagenet-mini", "be19d0d0864135c6", "92aa839514f41e9b"),
        ("nus-mini", "ff8fcc1020fe1d56", "e9f24700b115365b"),
        ("coco-mini", "011680d4fac2806b", "6301eabc2cc76e0b"),
    ],
)
def test_a_revision_stands_for_the_same_images_and_labels_whatever_code_makes_them(
    name: str, revision: str, content: str
) -> None:
    """The sums were taken of the first code that had the revision: code that is said to be alike must be."""
    dataset, found = get_dataset(name), hashlib.sha256()
    assert dataset.revision == revision
    splits = dataset.load()
    for part in (splits.train, splits.query, splits.database):
        assert part.images is not None
        assert part.labels is not None
        for row in range(len(part)):
            found.update(np.asarray(part.images[row]).tobytes())
        found.update(np.ascontiguousarray(part.labels).tobytes())
    assert found.hexdigest()[:16] == content
