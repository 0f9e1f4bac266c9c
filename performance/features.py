"""How many images per second the feature cache computes, against a plain loop: decode, resize, network, in turn.

    python performance/features.py [--images 512] [--repeats 3]

SqueezeNet on COCO images of 256 x 256 from ../shared/data, all cores. Both ways get the same weights and must give
the same features. Minima over the repeats are compared, as the machine may be shared.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from benchmark.contracts import Split, Splits
from benchmark.data.feature_cache import BATCH, FeatureSource, extract
from benchmark.data.images import ImageFiles
from benchmark.deep.backbones import load_backbone

SHARED = Path(__file__).parents[2] / "shared" / "data"
WEIGHTS = SHARED / "weights_squeezenet1_1.npz"


def lay_out(folder: Path, images: int) -> list[str]:
    """Write the first images as JPEG files."""
    with np.load(SHARED / "coco_images.npz") as arrays:
        jpeg, offset = arrays["jpeg"], arrays["offset"]
    names = [f"{number:05d}.jpg" for number in range(min(images, len(offset) - 1))]
    for number, name in enumerate(names):
        (folder / name).write_bytes(jpeg[offset[number] : offset[number + 1]].tobytes())
    return names


def plain_loop(folder: Path, names: list[str]) -> np.ndarray:
    """What a researcher would write first: one process, batch after batch."""
    backbone = load_backbone("squeezenet1_1", WEIGHTS)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (backbone.transform.mean, backbone.transform.std))
    found = []
    with torch.inference_mode():
        for start in range(0, len(names), BATCH):
            batch = []
            for name in names[start : start + BATCH]:
                image = Image.open(folder / name).convert("RGB").resize((256, 256), Image.Resampling.BILINEAR)
                pixels = torch.from_numpy(np.asarray(image.crop((16, 16, 240, 240))).copy()).permute(2, 0, 1)
                batch.append((pixels.float() / 255 - mean) / std)
            found.append(backbone.last(backbone.trunk(torch.stack(batch))).numpy())
    return np.concatenate(found)


def cached(folder: Path, names: list[str], cache: Path) -> np.ndarray:
    """The same through the feature cache, which is empty."""
    half = len(names) // 2
    parts = [names[:half], names[half:]]
    query, database = (Split(images=ImageFiles(folder, part), ids=part) for part in parts)
    dataset = SimpleNamespace(name="benchmark", revision="benchmark")
    splits = extract(dataset, Splits(query, query, database), FeatureSource("squeezenet1_1", WEIGHTS), cache=cache)
    return np.concatenate([splits.query.features, splits.database.features])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if not WEIGHTS.is_file():
        raise SystemExit(f"{SHARED} is not on this machine: nothing to measure")
    seconds: dict[str, list[float]] = {"plain loop": [], "feature cache": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "images"
        folder.mkdir()
        names = lay_out(folder, args.images)
        for repeat in range(args.repeats):
            start = time.perf_counter()
            plain = plain_loop(folder, names)
            middle = time.perf_counter()
            ours = cached(folder, names, Path(scratch) / f"cache{repeat}")
            seconds["plain loop"].append(middle - start)
            seconds["feature cache"].append(time.perf_counter() - middle)
            np.testing.assert_allclose(ours, plain, rtol=1e-3, atol=1e-3)
    for name, taken in seconds.items():
        print(f"{name:14}{len(names) / min(taken):8.1f} images/s")
    print(f"ratio {min(seconds['plain loop']) / min(seconds['feature cache']):.2f} (wanted: 1.5)")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
