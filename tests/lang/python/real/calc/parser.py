from fractions import Fraction

from . import nodes
from .errors import CalcError
from .lexer import tokenize

# Operators by how tightly they bind; ** is the only one that binds to the right.
LEVELS = {"==": 1, "!=": 1, "<": 2, ">": 2, "<=": 2, ">=": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4, "**": 6}
UNARY = 5


class Parser:
    def __init__(self, source):
        self.tokens = list(tokenize(source))
        self.at = 0

    @property
    def token(self):
        return self.tokens[self.at]

    def take(self, text=None):
        token = self.token
        if text is not None and token.text != text:
            raise CalcError(f"expected {text!r}, not {token.text!r}" if token.text else f"expected {text!r}", token.column)
        self.at += 1
        return token

    def statement(self):
        node = self.expression()
        if self.token.text == "=":
            equals = self.take()
            node = self.assignment(node, equals, self.expression())
        if self.token.kind != "end":
            raise CalcError(f"did not expect {self.token.text!r}", self.token.column)
        return node

    def assignment(self, target, equals, value):
        if isinstance(target, nodes.Name):
            return nodes.Assign(target.name, value, column=target.column)
        if isinstance(target, nodes.Call) and all(isinstance(a, nodes.Name) for a in target.arguments):
            return nodes.Define(target.name, [a.name for a in target.arguments], value, column=target.column)
        raise CalcError("cannot assign to that", equals.column)

    def expression(self):
        condition = self.binary(1)
        if self.token.text != "?":
            return condition
        column = self.take().column
        then = self.expression()
        self.take(":")
        return nodes.Choice(condition, then, self.expression(), column=column)

    def binary(self, level):
        left = self.unary()
        while LEVELS.get(self.token.text, 0) >= level:
            operator = self.take()
            tight = LEVELS[operator.text]
            right = self.binary(tight if operator.text == "**" else tight + 1)
            left = nodes.Binary(operator.text, left, right, column=operator.column)
        return left

    def unary(self):
        if self.token.text == "-":
            column = self.take().column
            return nodes.Unary("-", self.binary(UNARY), column=column)
        return self.primary()

    def primary(self):
        token = self.take()
        if token.kind == "number":
            return nodes.Number(Fraction(token.text), column=token.column)
        if token.kind == "name":
            if self.token.text == "(":
                return nodes.Call(token.text, self.arguments(), column=token.column)
            return nodes.Name(token.text, column=token.column)
        if token.text == "(":
            node = self.expression()
            self.take(")")
            return node
        raise CalcError(f"did not expect {token.text!r}" if token.text else "there is something missing", token.column)

    def arguments(self):
        found = []
        self.take("(")
        while self.token.text != ")":
            if found:
                self.take(",")
            found.append(self.expression())
        self.take(")")
        return found
