/* A program of its own: it is no part of the one that main.c begins. */
int main(void)
{
	return 1;
}
