"""Networks in the memory of other libraries, which their own exporters write as ONNX files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from edgec.base.errors import EdgecError, ModelError, UsageError
from edgec.base.harmless import printable

Exporter = Callable[[Any, Any, Path], None]  # of a network, what it is called with, and the file to write


def exported_network(model: object, example_inputs: Any, new_folder: Callable[[], Path]) -> Path:
    """The ONNX file of a network, named as its class is. UsageError where it is none, where nobody says what it is called with, or where
    its exporter is not installed; ModelError with what the exporter says."""
    kind = type(model)
    bases = [(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__]
    base = next((base for base in bases if base in EXPORTERS), None)
    where = f"{kind.__module__}.{kind.__qualname__}"
    if base is None:
        raise UsageError(f"a model is given as a file, not as {where}", where="model", hint="give the path of an ONNX file")
    target = new_folder() / f"{'model' if base[0] == 'onnx' else kind.__name__}.onnx"
    try:
        EXPORTERS[base](model, example_inputs, target)
    except EdgecError as error:
        raise type(error)(error.summary, error.problems, where=where, hint=error.hint) from error
    except ImportError as error:
        hint = f"pip install 'edgec[{base[0]}]'"
        raise UsageError(f"what exports it is not installed: {error}", where=where, hint=hint) from error
    except Exception as error:  # exporters raise what they like
        words = next(iter(printable(str(error)).strip().splitlines()), type(error).__name__)
        raise ModelError(f"cannot be exported: {words}", where=where, hint="call the exporter yourself, and give its ONNX file") from error
    return target


def _torch_module(model: Any, example_inputs: Any, target: Path) -> None:
    """As it infers, whatever it does at the moment; arrays of numpy among the inputs become tensors."""
    torch, named = import_module("torch"), isinstance(example_inputs, Mapping)
    inputs: Any = example_inputs if named or isinstance(example_inputs, (tuple, list)) or example_inputs is None else (example_inputs,)
    if not inputs:
        raise UsageError("what is it called with?", hint="example_inputs=(tensor,), or a dict of them by the names that forward() has")
    trained = [part for part in model.modules() if part.training]
    model.eval()
    try:
        scripted = isinstance(model, torch.jit.ScriptModule)
        words = {"dynamo": False} if scripted else {"dynamo": True, "verbose": False}
        args = () if named else tuple(map(_tensor, inputs))
        kwargs = {name: _tensor(value) for name, value in inputs.items()} if named else None
        torch.onnx.export(model, args, str(target), kwargs=kwargs, **words)
    finally:
        for part in trained:
            part.training = True


def _tensor(value: Any) -> Any:
    return import_module("torch").from_numpy(value) if type(value).__module__ == "numpy" else value


def _torch_program(model: Any, example_inputs: Any, target: Path) -> None:
    import_module("torch").onnx.export(model, f=str(target), dynamo=True, verbose=False)


def _keras(model: Any, example_inputs: Any, target: Path) -> None:
    model(model.inputs)  # networks alone are exported that were called
    model.export(str(target), format="onnx", verbose=False)


def _sklearn(model: Any, example_inputs: Any, target: Path) -> None:
    if example_inputs is None:
        raise UsageError("what are its inputs?", hint="example_inputs=samples: an array with a row of features")
    target.write_bytes(import_module("skl2onnx").to_onnx(model, example_inputs[:1]).SerializeToString())


def _onnx(model: Any, example_inputs: Any, target: Path) -> None:
    import_module("onnx").save(model, str(target))


# classes by the library that they come from; a library has an extra of its name
EXPORTERS: Mapping[tuple[str, str], Exporter] = {
    ("torch", "Module"): _torch_module, ("torch", "ExportedProgram"): _torch_program, ("keras", "Model"): _keras,
    ("sklearn", "BaseEstimator"): _sklearn, ("onnx", "ModelProto"): _onnx,
}  # fmt: skip
