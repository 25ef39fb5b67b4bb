from dataclasses import dataclass, field


@dataclass
class Node:
    column: int = field(kw_only=True, default=0)


@dataclass
class Number(Node):
    value: object


@dataclass
class Name(Node):
    name: str


@dataclass
class Unary(Node):
    operator: str
    operand: Node


@dataclass
class Binary(Node):
    operator: str
    left: Node
    right: Node


@dataclass
class Choice(Node):
    condition: Node
    then: Node
    otherwise: Node


@dataclass
class Call(Node):
    name: str
    arguments: list


@dataclass
class Assign(Node):
    name: str
    value: Node


@dataclass
class Define(Node):
    name: str
    parameters: list
    body: Node
