#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

int main()
{
	std::error_code root, home;
	bool shadow = std::ifstream("/etc/shadow").good(), usr = std::ofstream("/usr/x").good();

	std::filesystem::directory_iterator("/root", root);
	std::filesystem::directory_iterator("/home", home);
	if (shadow || usr || !root || !home) {
		std::cout << "reached: " << shadow << usr << !root << !home << '\n';
		return 1;
	}
	std::cout << "host is out of reach\n";
}
