"""Writes a model whose products are of integers of 8 bits: python quantize.py <folder> <model> <batch> <precision>

`<batch>.int8.onnx` is `<batch>.onnx` with quantized inputs and weights of convolutions, transposed ones and products with weights, in the form of
`QuantizeLinear` and `DequantizeLinear`, as ONNX Runtime writes it: weights per channel in i8, inputs per tensor in u8, in ranges that the
model's own input has. In `<batch>.int8-reduced.onnx` weights have 7 bits, so that no product saturates where two are added in 16 bits, and in
`<batch>.int8-dynamic.onnx` ranges are chosen in each run.
"""

import sys
from pathlib import Path

from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from safetensors.numpy import load_file


class Once(CalibrationDataReader):
    """The inputs of one run."""

    def __init__(self, inputs):
        self.feeds = iter([inputs])

    def get_next(self):
        return next(self.feeds, None)


def main(folder, name, batch, precision):
    folder = Path(folder) / name
    source, prepared, target = (folder / f"{batch}.{kind}" for kind in ("onnx", "prepared.onnx", f"{precision}.onnx"))
    quant_pre_process(source, prepared, skip_symbolic_shape=True, skip_onnx_shape=True)
    options = {"per_channel": True, "weight_type": QuantType.QInt8, "extra_options": {"MatMulConstBOnly": True}}
    if precision == "int8-dynamic":
        quantize_dynamic(prepared, target, **options)
    else:
        quantize_static(
            prepared,
            target,
            Once(load_file(folder / f"{batch}.input.safetensors")),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["Conv", "ConvTranspose", "MatMul", "Gemm"],
            activation_type=QuantType.QUInt8,
            reduce_range=precision == "int8-reduced",
            **options,
        )
    prepared.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
