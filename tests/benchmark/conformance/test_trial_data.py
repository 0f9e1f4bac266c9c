"""The rows that methods are tried on."""

import numpy as np

from benchmark.conformance.trial_data import easy_data


def test_easy_data_are_in_no_order():
    for images in (False, True):
        labels = easy_data(images=images)[0].labels.argmax(axis=1)
        assert (np.diff(labels) != 0).sum() > 80
