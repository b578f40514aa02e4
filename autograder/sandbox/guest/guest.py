"""The guest: carries out the judge's requests, one after another, beside student code.

By the time this runs the wall is up. Student code shares this process, so the judge believes
nothing from here beyond its being a well-formed value. What is kept private here (functions bound
at import, before the student's first statement) only makes sure that ordinary tampering with torch
or builtins harms nobody but its author.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, cast

import msgspec
import torch

from ..protocol import messages, wire
from ..protocol.frames import Buffer, Channel, Ended
from ..protocol.tensors import Cargo, decode
from . import calls, devices, globals_used, loading, modes, modules, probe, reset_state
from .describe import Describer, SourceLines, is_a, label, raised, words
from .loading import arguments as signatures

_Tensor, _Module = torch.Tensor, torch.nn.Module
_no_grad, _copy = torch.no_grad, torch._C.TensorBase.copy_
_decode_request = msgspec.msgpack.Decoder(messages.Request).decode
_encode_reply = msgspec.msgpack.Encoder().encode
_BaseException = BaseException
# What computes with the student's code, and so starts from its seed and from torch's defaults. The
# rest only looks, or puts numbers where the judge wants them.
_RUN_CODE = frozenset(
    (messages.Load, messages.Make, messages.Call, messages.Convert, messages.Substitute)
)
_FIRST_OWN_HANDLE = 1 << 40  # below are those that the judge chooses

_fit = signatures.fit
_load = loading.load
_put_into, _bring_along = modes.put_into, modes.bring_along


class Guest:
    """Handles, loaded names, and one method for each kind of operation.

    Args:
        channel: The connection to the judge.
        output: Collects what the student prints.
        started: Called with the number of each statement before it runs.
    """

    def __init__(
        self, channel: Channel, output: reset_state.Output, started: Callable[[int], None]
    ) -> None:
        self._channel = channel
        self._output = output
        self._started = started
        self._handles: dict[int, Any] = {}
        self._next_handle = _FIRST_OWN_HANDLE
        self.loaded: loading.Loaded | None = None
        self._objects: dict[str, Any] = {}
        self._parameters: signatures.Known = {}
        self._modules: list[ModuleType] = []
        self._sources: Mapping[str, SourceLines] = {}
        self._tensors: list[torch.Tensor] = []
        self._cargo = Cargo()
        self._describer = Describer(self._cargo, self._keep)
        self._carry_out: dict[type, Callable[[Any], messages.Outcome]] = {
            messages.Load: self._on_load,
            messages.Make: self._on_make,
            messages.Call: self._on_call,
            messages.Fetch: self._on_fetch,
            messages.Assign: self._on_assign,
            messages.Mode: self._on_mode,
            messages.Convert: self._on_convert,
            messages.Submodules: self._on_submodules,
            messages.Child: self._on_child,
            messages.Attributes: self._on_attributes,
            messages.Release: self._on_release,
            messages.Substitute: self._on_substitute,
            messages.Probe: self._on_probe,
        }

    def serve(self) -> None:
        """Answer until the judge closes its end."""
        while True:
            try:
                message, payload = self._channel.receive()
            except Ended:
                return
            reply, tensors = self.answer(_decode_request(message), payload)
            self._channel.send(_encode_reply(reply), tensors)

    def answer(
        self, request: messages.Request, payload: memoryview
    ) -> tuple[messages.Reply, list[Buffer]]:
        """Carry out a request, part by part; what one part raises ends that part alone."""
        sent = decode(request.tensors, payload)
        self._cargo = Cargo()
        self._describer = Describer(self._cargo, self._keep)
        answers = []
        for part in request.parts:
            self._tensors, sent = sent[: part.tensors], sent[part.tensors :]
            answers.append(tuple(self._outcomes(part)))
        return (
            messages.Reply(request.id, tuple(answers), tuple(self._cargo.heads)),
            self._cargo.payload,
        )

    def _outcomes(self, part: messages.Asked) -> Iterator[messages.Outcome]:
        for operation, seed in zip(part.operations, part.seeds, strict=True):
            outcome = self._outcome(operation, seed)
            yield outcome
            if type(outcome) is messages.Raised:
                return

    def _outcome(self, operation: messages.Operation, seed: int) -> messages.Outcome:
        try:
            if type(operation) in _RUN_CODE:
                grad_enabled = type(operation) is not messages.Call or operation.grad_enabled
                reset_state.reset(seed, grad_enabled)
            return self._carry_out[type(operation)](operation)
        except _BaseException as error:  # SystemExit and its kin as well: the guest goes on
            reset_state.drop_modes()
            return raised(error, self._sources)

    # --- names --------------------------------------------------------------------------------

    def _on_load(self, load: messages.Load) -> messages.Outcome:
        reset_state.nothing_imported()
        if devices.mentioned(load.files):
            devices.stand_in()
            reset_state.keep(devices.OnTheCPU())
        loaded = _load(
            load.files, load.names, frozenset(load.skip), self._started, reset_state.imported
        )
        self._started(0)
        reset_state.drop_modes()
        self.loaded = loaded
        self._parameters = load.parameters
        self._objects = dict(loaded.objects)
        self._modules = list(loaded.modules)
        self._sources = dict(loaded.sources)
        report = loaded.report
        told = devices.notes_on(load.files)
        if told:
            notes = (*report.notes, *(words(note) for note in told))
            report = msgspec.structs.replace(report, notes=notes[: wire.MAX_ITEMS])
        if loaded.instead is not None:  # first, where the judge looks for it
            report = msgspec.structs.replace(report, notes=(loaded.instead, *report.notes))
        return messages.Loaded(report, words(self._output.take()))

    def _on_substitute(self, substitute: messages.Substitute) -> messages.Outcome:
        stand_in = ModuleType("stand_in")
        exec(compile(substitute.source, "<stand-in>", "exec"), stand_in.__dict__)
        for name, new in list(stand_in.__dict__.items()):
            if not isinstance(new, FunctionType | type) or new.__module__ != "stand_in":
                continue
            old = self._objects.get(name)
            for module in self._modules:
                for key, value in list(module.__dict__.items()):
                    if key == name or (old is not None and value is old):
                        module.__dict__[key] = new
            if substitute.called:
                self._objects[name] = new
        return messages.Done()

    # --- modules and calls --------------------------------------------------------------------

    def _keep(self, module: object) -> wire.ModuleValue:
        handle = self._next_handle
        self._next_handle += 1
        self._handles[handle] = module
        return modules.module_value(handle, module)

    def _argument(self, value: wire.Value) -> object:
        if type(value) is wire.TensorValue:
            return self._tensors[value.index]
        if type(value) is wire.Many:
            return [self._argument(item) for item in value.items]
        if type(value) is wire.ModuleValue:
            return self._handles[value.handle]
        if type(value) is wire.Text:
            return value.text
        return value

    def _on_make(self, make: messages.Make) -> messages.Outcome:
        keywords = {name: self._argument(value) for name, value in make.keywords.items()}
        build = self._objects[make.name]
        match = _fit(build, keywords, self._parameters)
        made = build(*match.arguments, **match.keywords)
        reset_state.drop_modes()
        self._handles[make.handle] = made
        value = modules.module_value(make.handle, made)
        notes = (*match.notes, *globals_used.notes_on(type(made)))
        said = tuple(words(note) for note in notes[: wire.MAX_ITEMS])
        lost = tuple(label(name) for name in match.dropped[: wire.MAX_ITEMS])
        return messages.Answer(value, printed=words(self._output.take()), notes=said, dropped=lost)

    def _on_call(self, call: messages.Call) -> messages.Outcome:
        by_name = type(call.target) is str
        target = (self._objects if by_name else self._handles)[call.target]  # type: ignore[index]
        if call.training is not None:
            _put_into(target, call.training)
        elif not by_name:
            _bring_along(target)
        given: list[torch.Tensor] = []
        sources: dict[str, torch.Tensor] = {}
        handed: list[object] = []
        for place, value in enumerate(call.arguments):
            argument = self._argument(value)
            if type(value) is wire.TensorValue:
                tensor: Any = argument
                if call.cotangent is not None and calls.differentiable(tensor):
                    sources[f"argument:{place}"], tensor = calls.tracked(tensor)
                argument = tensor = calls.lay_out(tensor, call.layouts.get(place, "contiguous"))
                given.append(tensor)
            handed.append(argument)
        keywords = {name: self._argument(value) for name, value in call.keywords.items()}
        counts: dict[str, int] = {}
        if call.unfilled:
            output = calls.unfilled(lambda: target(*handed, **keywords))
        elif call.operators_wanted or call.library_wanted:
            output = calls.counting(
                lambda: target(*handed, **keywords), counts, everything=call.operators_wanted
            )
        else:
            output = target(*handed, **keywords)
        reset_state.drop_modes()
        slopes: dict[str, wire.TensorValue | None] | None = None
        if call.cotangent is not None:
            cotangent = self._tensors[call.cotangent.index]
            if not by_name:
                sources.update(modules.parameters(target))
            slopes = self._slopes(calls.gradients(output, cotangent, sources))
        describe = self._describer
        return messages.Answer(
            describe.value(output),
            [describe.tensor(tensor) for tensor in given] if call.arguments_wanted else None,
            slopes,
            {label(name): count for name, count in counts.items()}
            if call.operators_wanted or call.library_wanted
            else None,
            words(self._output.take()),
        )

    def _slopes(
        self, found: Mapping[str, torch.Tensor | None] | None
    ) -> dict[str, wire.TensorValue | None] | None:
        if found is None:
            return None
        slopes: dict[str, wire.TensorValue | None] = {}
        for path, gradient in found.items():
            value = None if gradient is None else self._describer.tensor(gradient)
            slopes[label(path)] = value if type(value) is wire.TensorValue else None
        return slopes

    def _on_fetch(self, fetch: messages.Fetch) -> messages.Outcome:
        module = self._handles[fetch.handle]
        found = {**modules.parameters(module), **modules.buffers(module)}
        return messages.Tensors({path: self._describer.tensor(found[path]) for path in found})

    def _on_assign(self, assign: messages.Assign) -> messages.Outcome:
        module = self._handles[assign.handle]
        with _no_grad():
            for path, value in assign.values.items():
                slot: Any = modules.locate(module, path)
                if not is_a(slot, _Tensor):
                    raise TypeError(f"{path} is not a tensor")
                tensor = self._tensors[value.index]
                if tuple(slot.shape) != tuple(tensor.shape):
                    raise ValueError(f"{path} has the shape {tuple(slot.shape)}")
                _copy(slot, tensor)
        return messages.Done()

    def _on_mode(self, mode: messages.Mode) -> messages.Outcome:
        _put_into(self._handles[mode.handle], mode.training)
        return messages.Done()

    def _on_convert(self, convert: messages.Convert) -> messages.Outcome:
        module = self._handles[convert.handle]
        if convert.to == "double":
            module.double()
        elif convert.to == "float":
            module.float()
        else:
            module.to(convert.to)
        return messages.Answer(modules.module_value(convert.handle, module))

    def _on_submodules(self, ask: messages.Submodules) -> messages.Outcome:
        found = modules.submodules(self._handles[ask.handle])
        return messages.Parts(
            tuple(messages.Part(label(p), name, known) for p, name, known in found)
        )

    def _on_child(self, child: messages.Child) -> messages.Outcome:
        found = modules.locate(self._handles[child.handle], child.path)
        if not is_a(found, _Module):
            raise TypeError(f"{child.path} is not a module")
        self._handles[child.child] = found
        return messages.Answer(modules.module_value(child.child, found))

    def _on_attributes(self, ask: messages.Attributes) -> messages.Outcome:
        tensors: list[wire.Slot] = []
        scalars: dict[str, messages.Scalar] = {}
        for path, item in modules.attributes(self._handles[ask.handle]):
            if len(path) > wire.MAX_NAME:
                continue
            if is_a(item, _Tensor):
                tensors.extend(modules.slots({path: item}))
            elif type(item) in (bool, int, float, str) or item is None:
                scalars[label(path)] = cast(messages.Scalar, self._describer.value(item))
        return messages.SlotList(tuple(tensors), scalars)

    def _on_release(self, release: messages.Release) -> messages.Outcome:
        for handle in release.handles:
            self._handles.pop(handle, None)
        return messages.Done()

    def _on_probe(self, ask: messages.Probe) -> messages.Outcome:
        return messages.Breaches(tuple(probe.breaches(ask.secret, ask.folder)))
