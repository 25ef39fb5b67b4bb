char block[1L << 40];
int main(int argc, char **argv)
{
	return block[argc * 4096L];
}
