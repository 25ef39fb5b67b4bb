int one(void)
{
	int class = 1; /* a name that only C has */

	return class;
}
