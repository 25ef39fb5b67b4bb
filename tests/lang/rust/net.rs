use std::net::TcpStream;
use std::time::Duration;

fn main() {
    let to = "192.0.2.1:80".parse().unwrap();
    match TcpStream::connect_timeout(&to, Duration::from_secs(5)) {
        Ok(_) => println!("connected"),
        // 101 is ENETUNREACH; its ErrorKind is newer than some compilers.
        Err(e) if e.raw_os_error() == Some(101) => println!("unreachable"),
        Err(_) => println!("denied"),
    }
}
