//! A walk through the standard library; each part checks itself.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn files() {
    let dir = std::env::temp_dir().join("tour");
    let name = dir.join("note.txt");
    fs::create_dir_all(&dir).unwrap();
    File::create(&name).unwrap().write_all(b"one\ntwo\n").unwrap();
    let lines: Vec<String> = BufReader::new(File::open(&name).unwrap()).lines().map(|l| l.unwrap()).collect();
    assert_eq!(lines, ["one", "two"]);
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(File::open(&name).unwrap_err().kind(), ErrorKind::NotFound);
}

// There are no patterns in the standard library; strings can be searched and split by rules.
fn patterns() {
    let word = "write to ada@example.org".split_whitespace().find(|w| w.contains('@')).unwrap();
    let (name, host) = word.split_once('@').unwrap();
    assert_eq!((name, host.trim_end_matches(".org")), ("ada", "example"));
    assert_eq!("a1b22c".matches(char::is_numeric).count(), 3);
}

// There is no JSON either; a type that is written as JSON stands for it.
enum Value {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Null => write!(f, "null"),
            Value::Number(n) => write!(f, "{}", n),
            Value::Text(t) => write!(f, "{:?}", t),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|i| i.to_string()).collect();
                write!(f, "[{}]", items.join(","))
            }
            Value::Object(members) => {
                let members: Vec<String> = members.iter().map(|(k, v)| format!("{:?}:{}", k, v)).collect();
                write!(f, "{{{}}}", members.join(","))
            }
        }
    }
}

fn objects() {
    let mut object = BTreeMap::new();
    object.insert("name".to_string(), Value::Text("em\"ber".to_string()));
    object.insert("list".to_string(), Value::List(vec![Value::Number(1.0), Value::Number(2.5), Value::Null]));
    assert_eq!(Value::Object(object).to_string(), r#"{"list":[1,2.5,null],"name":"em\"ber"}"#);
}

// The day of a date, counted from 1970-01-01.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468
}

fn dates() {
    let leap = UNIX_EPOCH + Duration::from_secs(1_709_164_800);
    let days = leap.duration_since(UNIX_EPOCH).unwrap().as_secs() / 86400;
    assert_eq!(day_number(2024, 2, 29), days as i64);
    assert!(SystemTime::now() > leap);
}

fn threads() {
    let total = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let (sender, receiver) = mpsc::channel();
    let all: Vec<_> = (1..=8)
        .map(|n| {
            let (total, seen, sender) = (total.clone(), seen.clone(), sender.clone());
            thread::spawn(move || {
                total.fetch_add(n, Ordering::SeqCst);
                seen.lock().unwrap().insert(n);
                sender.send(n * n).unwrap();
            })
        })
        .collect();
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), 204);
    all.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!((total.load(Ordering::SeqCst), seen.lock().unwrap().len()), (36, 8));
}

fn processes() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through a pipe").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through a pipe");
}

fn sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello").unwrap());
    let mut text = String::new();
    TcpStream::connect(address).unwrap().read_to_string(&mut text).unwrap();
    server.join().unwrap();
    assert_eq!(text, "hello");
}

fn main() {
    files();
    patterns();
    objects();
    dates();
    threads();
    processes();
    sockets();
    println!("tour ok");
}
