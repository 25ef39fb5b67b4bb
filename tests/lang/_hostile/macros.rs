macro_rules! more {
    ($($x:tt)*) => { more!($($x)* $($x)* ; $($x)*) };
}
fn main() {
    more!(a b c);
}
