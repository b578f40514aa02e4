"""A session without a wall: the same checks call the student's code in this very process.

This is the floor, what grading would cost if the code of strangers could be trusted: nothing is
forked, nothing sent. It keeps the promises that the checks rely on (tensors of their own memory,
seeds, described exceptions), and no others: code that hangs or crashes takes everything along.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import torch

from autograder.sandbox.guest import calls, describe, loading, modules, reset_state
from autograder.sandbox.host import faults
from autograder.sandbox.host.foresight import Foretold, Script
from autograder.sandbox.host.loaded import Found, LoadReport
from autograder.sandbox.host.room import NameSpec
from autograder.sandbox.host.seeds import seed_of, seeds_of
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.shelf import Shelf
from autograder.sandbox.host.student import Asked, ModuleProxy, Parameter, Proxy, Reply, Student
from autograder.sandbox.host.values import Opaque
from autograder.sandbox.protocol import messages, wire

_Tensor = torch.Tensor
_Outcome = TypeVar("_Outcome")


class DirectSession:
    """One submission, loaded here; speaks as `Session` does."""

    cpu_seconds = 0.0  # the judge's own time is all there is
    output = ""

    def __init__(
        self,
        names: tuple[NameSpec, ...],
        files: tuple[wire.SourceFile, ...],
        output: reset_state.Output,
    ) -> None:
        self._specs = {spec.name: spec for spec in names}
        self._files = files
        self._output = output
        self._loaded: loading.Loaded | None = None
        self._handles: dict[int, Any] = {}
        self._last_handle = 0
        self._check_number = 0
        self._matched: dict[str, None] = {}
        self.guest_number = 0
        self.shelf = Shelf()
        self.begin_check("")
        self._load(None)

    @property
    def names(self) -> tuple[NameSpec, ...]:
        """The names of the contract."""
        return tuple(self._specs.values())

    @property
    def matched(self) -> tuple[str, ...]:
        """How arguments found their places, each once."""
        return tuple(self._matched)

    def _load(self, source: str | None, called: bool = True) -> None:
        self.close()
        self._handles.clear()
        reset_state.reset(seed_of("load"), True)
        loaded = loading.load(self._files, tuple(self._specs.values()))
        reset_state.drop_modes()
        self._output.take()
        self._loaded, self._objects = loaded, dict(loaded.objects)
        self.guest_number += 1
        self.report = LoadReport(
            {
                at.name: Found(at.path, at.line, at.cell, at.spelled, at.stub)
                for at in loaded.report.found
            },
            {name.name: name.suggestion for name in loaded.report.missing},
            loaded.report.notes,
        )
        if source is not None:
            self._put_in_place(source, called, loaded)

    def _put_in_place(self, source: str, called: bool, loaded: loading.Loaded) -> None:
        space: dict[str, Any] = {"__name__": "stand_in"}
        exec(compile(source, "<stand-in>", "exec"), space)
        for name, new in list(space.items()):
            if getattr(new, "__module__", None) != "stand_in":
                continue
            old = self._objects.get(name)
            for module in loaded.modules:
                for key, value in list(module.__dict__.items()):
                    if key == name or (old is not None and value is old):
                        module.__dict__[key] = new
            if called:
                self._objects[name] = new

    # --- checks -------------------------------------------------------------------------------

    def begin_check(self, check: str, budget: float | None = None) -> None:
        self._check, self._requests = check, 0
        self._check_number += 1
        self._deferred: BaseException | None = None

    def student(self, check: str, names: tuple[str, ...] | None = None) -> Student:
        if check != self._check:
            self.begin_check(check)
        return Student(self._as_session, self._check_number, names or tuple(self._specs))

    def proxy(self, check: int, name: str, names: tuple[str, ...]) -> Proxy:
        found = self.report.found.get(name)
        if found is None:
            raise faults.NameMissing(name, name, self.report.missing.get(name))
        if found.stub:
            raise faults.NotImplementedYet(name)
        return Proxy(self._as_session, check, name, self._specs[name].kind)

    def foresee(self, script: Script) -> None:
        """Nothing is sent here that could be sent at once."""

    @property
    def foretold(self) -> Mapping[str, Foretold]:
        """Nothing is."""
        return {}

    def forget_foretold(self) -> None:
        """There is nothing to forget."""

    def substitute(self, source: str, called: bool = True) -> None:
        self._load(source, called)

    def restart(self) -> None:
        self._load(None)

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None

    @property
    def _as_session(self) -> Session:
        return cast(Session, self)

    # --- names --------------------------------------------------------------------------------

    def keywords(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(self._specs[name].parameters, args, strict=False)) | dict(named)

    def make_each(
        self, check: int, name: str, arguments: Sequence[Mapping[str, Any]]
    ) -> Iterator[ModuleProxy]:
        for given in arguments:
            yield self._make(name, given)

    def _make(self, name: str, given: Mapping[str, Any]) -> ModuleProxy:
        self._begin(True)
        try:
            build: Any = self._objects[name]
            match = loading.arguments.fit(build, {k: self._sent(v) for k, v in given.items()})
            made = build(*match.arguments, **match.keywords)
            reset_state.drop_modes()
        except BaseException as error:
            raise self._fault(name, error) from None
        proxy = self._proxy(name, made, tuple(match.notes), tuple(match.dropped))
        self._matched |= {f"{name}: {note}": None for note in proxy.notes}
        return proxy

    def take(self, check: int, what: Hashable) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        return self.shelf.take(what, check, self.guest_number)

    def call(self, asked: Asked) -> Reply:
        return next(self.call_each((asked,)))

    def call_each(self, calls_: Sequence[Asked]) -> Iterator[Reply]:
        for asked in calls_:
            if asked.holding and isinstance(asked.target, ModuleProxy):
                self.assign(asked.target, asked.holding)
            yield self._call(asked)

    def watch(
        self, call: Asked, before: Sequence[ModuleProxy], after: Sequence[ModuleProxy]
    ) -> Iterator[Any]:
        yield from self.fetch(before)
        yield self._call(call)
        yield from self.fetch(after)

    def _call(self, asked: Asked) -> Reply:
        target, cotangent = asked.target, asked.cotangent
        called: Any
        called = self._objects[target] if isinstance(target, str) else self._handles[target.handle]
        self._begin(asked.grad or cotangent is not None)
        sources: dict[str, torch.Tensor] = {}
        counts: dict[str, int] = {}
        slopes = None
        try:
            handed = [self._sent(value) for value in asked.arguments]
            for place, value in enumerate(handed):
                if isinstance(value, torch.Tensor):
                    if cotangent is not None and calls.differentiable(value):
                        sources[f"argument:{place}"], value = calls.tracked(value)
                    handed[place] = calls.lay_out(value, asked.layouts.get(place, "contiguous"))
            named = {key: self._sent(value) for key, value in asked.keywords.items()}
            if asked.training is not None:
                called.train(asked.training)
            if asked.unfilled:
                output: Any = calls.unfilled(lambda: called(*handed, **named))
            elif asked.operators_wanted or asked.library_wanted:
                output = calls.counting(
                    lambda: called(*handed, **named), counts, everything=asked.operators_wanted
                )
            else:
                output = called(*handed, **named)
            reset_state.drop_modes()
            if cotangent is not None:
                if not isinstance(target, str):
                    sources.update(modules.parameters(called))
                slopes = calls.gradients(output, cotangent, sources)
        except BaseException as error:
            raise self._fault(asked.name, error) from None
        for proxy in (target, *asked.arguments):
            if isinstance(proxy, ModuleProxy):
                proxy.forget_tensors()
        after = [self._received(asked.name, each) for each in handed if isinstance(each, _Tensor)]
        return Reply(
            self._received(asked.name, output),
            after if asked.arguments_wanted else [],
            slopes,
            counts,
            bool(self._output.take()),
        )

    # --- modules ------------------------------------------------------------------------------

    def defer(self, proxy: ModuleProxy, operation: messages.Operation) -> None:
        self._requests += 1
        try:
            if isinstance(operation, messages.Mode):
                self._handles[proxy.handle].train(operation.training)
            elif isinstance(operation, messages.Release):
                for handle in operation.handles:
                    self._handles.pop(handle, None)
        except BaseException as error:  # told with the next request, as through the wall
            self._deferred = error

    def tell(
        self, proxy: ModuleProxy, operation: messages.Operation, kind: type[_Outcome]
    ) -> _Outcome:
        self._begin(True)
        module = self._handles[proxy.handle]
        outcome: messages.Outcome
        try:
            if isinstance(operation, messages.Convert):
                if operation.to == "meta":
                    module.to("meta")
                else:
                    getattr(module, operation.to)()
                outcome = messages.Answer(modules.module_value(proxy.handle, module))
            else:
                found = modules.submodules(module)
                outcome = messages.Parts(tuple(messages.Part(*each) for each in found))
        except BaseException as error:
            raise self._fault(proxy.name, error) from None
        assert isinstance(outcome, kind)
        return outcome

    def fetch(self, proxies: Sequence[ModuleProxy]) -> list[dict[str, Any]]:
        self._begin(True)
        found = []
        for proxy in proxies:
            module = self._handles[proxy.handle]
            held, kept, _ = modules.tables(module)
            both = {**held, **kept}
            found.append({path: self._received(proxy.name, each) for path, each in both.items()})
        return found

    def assign(self, proxy: ModuleProxy, tensors: Mapping[str, torch.Tensor]) -> None:
        known = proxy.parameters | proxy.buffers
        self._requests += 1
        try:
            with torch.no_grad():
                for path, tensor in tensors.items():
                    slot: Any = modules.locate(self._handles[proxy.handle], path)
                    if tuple(slot.shape) != tuple(tensor.shape) and path in known:
                        raise faults.StudentFault(
                            f"{path} has the shape {tuple(slot.shape)}, not {tuple(tensor.shape)}"
                        )
                    slot.copy_(tensor)
        except faults.StudentFault:
            raise
        except BaseException as error:
            self._deferred = error

    def children(self, proxy: ModuleProxy, paths: Sequence[str]) -> list[ModuleProxy]:
        self._begin(True)
        children = []
        for path in paths:
            try:
                part: Any = modules.locate(self._handles[proxy.handle], path)
            except KeyError as error:
                raise self._fault(proxy.name, error) from None
            found = self._proxy(proxy.name, part)
            found.training = proxy.training
            children.append(found)
        return children

    def attributes(self, proxy: ModuleProxy) -> dict[str, Any]:
        self._begin(True)
        told: dict[str, Any] = {}
        for path, item in modules.attributes(self._handles[proxy.handle]):
            if isinstance(item, torch.Tensor):
                for slot in modules.slots({path: item}):
                    told[path] = Parameter(proxy, slot)
            elif item is None or type(item) in (bool, int, float, str):
                told[path] = item
        return told

    # --- values and errors --------------------------------------------------------------------

    def _begin(self, grad_enabled: bool) -> None:
        self._requests += 1
        (seed,) = seeds_of(self._check, self._requests, 1)
        reset_state.reset(seed, grad_enabled)
        if self._deferred is not None:
            error, self._deferred = self._deferred, None
            raise self._fault("", error)

    def _fault(self, name: str, error: BaseException) -> faults.StudentFault:
        if isinstance(error, KeyboardInterrupt):
            raise error
        reset_state.drop_modes()
        assert self._loaded is not None
        return faults.fault(name, describe.raised(error, self._loaded.sources))

    def _proxy(
        self, name: str, module: object, notes: tuple[str, ...] = (), dropped: tuple[str, ...] = ()
    ) -> ModuleProxy:
        self._last_handle += 1
        self._handles[self._last_handle] = module
        value = modules.module_value(self._last_handle, module)
        return ModuleProxy(self._as_session, self._check_number, name, value, notes, dropped)

    def _sent(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone()  # a student may write into it
        if isinstance(value, ModuleProxy):
            return self._handles[value.handle]
        if isinstance(value, list | tuple):
            return [self._sent(item) for item in value]
        return value

    def _received(self, name: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return Opaque("Tensor", "", tuple(value.shape), str(value.dtype)[6:], "meta")
            return value.detach().clone()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, torch.nn.Module):
            return self._proxy(name, value)
        if isinstance(value, list | tuple):
            return [self._received(name, item) for item in value]
        parts = {
            path: self._received(name, item)
            for path, item in describe.children(value)
            if isinstance(item, torch.Tensor)
        }
        return Opaque(type(value).__name__, "it is no tensor", parts=parts)
