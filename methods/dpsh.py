"""DPSH, Deep Pairwise-Supervised Hashing: each batch against the stored outputs of the whole training set."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import StoredBatch, StoredMethod, binary, cross_entropy, torch


@register_method("dpsh", title="DPSH", paper="Li et al., IJCAI 2016", groups=("paper",))
class DPSH(StoredMethod):
    """L = [sum_ij softplus(t_ij) - s_ij t_ij + eta sum_i ||b_i - u_i||^2] / pairs, t_ij = <u_i, u_j>/2, no tanh.

    i runs over the batch, j over all n training rows, whose latest outputs are stored and constant; b = sign(u) is
    constant too. A row that no batch has held yet is stored as 0 and pulls nowhere.

    Differs: the profile's optimiser takes the place of the released one; else nothing that we know of.

    @inproceedings{li2016dpsh, title={Feature Learning Based Deep Supervised Hashing with Pairwise Labels}, author={Li,
      Wu-Jun and Wang, Sheng and Kang, Wang-Cheng}, booktitle={International Joint Conference on Artificial
      Intelligence}, year={2016}}
    """

    adam_decay = 2.0  # by cross-validation
    bias_rate = 1.0  # as released; at twice the weights' rate, as others have it, biases run away

    eta: float = parameter(
        10.0,
        least=0,
        search=[0.3, 1, 3, 10, 100],
        doc="against a sum over pairs; the released code's",
    )

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, batch: StoredBatch, step: int) -> torch.Tensor:
        likelihood = batch.similarity.mean(cross_entropy(outputs @ stored.T / 2, batch.similarity.similar))
        quantization = (binary(outputs.detach()) - outputs).square().sum()
        return likelihood + self.eta * quantization / batch.similarity.known.sum().clamp_min(1)
