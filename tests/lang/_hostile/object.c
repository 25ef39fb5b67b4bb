__asm__(".data\n.fill 0x40000000, 1, 0x41\n.text");
int main(void)
{
	return 0;
}
