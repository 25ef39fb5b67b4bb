template <int N> struct deep { static const int value = deep<N + 1>::value; };
int main() { return deep<0>::value; }
