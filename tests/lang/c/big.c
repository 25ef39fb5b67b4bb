#include <stdio.h>
#include <string.h>

int main(void)
{
	static char block[1 << 20];

	memset(block, 'x', sizeof(block));
	fwrite(block, 1, sizeof(block), stdout);
}
