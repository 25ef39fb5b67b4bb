__asm__(".incbin \"/dev/zero\"");
int main(void)
{
	return 0;
}
