"""The network: embedding, blocks, label read-out and reconstruction head, one object for every stage.

Pretraining and finetuning use the same parameters; the mask column of the embedding is simply not read where nothing is
masked (the code base cuts it off, which is the same map).  Probes get ``attention_maps`` and may add ``score_bias`` to
the scores of every layer, which is how the theory's gradients with respect to scores are taken from real parameters.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from numerics.errors import InputError
from numerics.patterns import attention_mask
from training.model.blocks import Block
from training.model.config import ModelConfig
from training.model.heads import Classifier, Pooling
from training.model.positions import Fire, alibi_bias, sinusoids

Mask = Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"] | None


class SequenceModel(nn.Module):
    """A network as configured; parameters are empty until ``initialise`` (see ``initialised_model``)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.fire = Fire(config.heads) if "fire" in config.positions else None
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.final_norm = nn.LayerNorm(config.width) if config.normalise else nn.Identity()
        self.pooling = Pooling(config)
        self.classifier = Classifier(config)
        self.reconstruction = nn.Linear(config.width, config.predictions)

    def layer(self, index: int) -> Block:
        """One block, for probes."""
        block = self.blocks[index]
        assert isinstance(block, Block)
        return block

    @property
    def prefix(self) -> int:
        """Tokens that the network puts before the sequence: 1 for cls pooling, else 0."""
        return int(self.config.pooling == "cls")

    def classify(
        self,
        tokens: Shaped[Tensor, "batch ..."],
        lengths: Int[Tensor, "batch *pair"],
        score_bias: Float[Tensor, "layers heads keys keys"] | None = None,
    ) -> Float[Tensor, "batch classes"]:
        """Logits of each sample; ``lengths`` are the numbers of valid tokens."""
        pooled = self.pooled(tokens.flatten(0, lengths.ndim - 1), lengths.flatten(), score_bias)
        logits: Tensor = self.classifier(pooled.unflatten(0, lengths.shape))
        return logits

    def pooled(
        self,
        tokens: Shaped[Tensor, "batch ..."],
        lengths: Int[Tensor, " batch"],
        score_bias: Float[Tensor, "layers heads keys keys"] | None = None,
    ) -> Float[Tensor, "batch width"]:
        """The pooled vector h of each sequence."""
        stream = self.encode(self.embedding(tokens), lengths, score_bias=score_bias)
        pooled: Tensor = self.pooling(stream, self.valid(lengths, stream.shape[1]))
        return pooled

    def reconstruct(
        self,
        tokens: Shaped[Tensor, "batch ..."],
        lengths: Int[Tensor, " batch"],
        masked: Bool[Tensor, "batch tokens"],
        score_bias: Float[Tensor, "layers heads keys keys"] | None = None,
        everywhere: bool = False,
    ) -> Float[Tensor, "read predictions"]:
        """Predictions at the masked positions, in the order of ``tokens[masked]``.

        The last block and the head are computed there alone, unless ``everywhere`` (same result, more work).
        """
        hidden = self.embedding(tokens, masked)
        if everywhere:
            stream = self.encode(hidden, lengths, score_bias=score_bias)[:, self.prefix :][masked]
        else:
            counts = masked.sum(1)
            slots = max(int(counts.max()), 1)
            read = masked.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :slots] + self.prefix
            stream = self.encode(hidden, lengths, read, score_bias)[
                torch.arange(slots, device=counts.device) < counts[:, None]
            ]
        predictions: Tensor = self.reconstruction(stream)
        return predictions

    def encode(
        self,
        hidden: Float[Tensor, "batch keys width"],
        lengths: Int[Tensor, " batch"],
        read: Int[Tensor, "batch queries"] | None = None,
        score_bias: Float[Tensor, "layers heads keys keys"] | None = None,
    ) -> Float[Tensor, "batch queries width"]:
        """The token stream after all blocks (and the final norm), at the positions read (default: all)."""
        mask = self.mask(hidden, lengths)
        last = len(self.blocks) - 1
        for layer, block in enumerate(self.blocks):
            biased = _add(mask, None if score_bias is None else score_bias[layer][None])
            wanted = read if layer == last else None
            hidden = block(hidden, _rows(biased, wanted), wanted)
        stream: Tensor = self.final_norm(hidden)
        return stream

    def attention_maps(
        self, hidden: Float[Tensor, "batch keys width"], lengths: Int[Tensor, " batch"]
    ) -> list[tuple[Float[Tensor, "batch heads keys keys"], Float[Tensor, "batch heads keys keys"]]]:
        """Scores (with biases, -inf where not allowed) and attention weights of each layer, for probes.

        Give ``embedding(tokens)`` for data, or ``embedding.places(length)`` for positions alone.
        """
        mask, maps = self.mask(hidden, lengths), []
        for layer in range(len(self.blocks)):
            block = self.layer(layer)
            scores = block.attention.scores(block.attention_norm(hidden))
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
            maps.append((scores, scores.softmax(3)))
            hidden = block(hidden, mask)
        return maps

    def valid(self, lengths: Int[Tensor, " batch"], keys: int) -> Bool[Tensor, "batch keys"]:
        """Which keys (prefix included) belong to each sequence."""
        return torch.arange(keys, device=lengths.device) < lengths[:, None] + self.prefix

    def mask(self, hidden: Float[Tensor, "batch keys width"], lengths: Int[Tensor, " batch"]) -> Mask:
        """What attention adds to, or forbids in, its scores; None where nothing."""
        keys, config = hidden.shape[1], self.config
        allowed = None
        if config.attention_mask != "full":
            allowed = _pattern_mask(config.attention_mask, keys, hidden.device)[None, None]
        if not config.attend_padding and int(lengths.min()) + self.prefix < keys:
            if config.attention_mask == "diagonal" and int(lengths.min()) + self.prefix < 2:
                raise InputError("the diagonal mask needs two tokens a sequence: one has 1; drop it or use full")
            padding = self.valid(lengths, keys)[:, None, None]
            allowed = padding if allowed is None else allowed & padding
        bias = None
        if "alibi" in config.positions:
            bias = alibi_bias(config.heads, keys, hidden)[None]
        if self.fire is not None:
            bias = self.fire(keys)[None]
        return _add(allowed, bias)


class Embedding(nn.Module):
    """Tokens and positions to the token stream.

    Continuous: Linear(channels -> width), and for masked tokens as ``mask_input`` says: value 0 plus the mask column
    (``bit``; the same map as Linear(channels + 1 -> width) on value and bit), a learned vector (``token``), or value 0
    (``zero``).  Discrete: a table without scale factor; masked tokens get id 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        if config.vocabulary:
            self.table = nn.Embedding(config.vocabulary, config.width)
        else:
            self.value = nn.Linear(config.channels, config.width)
        has_vector = config.channels > 0 and config.mask_input != "zero"
        self.masked = nn.Parameter(torch.empty(config.width)) if has_vector else None
        self.cls = nn.Parameter(torch.empty(config.width)) if config.pooling == "cls" else None

    def forward(
        self, tokens: Shaped[Tensor, "batch tokens *channels"], masked: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch keys width"]:
        """The stream before the first block; a learned first token for cls pooling."""
        hidden = self.content(tokens, masked).to(next(self.parameters()).dtype)  # the stream stays so under autocast
        if "sinusoidal" in self.config.positions:
            hidden = hidden + _cached_sinusoids(hidden.shape[1], hidden.shape[2], hidden.dtype, hidden.device)
        if self.cls is not None:
            hidden = torch.cat([self.cls.expand(len(hidden), 1, -1), hidden], 1)
        return hidden

    def content(
        self, tokens: Shaped[Tensor, "batch tokens *channels"], masked: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens width"]:
        """The stream without positions."""
        if self.config.vocabulary:
            embedded: Tensor = self.table(tokens if masked is None else tokens.masked_fill(masked, 0))
            return embedded
        if masked is None:
            value: Tensor = self.value(tokens)
            return value
        hidden = self.value(tokens.masked_fill(masked[..., None], 0.0))
        if self.masked is None:
            return hidden
        if self.config.mask_input == "token":
            return torch.where(masked[..., None], self.masked, hidden)
        return hidden + masked[..., None] * self.masked

    def places(self, token_count: int) -> Float[Tensor, "1 tokens width"]:
        """Positions alone, content zero: what Figure 6 feeds (zeros where the scheme adds nothing to the stream)."""
        weight = next(self.parameters())
        if "sinusoidal" in self.config.positions:
            return sinusoids(token_count, self.config.width, weight)[None]
        return weight.new_zeros(1, token_count, self.config.width)


@lru_cache(maxsize=16)
def _cached_sinusoids(
    token_count: int, width: int, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "tokens width"]:
    return sinusoids(token_count, width, torch.empty(0, dtype=dtype, device=device))


@lru_cache(maxsize=4)
def _pattern_mask(name: str, token_count: int, device: torch.device) -> Bool[Tensor, "tokens tokens"]:
    return torch.from_numpy(attention_mask(name, token_count)).to(device)


def _add(mask: Mask, bias: Float[Tensor, "#batch #heads #queries keys"] | None) -> Mask:
    """One mask from two: a bias, with -inf where the first forbids."""
    if mask is None or bias is None:
        return bias if mask is None else mask
    return bias.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else bias + mask


def _rows(
    mask: Bool[Tensor, "#batch #heads #rows keys"] | Float[Tensor, "#batch #heads #rows keys"] | None,
    read: Int[Tensor, "batch queries"] | None,
) -> Mask:
    """The rows of the queries that are read."""
    if mask is None or read is None or mask.shape[2] == 1:
        return mask
    index = read[:, None, :, None].expand(-1, mask.shape[1], -1, mask.shape[3])
    return mask.expand(len(read), -1, -1, -1).gather(2, index)
