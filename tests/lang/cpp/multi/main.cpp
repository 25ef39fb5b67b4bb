#include "name.hpp"
#include "shape.hpp"

#include <iostream>

int main()
{
	std::cout << name() << ' ' << shape::Rectangle(6, 7).area() * one() << '\n';
}
