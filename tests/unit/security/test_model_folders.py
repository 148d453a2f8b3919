"""A model folder from a stranger runs no code, opens no pickle and leads nowhere else, whoever reads it."""

from __future__ import annotations

import builtins
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from onnx import TensorProto, helper, numpy_helper

import roster
from roster.annotators.loading import load_annotator
from roster.backbone.loading import (
    load_any_masked_lm,
    load_architecture,
    load_encoder,
    load_masked_lm,
    load_token_classifier,
    load_tokenizer,
)
from roster.distant.span_sources import parse_model
from roster.errors import ConfigError, ModelError, RosterError
from roster.infer.export import COPIED, export
from roster.infer.onnx_engine import open_session
from roster.infer.onnx_file import check_one_file
from roster.infer.recogniser import load
from roster.integrations.spacy import make_roster
from roster.methods.registry import head_of
from roster.model.folder import SUMMED, load_model, save_model, verify
from roster.model.heads import OneHead
from roster.safe_folder import PICKLES, check_folder

ENCODERS: list[Callable[[str], Any]] = [
    load_encoder, load_tokenizer, load_architecture, load_masked_lm, load_any_masked_lm,
]  # fmt: skip
EVIL = "from pathlib import Path\nPath(r'{mark}').touch()\nraise SystemExit('code of the folder has run')\n"


@pytest.fixture
def backbone(backbones: dict[str, Path], tmp_path: Path) -> Path:
    """A backbone that a test may change."""
    return Path(shutil.copytree(backbones["bert"], tmp_path / "backbone"))


@pytest.fixture
def model(backbones: dict[str, Path], tmp_path: Path) -> Path:
    """A trained model that a test may change."""
    source = str(backbones["bert"])
    save_model(tmp_path / "model", OneHead(load_encoder(source), 1), load_tokenizer(source), ("PER",), 24, "")
    return tmp_path / "model"


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize("suffix", PICKLES)
def test_every_suffix_of_a_pickle(suffix: str, tmp_path: Path) -> None:
    check_folder(tmp_path)
    (tmp_path / f"Weights{suffix.upper()}").touch()
    with pytest.raises(ModelError, match="has a pickle") as caught:
        check_folder(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", ENCODERS)
def test_an_encoder_with_a_pickle(read: Callable[[str], Any], backbone: Path) -> None:
    read(str(backbone))
    (backbone / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match=r"has a pickle, pytorch_model\.bin.*safetensors are enough"):
        read(str(backbone))
    (backbone / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="save_pretrained writes safetensors"):
        read(str(backbone))


def test_a_model_with_a_pickle(model: Path, tmp_path: Path) -> None:
    load(model, "cpu")
    nlp = spacy.blank("xx")
    (model / "training_args.bin").write_bytes(b"\x80\x04.")
    readers: list[Callable[[], Any]] = [
        lambda: load(model, "cpu"),
        lambda: load_model(model, head_of),
        lambda: export(model, tmp_path / "out"),
        lambda: roster.predict(model, ["Ada"]),
        lambda: roster.serve(model, port=0, background=True),
        lambda: load_annotator(parse_model(str(model)), {}),
        lambda: make_roster(nlp, "roster", str(model), "cpu", 0.0, None, "roster", False, "score").recogniser,
    ]  # fmt: skip
    for read in readers:
        with pytest.raises(RosterError, match=r"has a pickle, training_args\.bin"):
            list(read())
    assert not (tmp_path / "out").exists()


def test_a_classifier_for_labelling_with_a_pickle(backbone: Path) -> None:
    edit(backbone / "config.json", architectures=["BertForTokenClassification"])
    (backbone / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match="has a pickle"):
        load_annotator(parse_model(f"transformers:{backbone}"), {})


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("read", ENCODERS)
def test_no_code_of_an_encoder_runs(
    file: str, read: Callable[[str], Any], backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the user answers transformers' question with yes."""
    monkeypatch.setattr(builtins, "input", lambda *question: "y")
    (backbone / "evil.py").write_text(EVIL.format(mark=tmp_path / "ran"))
    names = ("AutoConfig", "AutoModel", "AutoModelForMaskedLM")
    changes = {"auto_map": {**dict.fromkeys(names, "evil.Evil"), "AutoTokenizer": ["evil.Evil", None]},
               "tokenizer_class": "Evil", "model_type": "evil"}  # fmt: skip
    edit(backbone / file, **changes)
    with pytest.raises(ModelError, match="wants to run code of its own"):
        read(str(backbone))
    assert not (tmp_path / "ran").exists()


def test_transformers_is_told_not_to_ask(
    backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line of defence, for names on the hub, whose files cannot be looked at before."""
    monkeypatch.setattr("roster.backbone.loading.check_folder", lambda folder: None)
    monkeypatch.setattr(builtins, "input", lambda *question: "y")
    (backbone / "evil.py").write_text(EVIL.format(mark=tmp_path / "ran"))
    edit(
        backbone / "config.json",
        auto_map={"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"},
        model_type="evil",
    )
    for read in ENCODERS[:1] + ENCODERS[2:]:
        with pytest.raises(ModelError):
            read(str(backbone))
    assert not (tmp_path / "ran").exists()


def test_transformers_is_told_to_read_safetensors(backbone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.backbone.loading.check_folder", lambda folder: None)
    torch.save(load_encoder(str(backbone)).state_dict(), backbone / "pytorch_model.bin")
    (backbone / "model.safetensors").unlink()
    for read in (load_encoder, load_masked_lm, load_any_masked_lm, load_token_classifier):
        with pytest.raises(ModelError, match="safetensors"):
            read(str(backbone))


def test_code_on_the_hub(backbone: Path) -> None:
    for value in ("evil/kernel", {"": "evil/kernel:run"}):
        edit(backbone / "config.json", nested={"attn_implementation": value})
        with pytest.raises(ModelError, match="names code on the Hugging Face hub"):
            load_encoder(str(backbone))
    edit(backbone / "config.json", nested={"attn_implementation": "eager"})
    load_encoder(str(backbone))
    (backbone / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="is an adapter"):
        load_encoder(str(backbone))


@pytest.mark.parametrize(
    "name", ["../other.safetensors", "/etc/a.safetensors", "weights.pkl", "a.txt", None, 3]
)
def test_an_index_that_leads_elsewhere(name: Any, backbone: Path) -> None:
    edit(backbone / "model.safetensors.index.json", weight_map={"a": "model.safetensors", "b": name})
    with pytest.raises(ModelError, match="is no safetensors file beside it"):
        load_encoder(str(backbone))


def test_chat_templates_are_not_rendered(backbone: Path) -> None:
    """One that no renderer could parse changes nothing."""
    (backbone / "chat_template.jinja").write_text("{% for x in %}{{ broken")
    edit(backbone / "tokenizer_config.json", chat_template="{% for x in %}{{ broken")
    assert load_tokenizer(str(backbone)).tokenize("Anna")


def test_a_spacy_pipeline_that_names_code(tmp_path: Path) -> None:
    folder = tmp_path / "pipeline"
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(folder)
    load_annotator(parse_model(f"spacy:{folder}"), {})
    for name in ("__init__.py", "evil.py"):
        (folder / name).write_text(EVIL.format(mark=tmp_path / "ran"))
    config = (folder / "config.cfg").read_text()
    for name in ("components.sentencizer]\n", "nlp]\n"):
        evil = f'{name}before_creation = {{"@callbacks": "evil.run"}}\n'
        (folder / "config.cfg").write_text(config.replace(name, evil).replace("before_creation = null\n", ""))
        with pytest.raises(ConfigError, match="cannot be used"):
            load_annotator(parse_model(f"spacy:{folder}"), {})
    (folder / "config.cfg").write_text(config)
    (folder / "cfg.pkl").touch()
    with pytest.raises(ConfigError, match=r"has a pickle, cfg\.pkl"):
        load_annotator(parse_model(f"spacy:{folder}"), {})
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["../outside", "/dev/zero", "..", "", "a/b"])
def test_checksums_of_files_elsewhere(name: str, model: Path) -> None:
    verify(model)
    (model.parent / "outside").write_text("x")
    edit(model / "checksums.json", **{name: "00"})
    with pytest.raises(ModelError, match="is not the name of a file in the folder"):
        load(model, "cpu")


def test_every_file_that_decides_is_summed(model: Path) -> None:
    """One more byte in any file that is read at prediction is found; also in what an export has."""
    free = {"config.toml", "README.md", "checksums.json", "special_tokens_map.json"}
    files = {file.name for file in model.iterdir()} - free
    assert files == set(json.loads((model / "checksums.json").read_text()))
    for file in sorted(model / name for name in files):
        before = file.read_bytes()
        file.write_bytes(before + b" ")
        with pytest.raises(ModelError, match="is damaged: its checksum differs"):
            load(model, "cpu")
        file.write_bytes(before)
    assert {"model.onnx", "roster.json", *COPIED} - free <= set(SUMMED)


def one_tensor(place: str, external: str | None) -> Any:
    """A graph with one tensor: as an initialiser, in a constant, in a branch, or in a function."""
    tensor = numpy_helper.from_array(np.ones(4, np.float32), "w")
    if external is not None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", external), ("offset", "0"), ("length", "16")):
            tensor.external_data.add(key=key, value=value)
    output = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4])
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    branch = helper.make_graph([constant], "branch", [], [output])
    nodes, initialisers = {
        "initialiser": ([helper.make_node("Identity", ["w"], ["y"])], [tensor]),
        "constant": ([constant, helper.make_node("Identity", ["w"], ["y"])], []),
        "branch": ([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], []),
    }.get(place, ([helper.make_node("f", [], ["y"], domain="own")], []))
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])] if place == "branch" else []
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph(nodes, "g", inputs, [result], initialisers)
    found = helper.make_model(graph, opset_imports=imports, ir_version=9)
    if place == "function":
        found.functions.append(helper.make_function("own", "f", [], ["w"], [constant], imports[:1]))
    return found


@pytest.mark.parametrize("place", ["initialiser", "constant", "branch", "function"])
def test_weights_of_an_export_in_other_files(place: str, tmp_path: Path) -> None:
    path = tmp_path / "export" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(one_tensor(place, None).SerializeToString())
    open_session(path)
    for outside in ("../secret.bin", "inside.data", str(tmp_path / "secret.bin")):
        (tmp_path / "secret.bin").write_bytes(b"\0" * 16)
        (path.parent / "inside.data").write_bytes(b"\0" * 16)
        path.write_bytes(one_tensor(place, outside).SerializeToString())
        with pytest.raises(ModelError, match="keeps weights in other files"):
            open_session(path)


def test_damaged_onnx_files(tmp_path: Path) -> None:
    whole = one_tensor("branch", None).SerializeToString()
    path = tmp_path / "model.onnx"
    for content in (b"", b"\xff" * 40, whole[:-3], b"\x3a" * 300, b"\x3a\xff\xff\xff\xff\x0f"):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="damaged, or no ONNX file"):
            check_one_file(path)
    deep = b""
    for number in range(99):  # a graph in an attribute of a node of a graph ...
        field = bytes([(0x32, 0x2A, 0x0A)[number % 3]])
        deep = field + bytes([len(deep) & 127 | 128, len(deep) >> 7]) + deep
    path.write_bytes(b"\x3a" + bytes([len(deep) & 127 | 128, len(deep) >> 7]) + deep)
    with pytest.raises(ModelError, match="nested too deep"):
        check_one_file(path)
