#include "name.h"
#include "shape.h"

#include <stdio.h>

int main(void)
{
	printf("%s %d\n", name(), area(6, 7));
}
