"""Initial weights: PyTorch's default laws, tied or independent, scaled; and attention written without training.

The code base that the paper used copies one linear map four times, so W_Q = W_K = W_V = W_O in each layer (``tied``;
the norms of Tables 10 and 11 agree).  Tied query and key make the first score matrix positive semi-definite, which
already favours the diagonal; ``independent`` is what PyTorch users expect.  Every parameter is drawn from a generator
of its own, named after it, so that conditions that share a seed share every weight that they have in common.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from numerics.errors import InputError
from training.config import configuration, setting
from training.data.sequences import SequenceSet
from training.model.closed_form import mimetic_attention, predicted_query_key
from training.model.config import ModelConfig
from training.model.network import SequenceModel
from training.randomness import generator

SCHEMES = ("independent", "tied")
WRITTEN = ("none", "mimetic", "predicted", "predicted-masked")


@configuration
@dataclass(frozen=True)
class InitialWeights:
    """How a network starts before anything is loaded into it."""

    scheme: str = setting("independent", "PyTorch's habit; the paper's code base is tied (design note training.md)")
    """tied: W_Q = W_K = W_V = W_O in each layer, biases included; independent: four draws."""
    scale: float = setting(1.0, "PyTorch's default laws")
    """Factor on all initial weights and biases except LayerNorm."""
    written: str = setting("none", "ours: Q3 of the theory; mimetic: Trockman and Kolter, arXiv 2305.09828")
    """Attention written without training: none, mimetic, predicted (K C K), predicted-masked (K R J K)."""
    strength: float = setting(2.0, "ours: the positional score deviation tried in training.md")
    """Standard deviation of the centred positional scores that predicted writes."""
    mask_ratio: float = setting(0.5, "ours: the ratio of the pretraining that predicted-masked stands for")
    """Masking ratio rho in R, for predicted-masked."""

    def __post_init__(self) -> None:
        """Refuse unknown schemes and ranges."""
        if self.scheme not in SCHEMES:
            raise InputError(f"unknown initialisation: {self.scheme!r}; use {' or '.join(SCHEMES)}")
        if self.written not in WRITTEN:
            raise InputError(f"unknown written attention: {self.written!r}; use one of {', '.join(WRITTEN)}")
        if not self.scale > 0 or not self.strength > 0:
            raise InputError(f"scales must be positive: scale={self.scale}, strength={self.strength}; use 1")
        if not 0 < self.mask_ratio < 1:
            raise InputError(f"a mask ratio must lie in (0, 1): mask_ratio={self.mask_ratio}; use .5")


def initialised_model(
    config: ModelConfig, weights: InitialWeights, seed: int, data: SequenceSet | None = None
) -> SequenceModel:
    """A network with every parameter drawn from its law; ``data`` is needed for predicted attention only.

    >>> model = initialised_model(ModelConfig(), InitialWeights(scheme="tied"), seed=0)
    >>> bool((model.blocks[0].attention.query.weight == model.blocks[0].attention.key.weight).all())
    True
    """
    with torch.device("meta"):
        model = SequenceModel(config)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for path, module in model.named_modules():
            _draw(path, module, weights, seed)
        if weights.written == "mimetic":
            mimetic_attention(model, seed)
        elif weights.written != "none":
            if data is None:
                raise InputError("predicted attention is computed from data: none was given; pass the unlabeled split")
            ratio = weights.mask_ratio if weights.written == "predicted-masked" else None
            predicted_query_key(model, data, strength=weights.strength, mask_ratio=ratio)
    return model


def _draw(path: str, module: nn.Module, weights: InitialWeights, seed: int) -> None:
    own = dict(module.named_parameters(recurse=False))
    source = path
    if weights.scheme == "tied":
        for part in (".key", ".value", ".output"):
            source = source.replace(f".attention{part}", ".attention.query")
    for name, parameter in own.items():
        if isinstance(module, nn.LayerNorm):
            parameter.fill_(1.0 if name == "weight" else 0.0)
            continue
        draw = generator(seed, "initial", f"{source}.{name}")
        if isinstance(module, nn.Embedding) or name == "cls":
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
        elif name in ("scale", "threshold"):
            parameter.fill_(1.0 if name == "scale" else 256.0)
            continue
        else:
            parameter.uniform_(-1.0, 1.0, generator=draw).mul_(1 / math.sqrt(_fan_in(path, module, parameter)))
        parameter.mul_(weights.scale)


def _fan_in(path: str, module: nn.Module, parameter: Tensor) -> int:
    if path.startswith("embedding"):
        # The mask bit is an input too: one network, drawn once, serves both stages.
        channels = module.in_features if isinstance(module, nn.Linear) else _channels(module)
        return channels + 1
    return module.in_features if isinstance(module, nn.Linear) else len(parameter)


def _channels(module: nn.Module) -> int:
    value = getattr(module, "value", None)
    assert isinstance(value, nn.Linear)
    return value.in_features
