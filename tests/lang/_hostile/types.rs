struct Pair<A, B>(A, B);
fn again<A: Copy, B: Copy>(n: u32, a: &A, b: &B) {
    if n > 0 {
        again(n - 1, &(*a, *b), &(*b, *a));
    }
}
fn main() {
    again(100, &1, &'x');
    let _ = Pair(1, 2);
}
