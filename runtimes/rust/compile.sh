#!/bin/sh
# A Rust program from the file it begins with:
#
#	compile.sh RUSTC CC PREPARED ENTRY     leaves /sandbox/output/main
#
# There is no cargo: of a Cargo.toml only the name and the edition count, and src/lib.rs is the program's own library.
rustc=$1 cc=$2 prepared=$3 entry=$4
read -r flags <"$prepared/flags"
# What begins so would be an option, or a file of options.
case $entry in
[-@]*) entry=./$entry ;;
esac

edition=2021
name=
directory=$(dirname "./$entry")
for place in "$directory" "$directory/.."; do
	if [ -f "$place/Cargo.toml" ]; then
		found=$(sed -n 's/^ *edition *= *"\([0-9]*\)".*/\1/p' "$place/Cargo.toml")
		edition=${found:-$edition}
		name=$(sed -n '/^ *\[package\]/,/^ *\[[^p]/s/^ *name *= *"\([^"]*\)".*/\1/p' "$place/Cargo.toml" | tr - _)
		break
	fi
done

# debug-assertions: arithmetic that overflows panics, as it does for whoever has not asked for a release.
set -- --edition "$edition" -C opt-level=1 -C debug-assertions=yes -C debuginfo=1 -C codegen-units=1 -C linker="$cc" $flags

build() {
	"$rustc" "$@" 2>/tmp/messages
	result=$?
	cat /tmp/messages >&2
	[ $result = 0 ] && return
	# Error codes: an import, a path, or a crate that cannot be resolved.
	crate=$(sed -n 's/.*maybe a missing crate `\([^`]*\)`.*/\1/p; s/.*use of undeclared crate or module `\([^`]*\)`.*/\1/p
		s/.*use of unresolved module or unlinked crate `\([^`]*\)`.*/\1/p; s/.*unresolved import `\([^`:]*\).*/\1/p
		s/.*can.t find crate for `\([^`]*\)`.*/\1/p' /tmp/messages | sed '/^\(crate\|self\|super\|std\|core\|alloc\)$/d;q')
	[ -z "$crate" ] ||
		echo "note: there are no crates but the standard library: a box has no network to fetch \`$crate\` from" >&2
	exit 1
}

library=$directory/lib.rs
case ${library#./} in
[-@]*) ;;
*) library=${library#./} ;;
esac
if [ -n "$name" ] && [ -f "$library" ] && ! [ "$library" -ef "$entry" ]; then
	build "$@" --crate-type rlib --crate-name "$name" "$library" -o "/tmp/lib$name.rlib"
	set -- "$@" --extern "$name=/tmp/lib$name.rlib"
fi
build "$@" --crate-name main --crate-type bin "$entry" -o /sandbox/output/main
