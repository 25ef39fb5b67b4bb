constexpr unsigned long forever()
{
	unsigned long n = 0;
	while (true)
		n++;
	return n;
}
static_assert(forever() > 0);
int main() {}
