fn main() {
    let numbers = [1, 2, 3];
    println!("{:?}", numbers;
}
