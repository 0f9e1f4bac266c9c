"""One-hot: the predicted class as a code. It retrieves well and is no hash of anything but the classifier's answer."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import class_centres, too_many_classes
from benchmark.shallow import ProjectionMethod


@register_method("one-hot", title="One-hot", family="control", needs="labels")
class OneHot(ProjectionMethod):
    """Code = the fixed codeword of argmax_c (W^T x + a)_c, W and a the ridge regression of y / sum y on scaled rows.

    All rows of a predicted class are ties, and any two classes are about as far apart as any others. Rows without a
    label are left out of training.

    Differs: a yardstick, not a published method; there is no original.
    """

    ridge: float = parameter(
        0.1, least=1e-9, search=[0.01, 0.1, 1, 10], doc="added to X^T X; by one fold of the ImageNet miniature"
    )
    unsupported = staticmethod(too_many_classes)

    def learn(self, rows: np.ndarray, train: Split) -> None:
        labels = train.required_labels()
        labelled = labels.any(axis=1)
        rows, shares = rows[labelled].astype(np.float64), labels[labelled] / labels[labelled].sum(1, keepdims=True)
        middle, self.start = rows.mean(axis=0), shares.mean(axis=0)
        centred = rows - middle
        gram = centred.T @ centred + self.ridge * np.eye(rows.shape[1])
        self.weights = np.linalg.solve(gram, centred.T @ (shares - self.start))
        self.start = self.start - middle @ self.weights
        self.words = class_centres("hadamard", labels.shape[1], self.bits, self.seed)

    def project(self, rows: np.ndarray) -> np.ndarray:
        return self.words[(rows @ self.weights + self.start).argmax(axis=1)]
