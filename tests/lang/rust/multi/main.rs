mod name;
mod shape;

use shape::rectangle::Rectangle;

fn main() {
    println!("{} {}", name::name(), Rectangle { width: 6, height: 7 }.area());
}
