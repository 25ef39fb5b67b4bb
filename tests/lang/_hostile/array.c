char block[1L << 40] = { 1 };
int main(void)
{
	return block[1L << 39];
}
