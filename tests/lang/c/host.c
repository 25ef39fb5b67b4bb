#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

int main(void)
{
	int shadow = open("/etc/shadow", O_RDONLY), usr = open("/usr/x", O_WRONLY | O_CREAT, 0600);
	DIR *root = opendir("/root"), *home = opendir("/home");

	if (shadow >= 0 || usr >= 0 || root || home) {
		printf("reached: %d %d %d %d\n", shadow >= 0, !!root, !!home, usr >= 0);
		return 1;
	}
	puts("host is out of reach");
}
