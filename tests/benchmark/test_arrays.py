"""What people hand over becomes the same numpy array, whichever package made it."""

import sys
from subprocess import run

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix

from benchmark.arrays import as_array
from benchmark.errors import UsageError

VALUES = np.array([[1, -1, 1], [-1, 1, 1]])

FORMS = {
    "list": VALUES.tolist(),
    "tuple of arrays": tuple(VALUES),
    "tensor": torch.tensor(VALUES),
    "tensor with gradient": torch.tensor(VALUES, dtype=torch.float32, requires_grad=True),
    "result of a computation": torch.tensor(VALUES, dtype=torch.float32, requires_grad=True) * 1,
    "bfloat16": torch.tensor(VALUES, dtype=torch.bfloat16),
    "bfloat16 with gradient": torch.tensor(VALUES, dtype=torch.bfloat16, requires_grad=True),
    "half": torch.tensor(VALUES, dtype=torch.float16),
    "sparse tensor": torch.tensor(VALUES).to_sparse(),
    "list of tensors": [torch.tensor(row, dtype=torch.bfloat16, requires_grad=True) for row in VALUES.astype(float)],
    "scipy sparse": csr_matrix(VALUES),
    "data frame": pd.DataFrame(VALUES),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_values(data):
    found = as_array(data)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize(
    ("data", "message"),
    [([[1, 2], [3]], "codes: cannot be read as an array"), (np.ma.masked_equal([1, 2], 2), "codes: a masked array")],
)
def test_what_is_no_array_is_named(data, message):
    with pytest.raises(UsageError, match=message):
        as_array(data, "codes")


def test_importing_the_public_interface_loads_no_heavy_package():
    check = "import sys, benchmark; print([n for n in ('torch', 'pandas', 'scipy', 'numba') if n in sys.modules])"
    assert run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == "[]"
