"""`prepare`: says what is there and what is missing, builds what can be built, and goes on where it was stopped."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.commands import prepare
from benchmark.commands.main import main
from benchmark.data import feature_cache as features
from benchmark.data.cache import telling
from benchmark.data.images import Transform
from benchmark.deep.backbones import Backbone

SMALL = ["--option", "coco.train_size=20", "--option", "coco.queries_per_class=1"]


class Mean(torch.nn.Module):
    def forward(self, images):
        return images.mean(dim=(2, 3))


def tiny_backbone(name, weights=None, partial=False):
    return Backbone(name, Mean(), torch.nn.Identity(), Transform(8, 8), 3, "none")


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(features, "load_backbone", tiny_backbone)


@pytest.fixture
def root(tmp_path):
    """A small COCO in the official layout."""
    folder = tmp_path / "root"
    categories = [{"id": n, "name": f"thing {n}"} for n in range(80)]
    for offset, part in ((0, "train2014"), (80, "val2014")):
        (folder / part).mkdir(parents=True)
        images = [{"id": n, "file_name": f"COCO_{part}_{n}.jpg"} for n in range(offset, offset + 80)]
        for image in images:
            pixels = np.full((4, 4, 3), image["id"], np.uint8)
            Image.fromarray(pixels).save(folder / part / image["file_name"])
        pairs = [{"image_id": image["id"], "category_id": image["id"] % 80} for image in images]
        told = {"images": images, "annotations": pairs, "categories": categories}
        (folder / "annotations").mkdir(exist_ok=True)
        (folder / "annotations" / f"instances_{part}.json").write_text(json.dumps(told))
    return folder


def test_a_dry_run_names_all_that_is_missing(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["prepare", "coco", "nus", "imagenet", "--data-root", str(tmp_path / "empty"), "--dry-run"]) == 1
    told = capsys.readouterr().out
    for piece in ("instances_train2014.json", "val2014/: 6 GB, from http", "Imagelist.txt", "Labels_*.txt: 44 MB",
                  "train/ with a folder per WordNet id"):  # fmt: skip
        assert f"missing  {piece}" in told or piece in told
    assert told.count("not ready:") == 3


def test_a_dry_run_on_whole_data_says_so_and_computes_nothing(root, capsys, monkeypatch):
    monkeypatch.setattr(prepare, "extract_told", lambda *a, **k: pytest.fail("computed"))
    assert main(["prepare", "coco", "--data-root", str(root), "--dry-run", *SMALL]) == 0
    told = capsys.readouterr().out
    assert "ready" in told
    assert "partial  train2014/:" in told
    assert "80 files, expected 82,783" in told


def test_lists_and_features_are_made(root, tmp_path, capsys):
    words = ["prepare", "coco", "--data-root", str(root), "--backbone", "alexnet", "--lists", str(tmp_path / "out")]
    heard: list[tuple[str, int, int]] = []
    with telling(lambda *one: heard.append(one)):
        assert main([*words, *SMALL]) == 0
    told = capsys.readouterr().out
    assert "list     train:" in told
    assert "query rows in database: 0" in told
    assert ("features of alexnet", 160, 160) in heard
    held = json.loads((tmp_path / "out" / "lists.json").read_text())
    assert held["made from"]["train_size"] == 20
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "classes.txt", "database.txt", "lists.json", "query.txt", "train.txt",
    ]  # fmt: skip
    again = main(["prepare", f"lists:{tmp_path / 'out'}", "--data-root", str(root), "--no-features"])
    assert again == 0


def test_interrupted_work_is_not_lost(root, capsys, monkeypatch):
    monkeypatch.setattr(features, "CHUNK", 32)
    monkeypatch.setattr(features, "BATCH", 16)
    words = ["prepare", "coco", "--data-root", str(root), "--backbone", "alexnet", *SMALL]
    real = features._write_chunk

    def interrupted(folder, start, rows):
        if start >= 64:
            raise KeyboardInterrupt
        return real(folder, start, rows)

    monkeypatch.setattr(features, "_write_chunk", interrupted)
    assert main(words) == 130
    written: list[int] = []
    monkeypatch.setattr(
        features, "_write_chunk", lambda folder, start, rows: (written.append(start), real(folder, start, rows))[1]
    )
    assert main(words) == 0
    assert min(written) == 64  # two chunks of 32 were there


def test_overlap_stops_before_features(root, tmp_path, capsys):
    for name in ("train", "query", "database"):
        rows = (f"{root}/val2014/COCO_val2014_{n}.jpg {n % 3}\n" for n in range(80, 90))
        (tmp_path / f"{name}.txt").write_text("".join(rows))
    words = ["prepare", f"lists:{tmp_path}", "--data-root", str(root)]
    assert main(words) == 1
    told = capsys.readouterr().out
    assert "error: 10 of 10 query rows also in the database" in told
    assert "features" not in told
    assert main([*words, "--allow-overlap", "--backbone", "alexnet"]) == 0


def test_bad_input_is_one_line(tmp_path, capsys):
    assert main(["prepare", "coc", "--data-root", str(tmp_path)]) == 2
    assert main(["prepare", "coco", "--data-root", str(tmp_path / "nowhere")]) == 2
    assert main(["prepare", "coco", "--data-root", str(tmp_path)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 3
    assert "did you mean 'coco'" in lines[0]
    assert "nowhere" in lines[1]
    assert "instances_train2014.json" in lines[2]


@pytest.mark.parametrize("command", ["prepare", "audit"])
def test_data_sets_are_named_as_for_run_or_as_bare_words(root, capsys, command):
    words = ["--data-root", str(root), *SMALL, *(["--no-features"] if command == "prepare" else [])]
    told = []
    for names in (["coco"], ["--datasets", "coco"]):
        assert main([command, *names, *words]) == 0
        told.append([line for line in capsys.readouterr().out.splitlines() if "query rows in database" in line])
    assert told[0] == told[1] == ["  query rows in database: 0"]
    assert main([command, *words]) == 2
    assert "give --datasets NAME" in capsys.readouterr().err


def test_long_tasks_are_told(root):
    """Preparing a large data set was silent for minutes."""
    heard: list[tuple[str, int, int]] = []
    words = ["prepare", "coco", "--data-root", str(root), "--backbone", "alexnet", "--skip-broken", *SMALL]
    with telling(lambda *one: heard.append(one)):
        assert main(words) == 0
    assert any(what.startswith("looking for images") for what, _, _ in heard)
    for what in ("hashing files", "decoding images", "features of alexnet"):
        assert (what, 160, 160) in heard
    batches = [done for what, done, _ in heard if what == "features of alexnet"]
    assert batches[0] < 160  # not only when all is done
    assert batches == sorted(batches)


def test_lists_that_cannot_be_written_are_one_line(root, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    words = ["prepare", "coco", "--data-root", str(root), "--lists", str(tmp_path / "file"), "--no-features"]
    assert main([*words, *SMALL]) == 2
    assert "lists cannot be written there" in capsys.readouterr().err


def test_features_are_made_for_the_methods_that_take_them(root, capsys):
    words = ["prepare", "coco", "--data-root", str(root), *SMALL]
    assert main([*words, "--methods", "dhn", "--bits", "8"]) == 0
    assert "  features " not in capsys.readouterr().out
    assert main([*words, "--methods", "dhn", "lsh", "--bits", "8"]) == 0
    assert "  features " in capsys.readouterr().out
    assert main([*words, "--methods", "nope"]) == 2
