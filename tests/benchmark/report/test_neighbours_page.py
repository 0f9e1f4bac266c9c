"""The page of a search needs nothing but itself, and shows whatever names hold as text."""

import base64
import io

import numpy as np
from PIL import Image

from benchmark.report.neighbours_page import FoundItem, FoundList, data_uri, drop_page, list_html, neighbours_page

HOSTILE = '<script>alert("x")</script>'


def test_a_picture_becomes_a_small_png_in_the_page():
    uri = data_uri(np.full((400, 200, 3), 7, np.uint8), longest=100)
    head, _, data = uri.partition(",")
    image = Image.open(io.BytesIO(base64.b64decode(data)))
    assert (head, image.size) == ("data:image/png;base64", (50, 100))
    assert (np.asarray(image) == 7).all()


def test_names_labels_and_notes_are_text_whatever_they_hold():
    items = [FoundItem(1, 3, HOSTILE, HOSTILE, missing=HOSTILE)]
    page = neighbours_page(HOSTILE, "", [FoundList(HOSTILE, HOSTILE, items)], [HOSTILE])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 6
    assert "1. distance 3" in page
    assert drop_page([HOSTILE], 10, "n").count("<script") == 1


def test_an_empty_list_says_so_and_a_missing_picture_says_why():
    assert "Nothing is that near" in list_html(FoundList("a", "b", []))
    assert 'title="gone"' in list_html(FoundList("a", "b", [FoundItem(1, 0, "x", missing="gone")]))


def test_the_page_that_takes_pictures_says_how_large_they_may_be():
    page = drop_page(["a", "b"], 1234, "nonce")
    assert "picture.size > 1234" in page
    assert '<script nonce="nonce">' in page
    assert "by a and b" in page
