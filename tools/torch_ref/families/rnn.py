"""Recurrent layers."""

import torch

F64 = torch.float64


def rows(table):
    lstm(table)
    for name, gates in (("gru", 3), ("rnn", 1)):
        single_state(table, name, gates)


def weights(d, gates, inputs, hidden, layers=1, directions=1, bias=True, dtype=torch.float32):
    """In the order of the parameters of PyTorch's modules."""
    result = []
    for layer in range(layers):
        for _ in range(directions):
            width = inputs if layer == 0 else hidden * directions
            result += [d.f(gates * hidden, width, low=-1, high=1, dtype=dtype)]
            result += [d.f(gates * hidden, hidden, low=-1, high=1, dtype=dtype)]
            if bias:
                result += [d.f(gates * hidden, low=-1, high=1, dtype=dtype) for _ in range(2)]
    return result


def run(function, x, state, flat, num_layers, bidirectional, batch_first, bias):
    """A layer of `torch._VF`, which takes batches only."""
    # The modules check this, the functions do not always.
    if x.shape[-1] != flat[0].shape[1]:
        raise ValueError("input size")
    unbatched = x.dim() == 2
    if unbatched:
        if any(part.dim() != 2 for part in state):
            raise RuntimeError("the states of unbatched input have two dimensions")
        x, state, batch_first = x.unsqueeze(1), [part.unsqueeze(1) for part in state], False
    states = list(state) if len(state) == 2 else state[0]
    results = function(x, states, flat, bias, num_layers, 0.0, False, bidirectional, batch_first)
    return tuple(part.squeeze(1) for part in results) if unbatched else tuple(results)


def lstm(table):
    def call(x, h0, c0, flat, num_layers=1, bidirectional=False, batch_first=False, bias=True):
        return run(torch._VF.lstm, x, (h0, c0), flat, num_layers, bidirectional, batch_first, bias)

    op = table.op("lstm", call)
    d = op.draw
    op("one layer", d.f(3, 2, 3), d.f(1, 2, 2), d.f(1, 2, 2), weights(d, 4, 3, 2))
    op("no bias", d.f(2, 1, 3), d.f(1, 1, 2), d.f(1, 1, 2), weights(d, 4, 3, 2, bias=False), bias=False)
    op("two layers", d.f(2, 1, 3), d.f(2, 1, 2), d.f(2, 1, 2), weights(d, 4, 3, 2, layers=2), num_layers=2)
    op("bidirectional", d.f(3, 1, 2), d.f(2, 1, 2), d.f(2, 1, 2), weights(d, 4, 2, 2, directions=2),
       bidirectional=True)
    op("batch first", d.f(2, 3, 2), d.f(1, 2, 2), d.f(1, 2, 2), weights(d, 4, 2, 2), batch_first=True)
    op("unbatched", d.f(3, 2), d.f(1, 2), d.f(1, 2), weights(d, 4, 2, 2))
    op("all", d.f(1, 2, 2), d.f(4, 1, 1), d.f(4, 1, 1), weights(d, 4, 2, 1, 2, 2, bias=False), num_layers=2,
       bidirectional=True, batch_first=True, bias=False)
    op("double", d.f(2, 1, 2, dtype=F64), d.f(1, 1, 2, dtype=F64), d.f(1, 1, 2, dtype=F64),
       weights(d, 4, 2, 2, dtype=F64))
    op.error("features", d.f(3, 2, 4), d.f(1, 2, 2), d.f(1, 2, 2), weights(d, 4, 3, 2))
    op.error("weight count", d.f(3, 2, 3), d.f(1, 2, 2), d.f(1, 2, 2), weights(d, 4, 3, 2)[:2])


def single_state(table, name, gates):
    def call(x, h0, flat, num_layers=1, bidirectional=False, batch_first=False, bias=True, nonlinearity="tanh"):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(nonlinearity)
        function = torch._VF.gru if name == "gru" else getattr(torch._VF, f"rnn_{nonlinearity}")
        return run(function, x, (h0,), flat, num_layers, bidirectional, batch_first, bias)

    op = table.op(name, call)
    d = op.draw
    op("one layer", d.f(3, 2, 3), d.f(1, 2, 2), weights(d, gates, 3, 2))
    op("no bias", d.f(2, 1, 3), d.f(1, 1, 2), weights(d, gates, 3, 2, bias=False), bias=False)
    op("two layers", d.f(2, 1, 3), d.f(2, 1, 2), weights(d, gates, 3, 2, layers=2), num_layers=2)
    op("bidirectional", d.f(3, 1, 2), d.f(2, 1, 2), weights(d, gates, 2, 2, directions=2), bidirectional=True)
    op("batch first", d.f(2, 3, 2), d.f(1, 2, 2), weights(d, gates, 2, 2), batch_first=True)
    op("unbatched", d.f(3, 2), d.f(1, 2), weights(d, gates, 2, 2))
    op("double", d.f(2, 1, 2, dtype=F64), d.f(1, 1, 2, dtype=F64), weights(d, gates, 2, 2, dtype=F64))
    if name == "rnn":
        op("relu", d.f(3, 1, 2), d.f(1, 1, 2), weights(d, 1, 2, 2), nonlinearity="relu")
        op.error("nonlinearity", d.f(3, 1, 2), d.f(1, 1, 2), weights(d, 1, 2, 2), nonlinearity="sigmoid")
    op.error("features", d.f(3, 2, 4), d.f(1, 2, 2), weights(d, gates, 3, 2))
    op.error("weight count", d.f(3, 2, 3), d.f(1, 2, 2), weights(d, gates, 3, 2)[:2])
