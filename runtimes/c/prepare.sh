#!/bin/sh
# Once for a C or C++ compiler:
#
#	prepare.sh c|c++ COMPILER     leaves in /sandbox/output
#
#	crash.o     what says where a program died
#	flags       for the compiler
#	plan        functions that do what the compiler's driver does: it starts other programs, always the same ones
#	iostream    C++: that header, and iostream.gch, the same compiled
#
# The driver says by itself what it would do (-###). A plan that does not make a program that runs is not kept:
# compile.sh does without.
set -eu
language=$1
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
out=/sandbox/output
cd /tmp

works() {
	echo 'int main(void){return 0;}' | "$compiler" -x "$language" "$@" -S - -o /dev/null 2>/dev/null
}

# -O1: near to -O2 in speed, but a fault stays a fault, in its line, and a loop without an end stays one.
flags='-O1 -g1'
if [ "$language" = c ]; then
	standards='gnu17 gnu11'
else
	standards='gnu++23 gnu++20 gnu++17'
	# Before GCC 14 the library's part of C++23 is not all there.
	case $("$compiler" -dumpversion) in
	[0-9] | [0-9].* | 1[0-3] | 1[0-3].*) standards='gnu++20 gnu++17' ;;
	esac
fi
for standard in $standards; do
	if works -std=$standard; then
		flags="-std=$standard $flags"
		break
	fi
done
# What surely uses a null pointer is left as a fault in its place: without, GCC gives `return *p;` the line of the brace.
works -fisolate-erroneous-paths-dereference && flags="$flags -fisolate-erroneous-paths-dereference"
# Line tables of version 4 are read by every addr2line; columns are not shown.
works -gdwarf-4 -gno-column-info && flags="$flags -gdwarf-4 -gno-column-info"
# A tab is one column, as editors and our own changes count it.
works -fdiagnostics-column-unit=byte && flags="$flags -fdiagnostics-column-unit=byte"
# A program that writes past the end of an array is to be told so.
works -fstack-protector-strong && flags="$flags -fstack-protector-strong"
[ "$language" = c ] || flags="$flags -D_GLIBCXX_ASSERTIONS"
echo "$flags" >"$out/flags"

# No -g: it is not to be told of itself. With it goes what looks for callers, of the compiler's own library, which C
# programs are not linked with; no name of all that is the program's to see, or to replace.
object=$out/crash.o
if ! {
	"$compiler" -x c -O1 -c "$here/crash.c" -o one.o &&
		"$compiler" -r -nostdlib one.o -lgcc_eh -o all.o &&
		objcopy --keep-global-symbol=none all.o "$object" &&
		echo 'int main(){return 7;}' | "$compiler" -x c - -x none "$object" -o test &&
		{ ./test || [ $? = 7 ]; }
} 2>/dev/null; then
	rm -f "$object"
	object=
fi

if [ "$language" = c++ ]; then
	echo '#include <iostream>' >"$out/iostream"
	"$compiler" -x c++-header $flags "$out/iostream" -o "$out/iostream.gch" 2>/dev/null || rm -f "$out/iostream.gch"
fi

# The file behind -lNAME. Given by its path no directory has to be searched, which gold does by reading all of it.
library() {
	case $1 in
	gcc) file=libgcc.a ;;
	gcc_s) file=libgcc_s.so.1 ;;
	*) file=lib$1.so ;;
	esac
	"$compiler" -print-file-name=$file
}

# One command of the driver's as the body of a function. "$@" stands for the file in.*; what names temporary files for
# the user is left out, and what is only for link-time optimisation.
command_of() {
	eval set -- "$1"
	skip=
	printf '\t%s' "${program:-$1}"
	shift
	for word; do
		if [ -n "$skip" ]; then
			skip=
			continue
		fi
		case $word in
		-dumpbase | -dumpbase-ext | -dumpdir | -plugin) skip=1 ;;
		-plugin-opt=* | --build-id | -L*) ;;
		in.c | in.o) printf ' "$@"' ;;
		-lgcc_s)
			# C programs hardly ever need it; compile.sh tries the driver when one does.
			[ "$language" = c ] || printf " '%s'" "$(library gcc_s)"
			;;
		-l*) printf " '%s'" "$(library "${word#-l}")" ;;
		*) printf " '%s'" "$word" ;;
		esac
	done
	echo
}

# The driver prints commands with a space before them.
plan() {
	program=
	compile=$("$compiler" -### -x "$language" -pipe $flags -c in.c -o @object@ 2>&1 | sed -n '/^ .*\/cc1/s/ |$//p')
	assemble=$("$compiler" -### -x "$language" -pipe $flags -c in.c -o @object@ 2>&1 | grep '^ .*as .*@object@')
	link=$("$compiler" -### in.o -o @program@ 2>&1 | grep '^ .*@program@')
	[ -n "$compile" ] && [ -n "$assemble" ] && [ -n "$link" ] || return 1
	echo "libm='$(library m)'"
	echo "translate() {"
	command_of "$compile"
	echo "}"
	echo "assemble() {"
	command_of "$assemble" | sed "s/'@object@'/\"\$1\"/; s/^\t/\texec /"
	echo "}"
	program=$*
	echo "join() {"
	command_of "$link" | sed "s|'@program@'|/sandbox/output/main|"
	echo "}"
}

cat >test.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
	printf("%d %.3f\n", count, sqrt(atof(words[1])));
	return 7;
}
END

try() {
	. "$1"
	translate test.c | assemble test.o && join test.o $object "$libm" || return 1
	result=0
	text=$("$out/main" 2) || result=$?
	rm -f "$out/main"
	[ "$result $text" = "7 2 1.414" ]
}

# gold is faster than ld, where there is one; more so when it does not map the whole of the libraries.
for linker in '/usr/bin/ld.gold --no-map-whole-files' /usr/bin/ld.gold /usr/bin/ld; do
	if [ -x "${linker%% *}" ] && plan "$linker" >plan && (try ./plan) 2>/dev/null; then
		cp plan "$out/plan"
		break
	fi
done
