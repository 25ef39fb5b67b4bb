static BLOCK: [u8; 1 << 36] = [1; 1 << 36];
fn main() {
    println!("{}", BLOCK[std::env::args().count()]);
}
