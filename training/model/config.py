"""What a network looks like: one dataclass for the toy module of section 4 and the Transformer of appendix A.

Sources: ``A.2`` and ``A.3`` are appendices of the paper; ``code`` is the code base that it says it used, where that was
read or run (design note training.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from numerics.errors import InputError
from training.config import configuration, setting

POSITIONS = ("none", "sinusoidal", "alibi", "fire", "rope", "sinusoidal+alibi", "sinusoidal+fire", "rope+alibi")
POOLINGS = ("mean", "cls", "last", "attention")
CLASSIFIERS = ("linear", "mlp", "pair")
MASK_INPUTS = ("bit", "token", "zero")
ATTENTION_MASKS = ("full", "diagonal", "causal")


@configuration
@dataclass(frozen=True)
class ModelConfig:
    """Shape of a network; the defaults are the one-head module of section 4."""

    channels: int = setting(2, "paper, section 4")
    """Numbers a continuous token holds; 0 for discrete tokens."""
    vocabulary: int = setting(0, "paper, section 4: continuous tokens")
    """Number of ids, mask symbol 0 included; 0 for continuous tokens."""
    classes: int = setting(2, "paper, section 4")
    """Classes of the label read-out."""
    target_classes: int = setting(0, "code: 256 for PathFinder, the vocabulary for text, 0 (regression) for Image")
    """Classes that reconstruction predicts for a token; 0 regresses its channels."""
    width: int = setting(32, "paper, section 4")
    """Width d of the token stream."""
    layers: int = setting(1, "paper, section 4")
    """Number of blocks."""
    heads: int = setting(1, "paper, section 4")
    """Attention heads; width must be a multiple."""
    feedforward: int = setting(0, "paper, section 4: no MLP")
    """Hidden width of the token-wise MLP; 0 leaves it out."""
    normalise: bool = setting(False, "paper, section 4: no LayerNorm")
    """Pre-norm LayerNorm before attention and MLP, and one at the end."""
    attention_bias: bool = setting(False, "paper, section 4: no bias")
    """Biases in the query, key, value and output maps."""
    residual: bool = setting(False, "ours: section 4 does not say; section 5 has none")
    """Add each block's input to its output."""
    positions: str = setting("sinusoidal", "paper, section 4")
    """Positional scheme: none, sinusoidal, alibi, fire, rope, sinusoidal+alibi, sinusoidal+fire, rope+alibi."""
    attention_mask: str = setting("full", "paper, section 5")
    """Keys that a query may see: full, diagonal (all but itself), causal."""
    pooling: str = setting("mean", "paper, section 4 and A.2")
    """How labels read the sequence: mean over valid tokens, cls (a learned first token), last, attention."""
    classifier: str = setting("linear", "paper, section 4")
    """Label read-out: linear, mlp (Linear, ReLU, Linear), pair (features a, b, a-b, a*b of two sequences)."""
    mask_input: str = setting("bit", "code: value 0 and a mask bit for continuous tokens, the id 0 for discrete ones")
    """What a masked continuous token becomes: bit (0 and a learned mask column), token (a learned vector), zero."""
    attend_padding: bool = setting(False, "ours: right; the code attends to padding")
    """Let attention see padding, a quirk of the code base kept for comparison only."""

    def __post_init__(self) -> None:
        """Refuse shapes that cannot be built."""
        if self.width % self.heads:
            near = [count * self.heads for count in (self.width // self.heads, self.width // self.heads + 1) if count]
            raise InputError(
                f"width must divide by heads: width={self.width}, heads={self.heads}; use {' or '.join(map(str, near))}"
            )
        if (self.channels > 0) == (self.vocabulary > 0):
            raise InputError(
                "tokens are continuous (channels) or discrete (vocabulary): "
                f"channels={self.channels}, vocabulary={self.vocabulary}; set exactly one"
            )
        if min(self.width, self.heads, self.layers, self.classes) < 1:
            raise InputError("width, heads, layers and classes must be positive; use at least 1")
        if "rope" in self.positions and (self.width // self.heads) % 2:
            raise InputError(
                f"RoPE turns pairs of coordinates: width/heads={self.width // self.heads} is odd; use an even one"
            )
        if "sinusoidal" in self.positions and self.width % 2:
            raise InputError(f"sinusoidal encodings come in pairs: width={self.width} is odd; use an even width")
        for name, allowed in (
            ("positions", POSITIONS),
            ("pooling", POOLINGS),
            ("classifier", CLASSIFIERS),
            ("mask_input", MASK_INPUTS),
            ("attention_mask", ATTENTION_MASKS),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(f"unknown {name}: {getattr(self, name)!r}; use one of {', '.join(allowed)}")

    @property
    def predictions(self) -> int:
        """Numbers that reconstruction predicts for a token."""
        return self.target_classes or self.channels or self.vocabulary


def transformer(
    *,
    channels: int = 0,
    vocabulary: int = 0,
    classes: int,
    target_classes: int = 0,
    width: int,
    layers: int,
    heads: int,
    feedforward: int,
    classifier: str = "linear",
    positions: str = "sinusoidal",
    pooling: str = "mean",
) -> ModelConfig:
    """The pre-norm Transformer of appendix A: residuals, biases, LayerNorm before each part and at the end."""
    return ModelConfig(
        channels=channels,
        vocabulary=vocabulary,
        classes=classes,
        target_classes=target_classes,
        width=width,
        layers=layers,
        heads=heads,
        feedforward=feedforward,
        normalise=True,
        attention_bias=True,
        residual=True,
        classifier=classifier,
        positions=positions,
        pooling=pooling,
    )
