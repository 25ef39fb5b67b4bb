package shape

import "example.org/multi/shape/unit"

// Area of a rectangle.
func Area(width, height int) int {
	return width * height * unit.One
}
