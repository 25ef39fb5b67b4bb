#include <iostream>
#include <string>

int main()
{
	std::cout << std::string(1 << 20, 'x');
}
