#include "shape.h"

int area(int width, int height)
{
	return width * height;
}
