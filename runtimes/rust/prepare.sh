#!/bin/sh
# Once for a Rust compiler: finds out what makes it fast here.
#
#	prepare.sh RUSTC CC     leaves /sandbox/output/flags
#
# Most of the time goes into copying the standard library into the program. So it is linked dynamically if the library
# is where the loader finds it, and by gold, if there is one. What does not make a program that runs is not used.
set -eu
rustc=$1
cc=$2
cd /tmp

cat >test.rs <<'END'
use std::collections::HashMap;
fn main() {
    let mut sizes = HashMap::new();
    for word in std::env::args().skip(1) {
        *sizes.entry(word.len()).or_insert(0) += 1;
    }
    std::thread::spawn(move || println!("{:?}", sizes)).join().unwrap();
    std::panic::catch_unwind(|| panic!("x")).unwrap_err();
}
END

for flags in '-C prefer-dynamic -C link-arg=-fuse-ld=gold' '-C prefer-dynamic' '-C link-arg=-fuse-ld=gold' ''; do
	if "$rustc" --edition 2021 -C linker="$cc" $flags -o test test.rs && [ "$(./test ab)" = '{2: 1}' ]; then
		echo "$flags" >/sandbox/output/flags
		exit
	fi
done 2>errors
cat errors >&2
exit 1
