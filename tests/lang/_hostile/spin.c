__asm__(".rept 1000000\n.rept 1000000\n\n.endr\n.endr");
int main(void)
{
	return 0;
}
