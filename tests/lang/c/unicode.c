#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static const char line[] = "héllo wörld ✓ 日本語 🎉";

	setlocale(LC_ALL, "");
	puts(line);
	printf("%zu\n", mbstowcs(NULL, line, 0));
}
