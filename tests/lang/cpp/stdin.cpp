#include <cctype>
#include <iostream>
#include <iterator>
#include <string>

int main()
{
	std::string text(std::istreambuf_iterator<char>(std::cin), {});

	for (char &c : text)
		c = std::toupper(static_cast<unsigned char>(c));
	std::cout << text;
}
