use std::collections::BTreeMap;

fn main() {
    let sizes: BTreeMap<&str, u32> = BTreeMap::new();
    println!("{}", sizes["nothing"]);
}
