"""Products in eight bits: an ONNX graph of a quarter of the size, several times as fast.

Both sides of a product with weights are rounded to `s q`, q in -127 ... 127. A matrix of weights has a
scale s for each column (each channel of what it makes), once and for all. States have one for each row,
that is for each sub-word, found when they are there (dynamic quantisation): a few very large states,
which every such encoder has, then cost only their own sub-word its precision, and what a sentence gives
does not depend on its neighbours in the batch. A table of embeddings has a scale for each row. Attention,
norms and everything else stay in float32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

TABLE_ROWS = 1000  # smaller tables (positions) are not worth it
MICROSOFT = "com.microsoft"
_CONSTANTS: dict[str, np.ndarray] = {
    "int8.one": np.array(1, np.float32),
    "int8.least": np.array(1e-30, np.float32),  # for rows of zeros
    "int8.steps": np.array(127, np.float32),
    "int8.zero": np.array(128, np.uint8),
    "int8.last": np.array([-1]),
}


def quantized(w: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """`q` and the scales `s`, one for each index along the other axis; `s q` is nearest to `w`.

    >>> q, s = quantized(np.array([[1.0, -8.0], [-0.5, 4.0]], np.float32), axis=0)
    >>> q.tolist(), (s * 127).tolist()
    ([[127, -127], [-64, 64]], [1.0, 8.0])
    """
    s = np.abs(w).max(axis) / np.float32(127)
    s = np.where(s >= np.finfo(np.float32).tiny, s, np.float32(1))  # all zeros, or close to it
    return np.round(w / np.expand_dims(s, axis)).astype(np.int8), s


def quantize(model: Any) -> None:
    """Changes an `onnx.ModelProto` in place."""
    from onnx import helper

    graph = model.graph
    editor = _Editor(graph)
    for node in list(graph.node):
        editor.take(node)
    kept = [i for i in graph.initializer if i.name not in editor.replaced]
    for field, values in ((graph.initializer, kept + editor.constants), (graph.node, editor.nodes)):
        del field[:]
        field.extend(values)
    if not any(opset.domain == MICROSOFT for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))


class _Editor:
    """Nodes of a graph, taken one after the other, and those that stand in their place."""

    def __init__(self, graph: Any):
        from onnx import TensorProto

        matrices = (i for i in graph.initializer if i.data_type == TensorProto.FLOAT and len(i.dims) == 2)
        uses = Counter(name for node in graph.node for name in node.input)
        self.weights = {i.name: i for i in matrices if uses[i.name] == 1}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        for name, value in _CONSTANTS.items():
            self._constant(name, value)
        self.replaced: set[str] = set()
        self._rounded: set[str] = set()

    def take(self, node: Any) -> None:
        at = {"MatMul": 1, "Gemm": 1, "Gather": 0}.get(node.op_type, 0)
        name = node.input[at] if len(node.input) else ""
        if name not in self.weights:
            self.nodes.append(node)
        elif node.op_type == "MatMul":
            self._product(node, name, transposed=False)
        elif node.op_type == "Gemm" and _is_linear(node):
            self._product(node, name, transposed=any(a.name == "transB" and a.i for a in node.attribute))
        elif node.op_type == "Gather" and self.weights[name].dims[0] >= TABLE_ROWS:
            self._rows(node, name)
        else:
            self.nodes.append(node)

    def _product(self, node: Any, name: str, *, transposed: bool) -> None:
        x, (out,) = node.input[0], node.output
        w = self._take_weight(name)
        q, s = quantized(w.T if transposed else w, axis=0)
        if x not in self._rounded:  # one rounding for all products with these states
            self._rounded.add(x)
            self._round(x, len(q))
        weights = [self._constant(f"{name}.q", q), "int8.one", self._constant(f"{name}.s", s)]
        self._node("MatMulIntegerToFloat", [f"{x}.q", *weights, "int8.zero"], [f"{out}.columns"], MICROSOFT)
        self._node("Mul", [f"{out}.columns", f"{x}.s"], [f"{out}.rows"])
        if node.op_type == "Gemm":
            self._node("Add" if len(node.input) > 2 else "Identity", [f"{out}.rows", *node.input[2:]], [out])
            return
        self._node("Shape", [x], [f"{out}.leading"], end=-1)
        width = self._constant(f"{out}.width", np.array([len(s)]))
        self._node("Concat", [f"{out}.leading", width], [f"{out}.shape"], axis=0)
        self._node("Reshape", [f"{out}.rows", f"{out}.shape"], [out])

    def _round(self, x: str, width: int) -> None:
        """States of any rank as rows: `x.q`, where 128 stands for zero, and their scales `x.s`."""
        self._node("Reshape", [x, self._constant(f"{x}.wide", np.array([-1, width]))], [f"{x}.flat"])
        self._node("ReduceMax", [f"{x}.flat", "int8.last"], [f"{x}.max"])
        self._node("ReduceMin", [f"{x}.flat", "int8.last"], [f"{x}.min"])
        self._node("Neg", [f"{x}.min"], [f"{x}.-min"])
        self._node("Max", [f"{x}.max", f"{x}.-min"], [f"{x}.most"])
        self._node("Add", [f"{x}.most", "int8.least"], [f"{x}.largest"])  # a Max of three is slow
        self._node("Div", [f"{x}.largest", "int8.steps"], [f"{x}.s"])
        self._node("Squeeze", [f"{x}.s", "int8.last"], [f"{x}.steps"])
        self._node("Shape", [f"{x}.steps"], [f"{x}.n"])
        self._node("Expand", ["int8.zero", f"{x}.n"], [f"{x}.z"])
        self._node("QuantizeLinear", [f"{x}.flat", f"{x}.steps", f"{x}.z"], [f"{x}.q"], axis=0)

    def _rows(self, node: Any, name: str) -> None:
        from onnx import TensorProto

        (out,) = node.output
        q, s = quantized(self._take_weight(name), axis=1)
        for kind, value in (("q", q), ("s", s[:, None])):
            self._node("Gather", [self._constant(f"{name}.{kind}", value), node.input[1]], [f"{out}.{kind}"])
        self._node("Cast", [f"{out}.q"], [f"{out}.f"], to=TensorProto.FLOAT)
        self._node("Mul", [f"{out}.f", f"{out}.s"], [out])

    def _take_weight(self, name: str) -> np.ndarray:
        from onnx import numpy_helper

        self.replaced.add(name)
        found: np.ndarray = numpy_helper.to_array(self.weights[name])
        return found

    def _constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **options: Any
    ) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **options))


def _is_linear(node: Any) -> bool:
    """Whether a Gemm is `x W + b` and nothing more."""
    values = {a.name: a.f or a.i for a in node.attribute}
    return not values.get("transA", 0) and values.get("alpha", 1.0) == values.get("beta", 1.0) == 1.0
