"""DFH, Deep Fisher Hashing: pairs at a margin, and codes pushed to the centre of their class, centres far apart."""

from __future__ import annotations

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import StoredBatch, StoredMethod, torch
from benchmark.shallow import best_codes, signs


@register_method("dfh", title="DFH", needs="labels", paper="Li et al., BMVC 2019")
class DFH(StoredMethod):
    """L = mean_ij [s softplus(m - theta) + (1 - s) softplus(m + theta)] + eta mean (b - u)^2, theta = <u_i, u_j>/2.

    i runs over the batch, j over all training rows, whose latest outputs are stored and constant. b = sign(mu C y + u)
    leans to the centres C of the row's classes y. Centres are codes that lower ||C Y - B||^2 + nu sum_{c != c'} <c, c'>
    class by class, one sweep a step.

    Differs: the authors' code has this discrete step and a relaxed one, 200 gradient steps for a batch; here sums run
    over the whole training set, scaled to a batch, as a batch lacks most of many classes. A row without a label has no
    centre, and is dissimilar to all.

    @inproceedings{li2019dfh, title={Push for Quantization: Deep {Fisher} Hashing}, author={Li, Yunqiang and Pei, Wenjie
      and Zha, Yufei and van Gemert, Jan}, booktitle={British Machine Vision Conference}, year={2019}}
    """

    bias_rate = 1.0  # as for other losses on stored outputs: at twice the weights' rate biases run away

    margin: float = parameter(1.0, least=0, search=[0, 1, 3], doc="m; public ports have 1 and 3, the authors' code 0")
    eta: float = parameter(0.5, least=0, search=[0.05, 0.5, 5], doc="of the pull to b; 0.5 as released")
    mu: float = parameter(1.0, least=0, search=[0, 0.1, 1], doc="of the centre in b; 1 as released")
    nu: float = parameter(1.0, least=0, doc="of the centres' distance; 1 as released")

    def prepare(self, train: Split) -> None:
        super().prepare(train)
        self._labels = train.required_labels().astype(np.float64)
        self._scale = self._stream.batch / len(self._labels)
        self._coupling = self._scale * self._labels.T @ self._labels + self.nu
        centres = torch.where(torch.rand(self._labels.shape[1], self.bits) < 0.5, -1.0, 1.0)
        self.state["centres"] = centres

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, batch: StoredBatch, step: int) -> torch.Tensor:
        sign = 2 * batch.similarity.similar - 1
        pairs = batch.similarity.mean(torch.nn.functional.softplus(self.margin - sign * (outputs @ stored.T / 2)))
        codes = torch.from_numpy(self.codes(stored.detach().cpu().numpy())).to(outputs)
        return pairs + self.eta * (codes[batch.items].detach() - outputs).square().mean()

    def codes(self, stored: np.ndarray) -> np.ndarray:
        """B = sign(mu C Y + U) of all training rows; then the centres follow it, for the next step."""
        centres = self.state["centres"]
        now = centres.cpu().numpy().astype(np.float64)
        codes = signs(stored + self.mu * self._labels @ now)
        votes = self._scale * codes.T @ self._labels
        centres.copy_(torch.from_numpy(best_codes(now.T, self._coupling, votes, sweeps=1).T))
        return codes
