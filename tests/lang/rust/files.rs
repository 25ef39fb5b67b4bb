use std::fs;

fn main() -> std::io::Result<()> {
    let text = fs::read_to_string("data/in.txt")?;
    let reversed: String = text.trim_end().chars().rev().collect();
    fs::write("/sandbox/output/out.txt", reversed)
}
