#include <vector>

int main()
{
	std::vector<std::vector<char>> kept;

	for (;;)
		kept.emplace_back(1 << 20, 1);
}
