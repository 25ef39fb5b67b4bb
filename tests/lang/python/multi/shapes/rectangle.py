from .deep.unit import UNIT


def area(width, height):
    return width * height * UNIT
