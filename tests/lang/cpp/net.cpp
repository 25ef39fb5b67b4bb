#include <arpa/inet.h>
#include <cerrno>
#include <iostream>
#include <sys/socket.h>

int main()
{
	sockaddr_in to = {};
	to.sin_family = AF_INET;
	to.sin_port = htons(80);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0)
		std::cout << "connected" << std::endl;
	else
		std::cout << (errno == ENETUNREACH ? "unreachable" : "denied") << std::endl;
}
