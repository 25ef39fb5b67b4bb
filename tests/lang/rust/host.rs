use std::fs;

fn main() {
    let reached = [
        fs::read("/etc/shadow").is_ok(),
        fs::read_dir("/root").is_ok(),
        fs::read_dir("/home").is_ok(),
        fs::write("/usr/x", "x").is_ok(),
    ];
    if reached.contains(&true) {
        println!("reached: {:?}", reached);
        std::process::exit(1);
    }
    println!("host is out of reach");
}
