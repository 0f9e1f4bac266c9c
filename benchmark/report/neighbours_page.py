"""Pages of a picture and its nearest: the one that `search` writes, all pictures in itself, and that of `serve`."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.report.display_names import clean

PICTURE = 160  # pixels: longer sides are scaled down
STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem;color:#222;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:1.4rem 0 .3rem}p{margin:.2rem 0 .6rem;color:#555}
ol{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:12px}
li,figure{margin:0;padding:8px;border:1px solid #ddd;border-radius:6px;overflow-wrap:anywhere;font-size:13px}
figure{display:inline-block}img{display:block;max-width:100%;margin:0 auto 6px;image-rendering:auto}
.none{height:80px;display:grid;place-items:center;background:#f3f3f0;color:#777;margin-bottom:6px}b{font-size:14px}
"""
DROP_STYLE = """
#zone{border:2px dashed #999;border-radius:8px;padding:1.2rem;text-align:center}
#picture{max-height:160px;margin-top:8px}
#out{display:grid;grid-template-columns:repeat(auto-fit,minmax(380px,1fr));gap:24px}
"""
DROP_SCRIPT = """
const [zone, file, out, shown] = ["zone", "file", "out", "picture"].map((id) => document.getElementById(id));
async function ask(picture) {
  if (picture.size > LARGEST) return [false, `the picture has ${picture.size} bytes, expected at most LARGEST`];
  try {
    const answer = await fetch("/search", {method: "POST", body: picture});
    return [answer.ok, await answer.text()];
  } catch (error) { return [false, `the server does not answer (${error})`]; }
}
async function search(picture) {
  if (!picture) return;
  shown.src = URL.createObjectURL(picture);
  out.textContent = "searching ...";
  const [found, text] = await ask(picture);
  if (found) out.innerHTML = text; else out.textContent = text;
  out.dataset.done = (Number(out.dataset.done) || 0) + 1;
}
file.addEventListener("change", () => search(file.files[0]));
zone.addEventListener("dragover", (event) => event.preventDefault());
zone.addEventListener("drop", (event) => { event.preventDefault(); search(event.dataTransfer.files[0]); });
"""


@dataclass(frozen=True, eq=False)
class FoundItem:
    """One neighbour: how far, what it is called, what it shows."""

    rank: int
    distance: int
    name: str
    labels: str = ""
    picture: str = ""  # a data URI; empty where there is none
    missing: str = ""  # why


@dataclass(frozen=True, eq=False)
class FoundList:
    """What one model found."""

    title: str
    about: str
    items: Sequence[FoundItem]


def data_uri(pixels: np.ndarray, longest: int = PICTURE) -> str:
    """A small picture as the text that an <img> takes."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((longest, longest))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def neighbours_page(query: str, picture: str, found: Sequence[FoundList], notes: Sequence[str] = ()) -> str:
    """The whole page."""
    parts = [f"<figure>{_image(picture, query)}<b>{_text(query)}</b></figure>"]
    parts += [f"<p>{_text(note, 300)}</p>" for note in notes]
    parts += [list_html(one) for one in found]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Nearest to {_text(query)}</title>'
        f"<style>{STYLE}</style></head><body><h1>Nearest to {_text(query)}</h1>{''.join(parts)}</body></html>\n"
    )


def drop_page(titles: Sequence[str], largest: int, nonce: str) -> str:
    """The page that takes a picture of at most so many bytes; only the script with this nonce runs in it."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>hashbench: what is nearest</title>'
        f"<style>{STYLE}{DROP_STYLE}</style></head><body>"
        f"<h1>What is nearest to your picture, by {_text(' and '.join(titles), 200)}</h1>"
        '<div id="zone"><label>Drop a picture here, or choose one: '
        '<input id="file" type="file" accept="image/*"></label><br><img id="picture" alt=""></div><div id="out"></div>'
        f'<script nonce="{nonce}">{DROP_SCRIPT.replace("LARGEST", str(largest))}</script></body></html>\n'
    )


def list_html(found: FoundList) -> str:
    """The neighbours of one model."""
    items = "".join(
        f'<li data-distance="{one.distance}">{_image(one.picture, one.name, one.missing)}'
        f"<b>{one.rank}. distance {one.distance}</b><br>{_text(one.name)}{_labelled(one.labels)}</li>"
        for one in found.items
    )
    nothing = "" if found.items else "<p>Nothing is that near.</p>"
    return f"<section><h2>{_text(found.title)}</h2><p>{_text(found.about, 300)}</p><ol>{items}</ol>{nothing}</section>"


def _image(picture: str, name: str, missing: str = "") -> str:
    if picture:
        return f'<img src="{picture}" alt="{_text(name)}">'
    return f'<div class="none" title="{_text(missing, 300)}">no picture</div>'


def _labelled(labels: str) -> str:
    return f"<br><i>{_text(labels, 200)}</i>" if labels else ""


def _text(raw: Any, longest: int = 120) -> str:
    return html.escape(clean(raw, longest))
