"""Images: files decoded when asked for, and the one transform between a decoded image and a backbone.

Which files there are is decided elsewhere (`benchmark.data.list_splits`); turning batches into tensors is the
backbone's part. A file that cannot be decoded is an error that names the file and the list line that asked for
it, and so is one whose bytes are no longer those that its data set's revision speaks of: it may be replaced while
a run goes on, and another may lie under the same path on another machine. The orientation tag of a camera is
ignored, as in the literature. PIL is imported when the first image is.
"""

from __future__ import annotations

import hashlib
import io
import threading
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.contracts import Images, ImageSubset
from benchmark.data.given_files import need_file
from benchmark.data.hashing import tree_hashes
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP")  # nothing that starts an interpreter (EPS, PDF)
SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
_OPENING = threading.Lock()  # warning filters belong to the process; decoding itself runs in parallel
MAX_PIXELS = 64_000_000  # beyond any photograph in these data sets; a small file that claims more is a bomb


class ReplacedImage(UsageError):
    """An image that is not the one its hash was taken of."""


def read_image(path: Path, where: str = "", sha256: str | None = None) -> np.ndarray:
    """The file as (height, width, 3) uint8; grey, palette and CMYK become RGB, transparency is dropped.

    With `sha256`, its bytes must have that hash; else ReplacedImage.
    """
    from PIL import Image, UnidentifiedImageError

    place = f"{where}: " if where else ""
    need_file(f"{place}image", path)  # a pipe would wait for ever
    try:
        data = path if sha256 is None else _known_bytes(path, place, sha256)
        with _OPENING, warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            opened = Image.open(data, formats=FORMATS)
        with opened as image:
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            return np.asarray(as_rgb(image))
    except ReplacedImage:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UsageError(f"{place}image {path} has over {MAX_PIXELS // 10**6} million pixels, refused") from None
    except UnidentifiedImageError:
        raise UsageError(f"{place}image {path} is no image that can be read ({', '.join(FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise UsageError(f"{place}image {path} is broken: {error}") from None


def _known_bytes(path: Path, place: str, sha256: str) -> io.BytesIO:
    """The bytes that are hashed are those that are decoded: nothing can be replaced in between."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ReplacedImage(f"{place}image {path} is not what it was when its data set was read; run again")
    return io.BytesIO(data)


def as_rgb(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits per pixel: the plain conversion would clip, not scale
        return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images of one split as files under `root`. `lines` are the rows' line numbers in the list `origin`;
    `known_hashes` are the files' hashes where they have been computed before."""

    root: Path
    paths: Sequence[str]
    origin: str = ""
    lines: np.ndarray | None = None
    known_hashes: Sequence[str | None] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int, /) -> np.ndarray:
        known = self.__dict__.get("hashes", self.known_hashes)  # nobody has all hashed for the sake of one image
        return read_image(self.root / self.paths[index], self.where(index), None if known is None else known[index])

    def where(self, index: int) -> str:
        """The list line that asked for this image."""
        return self.origin if self.lines is None else f"{self.origin} line {self.lines[index]}"

    @cached_property
    def hashes(self) -> Sequence[str | None]:
        """sha256 of each file's bytes; None where there is no such file."""
        if self.known_hashes is not None:
            return self.known_hashes
        found = tree_hashes(self.root, self.paths)
        return [found[path] for path in self.paths]


def content_hashes(images: Images | None) -> Sequence[str | None] | None:
    """Hash of each image's file; None where the images are no files."""
    if isinstance(images, ImageSubset):
        whole = content_hashes(images.images)
        return None if whole is None else [whole[row] for row in images.indices]
    return images.hashes if isinstance(images, ImageFiles) else None


@dataclass(frozen=True)
class ImageArrays:
    """Images of one split that are decoded already: (n, height, width, 3) uint8."""

    array: np.ndarray

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int, /) -> np.ndarray:
        return np.asarray(self.array[index])


@dataclass(frozen=True)
class Transform:
    """What happens to an image before a backbone sees it, as in the papers: resized to a square without
    keeping the aspect, cut to its centre, scaled to mean 0 and variance 1 per channel. None leaves the size
    as it is."""

    resize: int | None = 256
    crop: int | None = 224
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    def resized(self, image: np.ndarray) -> np.ndarray:
        """The whole image at the size it is cut from; training takes its random crops from this."""
        if self.resize is None or image.shape[:2] == (self.resize, self.resize):
            return image
        from PIL import Image

        square = (self.resize, self.resize)
        return np.asarray(Image.fromarray(image).resize(square, Image.Resampling.BILINEAR))

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Resized and cut to its centre: (crop, crop, 3) uint8."""
        image = self.resized(image)
        if self.crop is None:
            return image
        top, left = (image.shape[0] - self.crop) // 2, (image.shape[1] - self.crop) // 2
        return image[top : top + self.crop, left : left + self.crop]

    def normalise(self, batch: Any) -> Any:
        """(n, h, w, 3) uint8, array or tensor, to a float tensor (n, 3, h, w) in channels-last memory
        order."""
        import torch

        pixels = torch.as_tensor(np.ascontiguousarray(batch) if isinstance(batch, np.ndarray) else batch)
        scaled = pixels.permute(0, 3, 1, 2).float().div_(255)
        mean = torch.tensor(self.mean, device=scaled.device).view(3, 1, 1)
        std = torch.tensor(self.std, device=scaled.device).view(3, 1, 1)
        return scaled.sub_(mean).div_(std)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
