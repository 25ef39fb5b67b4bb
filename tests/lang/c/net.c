#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		puts("connected");
	else
		puts(errno == ENETUNREACH ? "unreachable" : "denied");
}
