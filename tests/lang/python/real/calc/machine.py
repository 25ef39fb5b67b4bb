import math
import operator
from fractions import Fraction

from .compiler import Function
from .errors import CalcError

DEPTH_MAX = 64
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def power(base, exponent):
    if exponent.denominator != 1 or abs(exponent) > 1000:
        raise ValueError("only small whole powers")
    return base**exponent


BUILTINS = {
    "abs": (1, abs),
    "gcd": (2, lambda a, b: Fraction(math.gcd(int(a), int(b)))),
    "max": (2, max),
    "floor": (1, lambda a: Fraction(math.floor(a))),
}


class Machine:
    def __init__(self):
        self.globals = {}
        self.functions = {}
        self.steps = 0

    def run(self, code, local=None, depth=0):
        stack, at = [], 0
        while at < len(code.ops):
            op = code.ops[at]
            self.steps += 1
            at += 1
            if op.name == "jump":
                at = op.value
            elif op.name == "unless":
                at = at if stack.pop() else op.value
            else:
                getattr(self, "op_" + op.name)(op, stack, local or {}, depth)
        return stack.pop()

    def op_push(self, op, stack, local, depth):
        stack.append(op.value)

    def op_load(self, op, stack, local, depth):
        for scope in (local, self.globals):
            if op.value in scope:
                stack.append(scope[op.value])
                return
        raise CalcError(f"{op.value} has no value", op.column)

    def op_store(self, op, stack, local, depth):
        self.globals[op.value] = stack[-1]

    def op_define(self, op, stack, local, depth):
        self.functions[op.value.name] = op.value
        stack.append(op.value)

    def op_negate(self, op, stack, local, depth):
        stack.append(-stack.pop())

    def op_binary(self, op, stack, local, depth):
        right, left = stack.pop(), stack.pop()
        try:
            stack.append(Fraction((BINARY.get(op.value) or power)(left, right)))
        except ZeroDivisionError:
            raise CalcError("cannot divide by zero", op.column) from None
        except (TypeError, ValueError) as error:
            raise CalcError(str(error), op.column) from None

    def op_call(self, op, stack, local, depth):
        name, count = op.value
        arguments = [stack.pop() for _ in range(count)][::-1]
        function = self.functions.get(name)
        wanted = len(function.parameters) if function else BUILTINS.get(name, (None,))[0]
        if wanted is None:
            raise CalcError(f"there is no function {name}", op.column)
        if wanted != count:
            raise CalcError(f"{name} takes {wanted} and not {count}", op.column)
        if depth == DEPTH_MAX:
            raise CalcError(f"{name} is called too deep", op.column)
        if function:
            stack.append(self.run(function.code, dict(zip(function.parameters, arguments)), depth + 1))
        else:
            stack.append(BUILTINS[name][1](*arguments))

    @staticmethod
    def show(value):
        if isinstance(value, Function):
            return str(value)
        if value.denominator == 1:
            return str(value.numerator)
        return f"{value} ({float(value):.6g})"
