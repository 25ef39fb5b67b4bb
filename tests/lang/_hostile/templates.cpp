template <int N, class A, class B> struct wide { typename wide<N - 1, wide<N, A, B>, A>::type a; typename wide<N - 1, B, wide<N, B, A>>::type b; using type = wide; };
template <class A, class B> struct wide<0, A, B> { using type = int; };
wide<60, int, char> everything;
int main() {}
