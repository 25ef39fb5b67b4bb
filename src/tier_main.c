/* A program of nothing but one tier, see meson.build: it is linked, and never run. */
int main(void)
{
	return 0;
}
