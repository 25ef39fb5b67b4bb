#include <algorithm>
#include <fstream>
#include <string>

int main()
{
	std::ifstream in("data/in.txt");
	std::ofstream out("/sandbox/output/out.txt");
	std::string text;

	if (!in || !out || !std::getline(in, text))
		return 1;
	std::reverse(text.begin(), text.end());
	out << text;
}
