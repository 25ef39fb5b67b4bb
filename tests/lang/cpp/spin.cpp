int main()
{
	for (;;)
		;
}
