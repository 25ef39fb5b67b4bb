#include <stdio.h>
#include <string.h>

int main(void)
{
	char text[256] = "";
	FILE *in = fopen("data/in.txt", "r"), *out = fopen("/sandbox/output/out.txt", "w");

	if (!in || !out || !fgets(text, sizeof(text), in))
		return 1;
	for (size_t i = strcspn(text, "\n"); i-- > 0;)
		fputc(text[i], out);
	return fclose(out) != 0;
}
