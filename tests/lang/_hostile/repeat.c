__asm__(".rept 2000000000\nnop\n.endr");
int main(void)
{
	return 0;
}
