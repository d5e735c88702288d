"""Losses."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64
REDUCTIONS = ("sum", "none")


def rows(table):
    distances(table)
    classes(table)
    binary(table)
    distributions(table)
    embeddings(table)


def reductions(op, *args):
    """The default and the other reductions."""
    op("mean", *args)
    for reduction in REDUCTIONS:
        op(reduction, *args, reduction=reduction)


def distances(table):
    for name, attributes in {
        "mse_loss": {},
        "l1_loss": {},
        "smooth_l1_loss": {"beta": 0.5},
        "huber_loss": {"delta": 0.5},
    }.items():
        op = table.op(name, getattr(F, name))
        d = op.draw
        reductions(op, d.f(3, 4), d.f(3, 4))
        if attributes:
            op("attributes", d.f(3, 4), d.f(3, 4), **attributes)
            op("attributes none", d.f(3, 4), d.f(3, 4), reduction="none", **attributes)
        op("double", d.f(4, dtype=F64), d.f(4, dtype=F64))
        op("half", d.f(4, dtype=F16), d.f(4, dtype=F16))
        op("scalar tensor", d.f(), d.f())
        op("empty sum", d.f(0), d.f(0), reduction="sum")
        op("empty mean", d.f(0), d.f(0))
        op.error("shapes", d.f(3), d.f(4))
        op.error("reduction", d.f(3), d.f(3), reduction="max")
    table.ops["smooth_l1_loss"]("beta zero", torch.tensor([0.5, -1.25]), torch.tensor([0.0, 1.0]), beta=0.0)
    table.ops["smooth_l1_loss"].error("negative beta", torch.zeros(2), torch.zeros(2), beta=-1.0)
    table.ops["huber_loss"].error("delta", torch.zeros(2), torch.zeros(2), delta=0.0)


def classes(table):
    op = table.op("cross_entropy", F.cross_entropy)
    d = op.draw
    x, target = d.f(4, 3), torch.tensor([0, 2, 1, 2])
    reductions(op, x, target, None)
    op("weight", x, target, d.positive(3))
    op("weight none", x, target, d.positive(3), reduction="none")
    op("smoothing", x, target, None, label_smoothing=0.1)
    op("smoothing and weight", x, target, d.positive(3), label_smoothing=0.2)
    op("ignored", x, torch.tensor([0, -100, 1, 2]), None)
    op("ignored class", x, target, None, ignore_index=2)
    op("ignored and smoothed", x, target, d.positive(3), ignore_index=2, label_smoothing=0.1)
    op("all ignored", x, torch.full((4,), -100), None)
    op("probabilities", x, torch.softmax(d.f(4, 3), 1), None)
    op("probabilities weight", x, torch.softmax(d.f(4, 3), 1), d.positive(3), label_smoothing=0.1)
    op("probabilities none", x, torch.softmax(d.f(4, 3), 1), None, reduction="none")
    op("images", d.f(2, 3, 2, 2), d.i(2, 2, 2, low=0, high=3), d.positive(3))
    op("images none", d.f(2, 3, 2), d.i(2, 2, low=0, high=3), None, reduction="none")
    op("image probabilities", d.f(2, 3, 2), torch.softmax(d.f(2, 3, 2), 1), None)
    op("unbatched", d.f(3), torch.tensor(1), None)
    op("double", x.double(), target, None)
    op.error("class", x, torch.tensor([0, 3, 1, 2]), None)
    op.error("batch", x, torch.tensor([0, 1]), None)
    op.error("weight size", x, target, d.positive(4))

    op = table.op("nll_loss", F.nll_loss)
    d = op.draw
    x, target = torch.log_softmax(d.f(4, 3), 1), torch.tensor([0, 2, 1, 2])
    reductions(op, x, target, None)
    op("weight", x, target, d.positive(3))
    op("weight none", x, target, d.positive(3), reduction="none")
    op("ignored", x, torch.tensor([0, -100, 1, 2]), None, reduction="none")
    op("ignored class", x, target, d.positive(3), ignore_index=2)
    op("images", d.f(2, 3, 2, 2), d.i(2, 2, 2, low=0, high=3), None)
    op("unbatched", d.f(3), torch.tensor(1), None)
    op.error("class", x, torch.tensor([0, 3, 1, 2]), None)
    op.error("batch", x, torch.tensor([0, 1]), None)
    op.error("float target", x, d.f(4), None)


def binary(table):
    op = table.op("binary_cross_entropy", F.binary_cross_entropy)
    d = op.draw
    x, target = torch.sigmoid(d.f(2, 3)), torch.sigmoid(d.f(2, 3))
    reductions(op, x, target, None)
    op("weight", x, target, d.positive(3))
    op("sure", torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, 0.0]), None, reduction="none")
    op("double", x.double(), target.double(), None)
    op.error("shapes", x, target[0], None)
    op.error("outside", d.f(3, low=2, high=3), torch.zeros(3), None)

    def with_logits(x, target, weight, pos_weight, **kwargs):
        return F.binary_cross_entropy_with_logits(x, target, weight, pos_weight=pos_weight, **kwargs)

    op = table.op("binary_cross_entropy_with_logits", with_logits)
    d = op.draw
    x, target = d.f(2, 3, low=-5, high=5), torch.sigmoid(d.f(2, 3))
    reductions(op, x, target, None, None)
    op("weight", x, target, d.positive(2, 3), None)
    op("pos weight", x, target, None, d.positive(3))
    op("both none", x, target, d.positive(3), d.positive(3), reduction="none")
    op("large", torch.tensor([100.0, -100.0]), torch.tensor([0.0, 1.0]), None, None)
    op("double", x.double(), target.double(), None, None)
    op.error("shapes", x, target[0], None, None)


def distributions(table):
    op = table.op("kl_div", F.kl_div)
    d = op.draw
    x, target = torch.log_softmax(d.f(3, 4), 1), torch.softmax(d.f(3, 4), 1)
    reductions(op, x, target)
    op("batchmean", x, target, reduction="batchmean")
    op("log target", x, target.log(), log_target=True, reduction="sum")
    op("zeros", x[0], torch.tensor([0.0, 0.5, 0.5, 0.0]), reduction="none")
    op("broadcast", x, target[0], reduction="sum")
    op("double", x.double(), target.double())
    op.error("shapes", x, d.f(3, 3))

    op = table.op("poisson_nll_loss", F.poisson_nll_loss)
    d = op.draw
    x, target = d.f(2, 4), d.positive(2, 4)
    reductions(op, x, target)
    op("plain input", d.positive(2, 4), target, log_input=False)
    op("full", x, target * 2, full=True, reduction="none")
    op("eps", torch.zeros(2), torch.tensor([1.0, 2.0]), log_input=False, eps=0.5)
    op("double", x.double(), target.double())
    op.error("shapes", x, d.f(3))
    op.error("reduction", x, target, reduction="batchmean")


def embeddings(table):
    op = table.op("hinge_embedding_loss", F.hinge_embedding_loss)
    d = op.draw
    x, target = d.f(2, 4), torch.tensor([[1.0, -1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])
    reductions(op, x, target)
    op("margin", x, target, margin=2.0)
    op("double", x.double(), target.double())
    op.error("shapes", x, d.f(3))

    op = table.op("margin_ranking_loss", F.margin_ranking_loss)
    d = op.draw
    a, b, target = d.f(5), d.f(5), torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    reductions(op, a, b, target)
    op("margin", a, b, target, margin=0.5)
    op("double", a.double(), b.double(), target.double())
    op.error("ranks", a, b, target.reshape(5, 1))

    op = table.op("cosine_embedding_loss", F.cosine_embedding_loss)
    d = op.draw
    a, b, target = d.f(4, 3), d.f(4, 3), torch.tensor([1, -1, 1, -1])
    reductions(op, a, b, target)
    op("margin", a, b, target, margin=-0.3)
    op("unbatched", a[0], b[0], torch.tensor(1))
    op("float target", a, b, target.float())
    op.error("shapes", a, d.f(4, 2), target)
    op.error("target", a, b, target.reshape(4, 1))

    op = table.op("triplet_margin_loss", F.triplet_margin_loss)
    d = op.draw
    a, b, c = d.f(4, 3), d.f(4, 3), d.f(4, 3)
    reductions(op, a, b, c)
    op("margin", a, b, c, margin=2.5)
    op("p", a, b, c, p=1.0)
    op("eps", a, a, c, eps=0.1)
    op("unbatched", a[0], b[0], c[0])
    op("double", a.double(), b.double(), c.double())
    op.error("shapes", a, b, d.f(4, 2))
    op.error("ranks", a, b, d.f(3))
