#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(x))))
int main(void)
{
	return 0 B(B(B(+1)));
}
