#!/bin/sh
# Once for a Go toolchain: finds the compiled standard library, or compiles it (from Go 1.20 on none is shipped), and
# builds the driver that compiles programs. Leaves in /sandbox/output:
#
#	importcfg   where each package of the standard library is, in the form that the compiler and the linker read
#	pkg/        those packages, if they had to be compiled
#	toolchain   the directory of the compiler and the linker, and the language's version
#	gobuild     the driver
set -eu
go=$1
here=$(dirname "$0")
out=/sandbox/output

# CGO_ENABLED=0: there may be no C compiler, and what is compiled here has to do without one.
export CGO_ENABLED=0 GOCACHE=/tmp/cache GOPATH=/tmp/go GOENV=off GOFLAGS= GOTOOLCHAIN=local GO111MODULE=off
root=$("$go" env GOROOT)
tools=$("$go" env GOTOOLDIR)
version=$("$go" env GOVERSION)
echo "$tools ${version#go}" >"$out/toolchain"

# Without debugging information the packages are smaller; stack traces do not need it.
set -- -gcflags=all=-dwarf=false
shipped=$root/pkg/$("$go" env GOOS)_$("$go" env GOARCH)
if [ -f "$shipped/fmt.a" ]; then
	set --
	# cmd/ holds the toolchain's own packages, which no program can import.
	(cd "$shipped" && find . -name cmd -prune -o -name '*.a' -print) |
		sed "s|^\./\(.*\)\.a\$|packagefile \1=$shipped/\1.a|" >"$out/importcfg"
fi

cp "$here/gobuild.go" /tmp/gobuild.go
"$go" build "$@" -ldflags='-s -w' -o "$out/gobuild" /tmp/gobuild.go

if [ ! -f "$out/importcfg" ]; then
	"$go" list "$@" -export -f '{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}' std >/tmp/std
	mkdir "$out/pkg"
	number=0
	while read -r package file; do
		number=$((number + 1))
		mv "$file" "$out/pkg/$number.a"
		# gobuild puts the directory in: it has another name when programs are compiled.
		echo "packagefile $package=@/$number.a"
	done </tmp/std >"$out/importcfg"
fi
