fn main() {
    let line = "héllo wörld ✓ 日本語 🎉";
    println!("{}", line);
    println!("{}", line.chars().count());
}
