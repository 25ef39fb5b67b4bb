#include "shape.hpp"

namespace shape
{
Rectangle::Rectangle(int width, int height) : width(width), height(height)
{
}

int Rectangle::area() const
{
	return width * height;
}
} // namespace shape
