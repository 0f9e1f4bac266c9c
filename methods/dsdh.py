"""DSDH, Deep Supervised Discrete Hashing: codes that pairs and a linear classifier agree on, found bit by bit."""

from __future__ import annotations

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import StoredBatch, StoredMethod, cross_entropy, torch
from benchmark.seeds import generator
from benchmark.shallow import best_classifier, best_codes, signs


@register_method("dsdh", title="DSDH", needs="labels", paper="Li et al., NeurIPS 2017")
class DSDH(StoredMethod):
    """min over network, codes B and W: sum_ij [softplus(theta) - s theta] + eta ||B - U||^2 + mu ||Y - B W||^2 + nu
    ||W||^2, theta = <u_i, u_j>/2; i runs over the batch, j over the stored outputs of all rows.

    The network is trained with B constant; W and B are renewed before each pass over the rows, W in closed form and B
    by discrete coordinate descent as in SDH.

    Differs: from a public port, which has neither eta nor the discrete step, so that its classifier moves nothing; from
    the paper, nothing that we know of. Rows without a label have no part in W, and the sign of their output for a code.

    @inproceedings{li2017dsdh, title={Deep Supervised Discrete Hashing}, author={Li, Qi and Sun, Zhenan and He, Ran and
      Tan, Tieniu}, booktitle={Advances in Neural Information Processing Systems}, year={2017}}
    """

    bias_rate = 1.0  # as for other losses on stored outputs: at twice the weights' rate biases run away

    eta: float = parameter(55.0, least=0, search=[1, 10, 55], doc="against a sum over pairs; 55 in public code")
    mu: float = parameter(1.0, least=1e-9, search=[0.1, 1, 10], doc="of the classifier's error; 1 in public code")
    nu: float = parameter(0.1, least=0, doc="of ||W||^2; 0.1 in public code")

    def prepare(self, train: Split) -> None:
        super().prepare(train)
        self._labels = train.required_labels().astype(np.float64)
        self._labelled = self._labels.any(axis=1)
        self._passed = -(-len(self._labels) // self._stream.batch)  # steps of a pass
        start = signs(generator("codes", self.seed).standard_normal((len(train), self.bits)))
        self.state["codes"] = torch.from_numpy(start).float()

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, batch: StoredBatch, step: int) -> torch.Tensor:
        codes = self.state["codes"]
        if step % self._passed == 0:
            codes.copy_(torch.from_numpy(self.renewed(codes.cpu().numpy(), stored.cpu().numpy())))
        likelihood = batch.similarity.mean(cross_entropy(outputs @ stored.T / 2, batch.similarity.similar))
        off = (codes[batch.items].to(outputs.dtype).detach() - outputs).square().sum()
        return likelihood + self.eta * off / batch.similarity.known.sum().clamp_min(1)

    def renewed(self, codes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """W for these codes, then B for that W: mu ||Y - B W||^2 + eta ||B - U||^2, which it never raises."""
        found, known = signs(stored), self._labelled
        if known.any():
            labels, pull = self._labels[known], self.eta / self.mu * stored[known]
            classifier = best_classifier(codes[known], labels, self.nu / self.mu)
            found[known] = best_codes(codes[known], classifier @ classifier.T, labels @ classifier.T + pull)
        return found
