#!/bin/sh
# One TypeScript program into one ES module.
#
#   compile.sh check|build TSC ESBUILD PREPARED ENTRY    leaves /sandbox/output/main.mjs
#
# tsc checks while esbuild builds; only tsc's report counts if both have one.

how=$1 tsc=$2 esbuild=$3 prepared=$4 entry=$5
code=/sandbox/code
work=/sandbox/temp/emberbox
mkdir -p $work || exit 1

case $entry in
*\\* | *[[:cntrl:]]*)
	echo "error: a TypeScript file's name can have no backslash and no control character in it" >&2
	exit 1
	;;
esac

# Both tools know a language by the file's extension.
case $entry in
*.ts | *.tsx | *.mts | *.cts | *.js | *.jsx | *.mjs | *.cjs) ;;
*)
	cp "$entry" "$entry.ts" || exit 1
	entry=$entry.ts
	;;
esac

# A path as it stands in JavaScript and JSON.
quote() {
	case $1 in
	*\"*) printf '%s' "$1" | sed 's/"/\\&/g' ;;
	*) printf '%s' "$1" ;;
	esac
}
quoted=$(quote "$entry")

# esbuild has a meaning for these in a name that it is given; it follows links.
first=$entry
case $entry in
*[=*]*)
	first=$work/first.${entry##*.}
	ln -sf "$entry" "$first" || exit 1
	;;
esac

# What a module of its own would have, though the artifact lies elsewhere. Properties of the global object, because a
# program may well declare __dirname or require itself.
banner='import{createRequire as __emberbox_require}from"node:module";'
banner=$banner'import{pathToFileURL as __emberbox_url}from"node:url";'
banner=$banner'{const file="'$quoted'",directory=file.slice(0,file.lastIndexOf("/")),'
banner=$banner'set=(name,value)=>Object.defineProperty(globalThis,name,{value,writable:true,configurable:true});'
banner=$banner'process.argv[1]=file;set("__filename",file);set("__dirname",directory);set("__emberbox_file",file);'
banner=$banner'set("__emberbox_directory",directory);set("__emberbox_href",__emberbox_url(file).href);'
banner=$banner'set("require",__emberbox_require(file));'

# `if (require.main === module)` in the code file is true.
main=
if grep -q 'require\.main' "$entry"; then
	banner=$banner'set("module",{exports:{},id:".",filename:file,loaded:false,children:[],paths:[]});'
	main=--define:require.main=module
fi
banner=$banner'}'

read -r target <"$prepared/target" || exit 1

build() {
	"$esbuild" "$first" --bundle --platform=node --format=esm --target="$target" \
		--outfile=/sandbox/output/main.mjs --sourcemap=inline --banner:js="$banner" \
		--define:import.meta.url=__emberbox_href --define:import.meta.filename=__emberbox_file \
		--define:import.meta.dirname=__emberbox_directory $main \
		--charset=utf8 --log-level=error --color=false
}

if [ "$how" = build ]; then
	build
	exit
fi

# The program's tsconfig.json, the nearest, comes between the defaults and what is not up to it.
own=
place=${entry%/*}
while [ "$place" != "${code%/*}" ]; do
	if [ -f "$place/tsconfig.json" ]; then
		own='"'$(quote "$place/tsconfig.json")'", '
		break
	fi
	place=${place%/*}
done
cat >$work/tsconfig.json <<END
{
	"extends": ["$prepared/defaults.json", $own"$prepared/fixed.json"],
	"files": ["$quoted"],
	"include": ["$code/**/*.d.ts"],
	"exclude": ["$code/**/node_modules"]
}
END

build 2>$work/errors &
"$tsc" -p $work/tsconfig.json >$work/report 2>&1
checked=$?
wait $!
built=$?

# tsc does not say that an error is one of the settings, if it was not made while it read them.
if [ -n "$own" ] && grep -q '^error TS' $work/report; then
	settings=$(printf '%s' "${place#"$code"}/tsconfig.json" | sed 's|^/||; s/[|&]/\\&/g')
	sed "s|^error TS|$settings: &|" $work/report >&2
elif [ -s $work/report ]; then
	cat $work/report >&2
fi

# With nothing to write tsc ends with 1; 2 is what it says when it wrote the program all the same, as callers know it.
if [ $checked -eq 1 ]; then
	exit 2
elif [ $checked -ne 0 ]; then
	exit $checked
elif [ $built -ne 0 ]; then
	cat $work/errors >&2
	exit $built
fi
