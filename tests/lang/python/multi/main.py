import numbers_of
from shapes import area
from shapes.deep.unit import UNIT

print("multi", area(numbers_of.WIDTH, numbers_of.HEIGHT) * UNIT)
