"""Small models and batches that several tests share."""

import torch
import torch.nn.functional as F
from torch import nn

from numerics import audit_model
from numerics.model_audit.gradients import loss_gradients


def audit(model, batch, loss, **options):
    """``audit_model`` without types: a test reads numbers that could be missing."""
    return audit_model(model, batch, loss, **options)


def gradients(model, batch, loss, seed=0):
    """``loss_gradients`` likewise, in evaluation mode and float64."""
    return loss_gradients(model.double().eval(), batch, loss, "loss", seed)


def tokens(sequences=3, length=5, width=4, seed=0):
    return torch.randn(sequences, length, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class OneHead(nn.Module):
    """One head whose values are the tokens; ``query`` zero makes attention uniform."""

    def __init__(self, width=4, seed=0, uniform=True, residual=False):
        super().__init__()
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.residual = residual
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for linear in (self.query, self.key):
                linear.weight.copy_(torch.randn(width, width, generator=generator))
            if uniform:
                self.query.weight.zero_()

    def forward(self, x):
        outputs = F.scaled_dot_product_attention(self.query(x), self.key(x), x)
        return x + outputs if self.residual else outputs


def mean_label(model, x):
    """A label loss of the mean-pooled outputs with its own target for each sequence."""
    targets = torch.linspace(-1, 1, x.shape[0] * x.shape[-1], dtype=x.dtype).reshape(x.shape[0], x.shape[-1])
    return (model(x).mean(1) - targets).pow(2).sum(-1).exp().log1p().mean()


def reconstruct(model, x):
    """L_SPT of the theory: half the squared error a token, mean over sequences."""
    return (x - model(x)).square().sum(-1).mean() / 2


class Encoder(nn.Module):
    """``nn.TransformerEncoder`` with a linear read-out."""

    def __init__(self, width=8, heads=2, layers=2, pool="mean", seed=0, **options):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            block = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True, **options)
            self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
            for parameter in self.encoder.parameters():  # layers are copies of one another as torch builds them
                nn.init.normal_(parameter, std=0.4)
            self.head = nn.Linear(width, 1)
        self.pool = pool

    def forward(self, x, mask=None, padding=None):
        features = self.encoder(x, mask=mask, src_key_padding_mask=padding)
        return self.head(features.mean(1) if self.pool == "mean" else features[:, 0])


def squared_label(model, x):
    target = torch.linspace(-1, 1, x.shape[0], dtype=x.dtype)[:, None]
    return (model(x) - target).square().mean()
