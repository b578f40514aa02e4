"""Small changes of a source, each of which could be a slip: the operators behind the mutants.

They are our own and not a mutation tool's, for two reasons (considered: mutmut 3.8, cosmic-ray
8.7). Both tools judge a mutant by the exit code of a test command, a process each; here a mutant is
a submission, judged by points, and one that keeps them all is compared with the solution. And they
lack the slips that matter with tensors: another axis, arguments or factors in another order, a
call left out, a slice not cut, one size instead of another. The common ones (arithmetic,
comparisons, constants, negation, arguments left out) are here too.

An operator takes a node and yields the nodes that may replace it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

Operator = Callable[[ast.AST], Iterator[ast.AST]]

#: What may replace an arithmetic operator.
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_COMMUTE = (ast.Add, ast.Mult)


def other_arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Plus for minus, times for divided by."""
    if isinstance(node, ast.BinOp):
        for kind in _ARITHMETIC.get(type(node.op), ()):
            yield ast.BinOp(node.left, kind(), node.right)


def exchanged_factors(node: ast.AST) -> Iterator[ast.AST]:
    """`b @ a` for `a @ b`."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, _COMMUTE):
        yield ast.BinOp(node.right, node.op, node.left)


def one_side_only(node: ast.AST) -> Iterator[ast.AST]:
    """`a` or `b` for `a + b`."""
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right


def other_comparison(node: ast.AST) -> Iterator[ast.AST]:
    """The boundary moved, or the comparison turned round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind in _COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [kind()], node.comparators)


def other_number(node: ast.AST) -> Iterator[ast.AST]:
    """One more, one less; another axis where it is one. Of a fraction: twice, half."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            yield _number(-inner.value + 1)
            yield _number(-inner.value - 1)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield _number(node.value + 1)
        yield _number(node.value - 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield _number(node.value + 1)
        if node.value:
            yield _number(node.value * 2)
            yield _number(node.value / 2)


def other_constant(node: ast.AST) -> Iterator[ast.AST]:
    """True for False, plus infinity for minus infinity."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and node.value == "-inf":
        yield ast.Constant("inf")
        yield ast.Constant("0.0")
        yield ast.Constant("-1.0")


def argument_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """A call with one argument less, positional or by name."""
    if not isinstance(node, ast.Call) or _raises_only(node):
        return
    for index in range(len(node.keywords)):
        rest = node.keywords[:index] + node.keywords[index + 1 :]
        yield ast.Call(node.func, node.args, rest)
    if len(node.args) > 1:
        for index in range(len(node.args)):
            yield ast.Call(node.func, node.args[:index] + node.args[index + 1 :], node.keywords)


def exchanged_arguments(node: ast.AST) -> Iterator[ast.AST]:
    """Two neighbouring arguments swapped, positional or by name."""
    if not isinstance(node, ast.Call):
        return
    for index in range(len(node.args) - 1):
        args = list(node.args)
        args[index], args[index + 1] = args[index + 1], args[index]
        yield ast.Call(node.func, args, node.keywords)
    for index in range(len(node.keywords) - 1):
        one, other = node.keywords[index], node.keywords[index + 1]
        keywords = list(node.keywords)
        keywords[index] = ast.keyword(one.arg, other.value)
        keywords[index + 1] = ast.keyword(other.arg, one.value)
        yield ast.Call(node.func, node.args, keywords)


def call_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """A call's argument for the call, or what a method was called on."""
    if not isinstance(node, ast.Call) or _raises_only(node):
        return
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield node.func.value
    if node.args:
        yield node.args[0]


def slice_not_cut(node: ast.AST) -> Iterator[ast.AST]:
    """The whole for a part; if there are several indices, one of them left out."""
    if isinstance(node, ast.Slice) and (node.lower or node.upper or node.step):
        yield ast.Slice()


def element_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """A tuple or list written out with one element less, or two of them exchanged."""
    if not isinstance(node, ast.Tuple | ast.List) or not isinstance(node.ctx, ast.Load):
        return
    if any(isinstance(each, ast.Slice) for each in node.elts):
        return
    for index in range(len(node.elts)):
        rest = node.elts[:index] + node.elts[index + 1 :]
        yield type(node)(elts=rest, ctx=ast.Load())
    for index in range(len(node.elts) - 1):
        elts = list(node.elts)
        elts[index], elts[index + 1] = elts[index + 1], elts[index]
        yield type(node)(elts=elts, ctx=ast.Load())


def condition_turned(node: ast.AST) -> Iterator[ast.AST]:
    """The other branch, or always this one."""
    if isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        yield ast.If(ast.Constant(True), node.body, node.orelse)


def nothing_returned(node: ast.AST) -> Iterator[ast.AST]:
    """None for the result."""
    if isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(ast.Constant(None))


#: Operators that look at a node alone.
OPERATORS: tuple[Operator, ...] = (
    other_arithmetic,
    exchanged_factors,
    one_side_only,
    other_comparison,
    other_number,
    other_constant,
    argument_left_out,
    exchanged_arguments,
    call_left_out,
    slice_not_cut,
    element_left_out,
    condition_turned,
    nothing_returned,
)


def other_attribute(exchanged: Mapping[str, Sequence[str]]) -> Operator:
    """One attribute for another that it is mistaken for: the key's layer for the query's."""

    def operator(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            for other in exchanged.get(node.attr, ()):
                yield ast.Attribute(node.value, other, node.ctx)

    return operator


def other_name(names: Sequence[str]) -> Operator:
    """One of a function's own names for another: the number of tokens for the number of heads."""

    def operator(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            place = names.index(node.id)
            other = names[(place + 1) % len(names)]
            if other != node.id:
                yield ast.Name(other, ast.Load())

    return operator


def statements_left_out(body: list[ast.stmt]) -> Iterator[tuple[int, list[ast.stmt]]]:
    """A block without one of its statements, with that statement's position; never empty."""
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Return) or _is_docstring(statement):
            continue  # nothing returned is an operator of its own
        rest = body[:index] + body[index + 1 :]
        yield index, rest or [ast.Pass()]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"torch", "nn"}


def _raises_only(call: ast.Call) -> bool:
    """Whether the call makes an exception, whose text does not matter."""
    return isinstance(call.func, ast.Name) and call.func.id.endswith("Error")


def _number(value: float) -> ast.expr:
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def duplicate(node: ast.AST) -> ast.AST:
    """A copy that shares nothing with the original."""
    return copy.deepcopy(node)
