__asm__(".altmacro\n.macro again\nnop\nagain\nagain\n.endm\nagain");
int main(void)
{
	return 0;
}
