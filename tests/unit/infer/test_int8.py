"""Eight-bit weights: the nearest ones, and a graph that computes with them what numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from roster.infer.int8 import TABLE_ROWS, quantize, quantized

MATRIX = arrays(
    np.float32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(-50, 50, width=32)
)


@given(MATRIX, st.sampled_from([0, 1]))
def test_no_weight_is_off_by_more_than_half_a_step(w: np.ndarray, axis: int) -> None:
    q, s = quantized(w, axis)
    assert q.dtype == np.int8
    assert s.shape == (w.shape[1 - axis],)
    assert (s > 0).all()
    step = np.expand_dims(s, axis)
    assert (abs(q * step - w) <= step * 0.5001).all()
    assert q.min(initial=0) >= -127


def graph(nodes: list[Any], constants: dict[str, np.ndarray], inputs: dict[str, Any], output: str) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    given = [helper.make_tensor_value_info(n, kinds[x.dtype], [None] * x.ndim) for n, x in inputs.items()]
    made = helper.make_graph(
        nodes, "g", given, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(x, n) for n, x in constants.items()],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run(model: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    import onnxruntime

    found: np.ndarray = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)[0]
    return found


def rounded_states(x: np.ndarray) -> np.ndarray:
    """Rows of -127 to 127 steps."""
    step = abs(x).max(-1, keepdims=True) / 127
    return np.round(x / step) * step


def rounded_weights(w: np.ndarray) -> np.ndarray:
    """Columns of -127 to 127 steps."""
    step = abs(w).max(0) / 127
    return np.round(w / step) * step


@pytest.mark.parametrize("kind", ["matmul", "gemm", "gemm-transposed", "gemm-plain"])
def test_a_product(kind: str) -> None:
    from onnx import helper

    draw = np.random.default_rng(1)
    x, w = draw.normal(size=(5, 16)).astype(np.float32), draw.normal(size=(16, 8)).astype(np.float32)
    b = draw.normal(size=8).astype(np.float32)
    if kind in ("matmul", "gemm-plain"):
        b = np.zeros_like(b)
        node = helper.make_node("MatMul" if kind == "matmul" else "Gemm", ["x", "w"], ["y"])
    else:
        node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=int(kind == "gemm-transposed"))
    stored = np.ascontiguousarray(w.T) if kind == "gemm-transposed" else w
    model = graph([node], {"w": stored, "b": b}, {"x": x}, "y")
    exact = run(model, {"x": x})
    np.testing.assert_allclose(exact, x @ w + b, rtol=1e-4, atol=1e-5)
    quantize(model)
    assert not {"MatMul", "Gemm"} & {n.op_type for n in model.graph.node}
    found = run(model, {"x": x})
    np.testing.assert_allclose(found, rounded_states(x) @ rounded_weights(w) + b, rtol=1e-3, atol=1e-3)
    assert 0 < abs(found - exact).max() < 0.2


def test_states_of_any_rank() -> None:
    """And with rows of zeros, and one so large that the others would vanish beside it."""
    from onnx import helper

    draw = np.random.default_rng(5)
    x, w = draw.normal(size=(2, 3, 16)).astype(np.float32), draw.normal(size=(16, 8)).astype(np.float32)
    x[0, 1], x[1, 2] = 0, 1e6
    model = graph([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w}, {"x": x}, "y")
    quantize(model)
    found = run(model, {"x": x})
    assert found.shape == (2, 3, 8)
    assert (found[0, 1] == 0).all()
    kept = [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]
    for place in kept:
        expected = rounded_states(x[place]) @ rounded_weights(w)
        np.testing.assert_allclose(found[place], expected, rtol=1e-3, atol=1e-3)
    # A row gives the same in any company.
    for place in kept:
        assert np.array_equal(run(model, {"x": x[place][None, None]})[0, 0], found[place])


def test_states_are_rounded_once_for_all_products() -> None:
    from onnx import helper

    draw = np.random.default_rng(2)
    x, w, v = (draw.normal(size=(8, 8)).astype(np.float32) for _ in range(3))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["x", "v"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    model = graph(nodes, {"w": w, "v": v}, {"x": x}, "y")
    quantize(model)
    assert sum(n.op_type == "QuantizeLinear" for n in model.graph.node) == 1
    expected = rounded_states(x) @ (rounded_weights(w) + rounded_weights(v))
    np.testing.assert_allclose(run(model, {"x": x}), expected, rtol=1e-3, atol=1e-3)


def test_rows_of_a_table() -> None:
    from onnx import helper

    draw = np.random.default_rng(3)
    table = draw.normal(size=(TABLE_ROWS, 4)).astype(np.float32)
    table[7] = 0
    ids = np.array([[7, 0], [TABLE_ROWS - 1, 3]])
    model = graph([helper.make_node("Gather", ["t", "ids"], ["y"])], {"t": table}, {"ids": ids}, "y")
    before = len(model.SerializeToString())
    quantize(model)
    assert len(model.SerializeToString()) < before / 1.8
    largest = abs(table[ids]).max(-1, keepdims=True)
    found = run(model, {"ids": ids})
    assert (abs(found - table[ids]) <= largest / 254 * 1.001).all()
    assert (found[0, 0] == 0).all()


def test_what_stays_as_it_is() -> None:
    """Small tables, weights that something else needs too, products of states, and a Gemm that does more."""
    from onnx import helper

    draw = np.random.default_rng(4)
    x, w, v, t = (draw.normal(size=(4, 4)).astype(np.float32) for _ in range(4))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "w"], ["b"]),
        helper.make_node("MatMul", ["b", "a"], ["c"]),
        helper.make_node("Gemm", ["c", "v"], ["d"], alpha=0.5),
        helper.make_node("Gather", ["t", "ids"], ["e"]),
        helper.make_node("Add", ["d", "e"], ["y"]),
    ]
    inputs = {"x": x, "ids": np.arange(4)}
    model = graph(nodes, {"w": w, "v": v, "t": t}, inputs, "y")
    before = run(model, inputs)
    quantize(model)
    assert [n.op_type for n in model.graph.node] == [n.op_type for n in nodes]
    assert np.array_equal(run(model, inputs), before)
