#!/bin/sh
# A C or C++ program from all its files:
#
#	compile.sh c|c++ COMPILER PREPARED ENTRY     leaves /sandbox/output/main
#
# The compiler's driver is left out where prepare.sh found out what it does.
language=$1 compiler=$2 prepared=$3 entry=$4
out=/sandbox/output/main

read -r flags <"$prepared/flags"
crash=$prepared/crash.o
[ -f "$crash" ] || crash=
if [ -f "$prepared/plan" ]; then
	. "$prepared/plan"
	planned=1
else
	planned=
fi

# Words for the preprocessor: headers of the program are found by their name wherever they are.
includes='-iquote . -idirafter .'
headers() {
	[ ! -d include ] || includes="$includes -I include"
	# Names with spaces are not looked for: they would be several words. Nor are those that stand for others.
	for directory in $(find . -mindepth 2 -type f \( -name '*.h' -o -name '*.h[px+h]*' -o -name '*.in[cl]' -o -name '*.[it]pp' \
		-o -name '*.def' \) ! -path '*[][:space:]*?[]*' -printf '%h\n' | sort -u); do
		includes="$includes -iquote $directory"
	done
}

# The header that is compiled already, if the program begins with includes and it is one of them: their order is free.
ready() {
	[ "$language" = c++ ] && [ -f "$prepared/iostream.gch" ] || return
	comment=
	while read -r line; do
		case $comment$line in
		'#include <iostream>'* | '#include<iostream>'*)
			header="-include $prepared/iostream"
			return
			;;
		'#include <'* | '#include<'* | '//'* | '/*'*'*/' | '') ;;
		'/*'*'*/'*) return ;;
		# A comment of several lines: each is read as if it began there.
		'/*'*) comment='/*' ;;
		*) return ;;
		esac
		case $line in *'*/') comment= ;; esac
	done <"$1"
}

# One file into an object.
object() {
	header=
	# What begins so would be an option, or a file of options.
	case $1 in
	[-@]*) set -- "./$1" "$2" ;;
	esac
	ready "$1"
	case $language/$1 in
	c++/*.c)
		# C within a C++ program: of the flags the one for the standard is not for it.
		"$compiler" -x c ${flags#-std=* } $includes -c "$1" -o "$2"
		return
		;;
	esac
	if [ -z "$planned" ]; then
		"$compiler" -x "$language" $flags $header $includes -c "$1" -o "$2"
		return
	fi
	{ translate $header $includes "$1" || echo $? >"$2.failed"; } | assemble "$2" || return
	[ -f "$2.failed" ] || return 0
	read -r code <"$2.failed"
	[ "$code" -lt 128 ] || echo "$language compiler: killed by signal $((code - 128))" >&2
	return 1
}

# Whether a file beside the entry is no part of the program: one of its own, or text that another file includes.
apart() {
	name=${1##*/}
	grep -Eq '^[[:space:]]*((int|void|auto)[[:space:]]+)?main[[:space:]]*\(' "./$1" ||
		grep -Fq -e "\"$name\"" -e "/$name\"" -e "<$name>" -e "/$name>" /tmp/included
}

link() {
	[ -z "$planned" ] || join "$@" $crash 2>/dev/null || join "$@" $crash "$libm" 2>/dev/null || rm -f $out
	[ -x $out ] || "$compiler" "$@" $crash -o $out -pthread -lm
}

# The common case, without starting anything that is not needed.
alone=1
for file in *; do
	case $file in
	"$entry") ;;
	*.c | *.cc | *.cpp | *.cxx | *.c++ | *.C) alone= ;;
	*) [ ! -d "$file" ] || alone= ;;
	esac
done
if [ -n "$alone" ]; then
	object "$entry" /tmp/0.o || exit 1
	link /tmp/0.o
	exit
fi

headers
grep -Ehr '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' . >/tmp/included
number=0 failed= objects= jobs=

# Two at a time: there are no more cores.
start() {
	object "$1" /tmp/$number.o 2>/tmp/$number.text &
	jobs="$jobs $!"
	objects="$objects /tmp/$number.o"
	number=$((number + 1))
	[ $((number % 2)) = 1 ] || finish
}

finish() {
	for job in $jobs; do
		wait $job || failed=1
	done
	jobs=
}

# By the shell's own patterns, which are not troubled by any name. What begins with a dot is meant to be left out.
all_in() {
	for file in "$1"*; do
		if [ -d "$file" ] && [ ! -L "$file" ]; then
			all_in "$file/"
			continue
		fi
		case $language/$file in
		"$language/$entry") continue ;;
		*.c | c++/*.cc | c++/*.cpp | c++/*.cxx | c++/*.c++ | c++/*.C) ;;
		*) continue ;;
		esac
		[ ! -f "./$file" ] || apart "$file" || start "$file"
	done
}

start "$entry"
all_in ''
finish
for object in $objects; do
	cat "${object%.o}.text" >&2
done
[ -z "$failed" ] || exit 1
link $objects
