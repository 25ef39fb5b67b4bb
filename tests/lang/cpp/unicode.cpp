#include <algorithm>
#include <iostream>
#include <string>

int main()
{
	const std::string line = "héllo wörld ✓ 日本語 🎉";

	std::cout << line << '\n'
		  << std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; })
		  << '\n';
}
