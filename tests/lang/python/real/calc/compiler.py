from typing import NamedTuple

from . import nodes
from .parser import Parser


class Op(NamedTuple):
    name: str
    value: object
    column: int

    def __str__(self):
        return self.name if self.value is None else f"{self.name} {self.value}"


class Code:
    """What the machine runs: a list of operations; jumps are to indexes in it."""

    def __init__(self):
        self.ops = []

    def emit(self, name, value=None, column=0):
        self.ops.append(Op(name, value, column))
        return len(self.ops) - 1

    def patch(self, index):
        self.ops[index] = self.ops[index]._replace(value=len(self.ops))

    def listing(self):
        return [f"{index:02} {op}" for index, op in enumerate(self.ops)]


class Function(NamedTuple):
    name: str
    parameters: tuple
    code: Code

    def __str__(self):
        return f"{self.name}({', '.join(self.parameters)})"


def generate(node, code):
    match node:
        case nodes.Number(value):
            code.emit("push", value, node.column)
        case nodes.Name(name):
            code.emit("load", name, node.column)
        case nodes.Unary(_, operand):
            generate(operand, code)
            code.emit("negate", None, node.column)
        case nodes.Binary(operator, left, right):
            generate(left, code)
            generate(right, code)
            code.emit("binary", operator, node.column)
        case nodes.Choice(condition, then, otherwise):
            generate(condition, code)
            to_else = code.emit("unless", None, node.column)
            generate(then, code)
            to_end = code.emit("jump", None, node.column)
            code.patch(to_else)
            generate(otherwise, code)
            code.patch(to_end)
        case nodes.Call(name, arguments):
            for argument in arguments:
                generate(argument, code)
            code.emit("call", (name, len(arguments)), node.column)
        case nodes.Assign(name, value):
            generate(value, code)
            code.emit("store", name, node.column)
        case nodes.Define(name, parameters, body):
            inner = Code()
            generate(body, inner)
            code.emit("define", Function(name, tuple(parameters), inner), node.column)


def compile_source(source):
    code = Code()
    generate(Parser(source).statement(), code)
    return code
