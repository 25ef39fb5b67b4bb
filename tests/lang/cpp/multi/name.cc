#include "name.hpp"

std::string name()
{
	return "multi";
}
