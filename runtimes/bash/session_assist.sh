# Completion and description of words; part of __emberbox_next (session_cells.sh), which has read the request.
local before typed start matches match out found text

__emberbox_quote() {
	local plain=$1 LC_ALL=C
	plain=${plain//\\/\\\\}
	plain=${plain//\"/\\\"}
	plain=${plain//$'\n'/\\n}
	plain=${plain//$'\t'/\\t}
	plain=${plain//[$'\x01'-$'\x1f']/ }
	printf -v "$2" '"%s"' "$plain"
}

before=$(LC_ALL=C && printf '%s' "${payload:0:count}")
typed=${before##*[$' \t\n;|&()<>`\"\'']}
case $word in
complete)
	case $typed in
	'${'*) mapfile -t matches < <(compgen -P '${' -v -- "${typed:2}") ;;
	'$'*) mapfile -t matches < <(compgen -P '$' -v -- "${typed:1}") ;;
	*)
		text=${before%"$typed"}
		text=${text%"${text##*[![:space:]]}"}
		if [[ $typed != */* && (-z $text || $text == *[\;\|\&\(\`] || $text == *$'\n') ]]; then
			mapfile -t matches < <([ -z "$typed" ] || compgen -c -A function -- "$typed" | grep -v ^__emberbox | sort -u)
		else
			mapfile -t matches < <(compgen -f -- "$typed" | while IFS= read -r match; do
				[ ! -d "$match" ] || match=$match/
				printf '%s\n' "$match"
			done | sort)
		fi
		;;
	esac
	out=
	for match in "${matches[@]:0:1000}"; do
		__emberbox_quote "$match" text
		out+=${out:+,}$text
	done
	start=$(LC_ALL=C && echo $((count - ${#typed})))
	__emberbox_send reply "$secret" "{\"matches\":[$out],\"start\":$start,\"end\":$count}"
	;;
inspect)
	text=${payload:${#before}}
	typed+=${text%%[!A-Za-z0-9_./-]*}
	typed=${typed#\$}
	found=true
	if [ -z "$typed" ]; then
		found=false text=
	elif declare -p "$typed" >/dev/null 2>&1; then
		text=$(declare -p "$typed")
	elif type -t -- "$typed" >/dev/null; then
		text=$(type -- "$typed")
		[ "$(type -t -- "$typed")" != builtin ] || text+=$'\n'$(help "$typed" 2>/dev/null)
	else
		found=false text=
	fi
	__emberbox_quote "${text:0:20000}" text
	__emberbox_send reply "$secret" "{\"found\":$found,\"text/plain\":$text}"
	;;
esac
