# What the shell of a session begins with. See session.sh.
exec 254<> <(:)
mkdir -p /tmp/.cells
set --
trap '__emberbox_interrupt' INT
__emberbox_status=0 __emberbox_running= __emberbox_files=0

__emberbox_send() {
	local LC_ALL=C
	printf '%s %s %d\n%s' "$1" "$2" "${#3}" "$3" >&250
}

# The cell's lines: each stands alone, so that whatever ends one leaves the next.
__emberbox_turn() {
	printf '%s\n' __emberbox_next \
		'__emberbox_again; . "$__emberbox_cell" <&253 250<&- 251<&- 252<&- 253<&- 254<&-' \
		'__emberbox_done "$?"' >&251
}

# $? of the cell before.
__emberbox_again() {
	return "$__emberbox_status"
}

__emberbox_next() {
	local word secret size count stdin payload data LC_ALL=C
	while :; do
		IFS=' ' read -r word secret size count stdin <&250 || exit 0
		payload=
		((size == 0)) || IFS= read -r -d '' -N "$size" payload <&250 || exit 0
		[ "$word" != execute ] || break
		unset -v LC_ALL
		. "$__emberbox_folder/session_assist.sh"
		LC_ALL=C
	done
	case $stdin in
	none) exec 253</dev/null ;;
	pipe) exec 253<&252 ;;
	*)
		data=${payload:size-stdin}
		payload=${payload:0:size-stdin}
		printf '%s' "$data" >/tmp/.cells/input
		exec 253</tmp/.cells/input
		rm -f /tmp/.cells/input
		;;
	esac
	__emberbox_cell=/tmp/.cells/cell-$count
	printf '%s\n' "$payload" >"$__emberbox_cell"
	printf '%s\n' "$secret" >&254
	__emberbox_running=yes
}

__emberbox_done() {
	local secret code=$1
	((++__emberbox_files % 100)) || rm -f /tmp/.cells/cell-*
	read -r secret <&254 || exit 1
	if [ "$__emberbox_running" = interrupted ]; then
		trap - DEBUG
		shopt -u extdebug
		set +T
		code=130
		__emberbox_send error "$secret" '{"type":"KeyboardInterrupt","message":"the cell was interrupted","file":null,"line":null,"column":null,"frames":[]}'
	fi
	__emberbox_running= __emberbox_status=$code
	__emberbox_turn
	if ((code)); then
		__emberbox_send done "$secret" "{\"ok\":false,\"exit\":$code}"
	else
		__emberbox_send done "$secret" '{"ok":true,"exit":0}'
	fi
}

# What comes next in the cell is not run: where a DEBUG trap says 2, functions and files return.
__emberbox_interrupt() {
	[ "$__emberbox_running" ] || return
	__emberbox_running=interrupted
	shopt -s extdebug
	set -T
	trap '__emberbox_skip' DEBUG
}

__emberbox_skip() {
	[[ $BASH_COMMAND == __emberbox_* || " ${FUNCNAME[*]:1} " == *" __emberbox_"* ]] || return 2
}

__emberbox_folder=${BASH_SOURCE[0]%/*}
__emberbox_turn
__emberbox_send ready - "{\"driver\":\"bash ${BASH_VERSION%%[^0-9.]*}\",\"complete\":true,\"inspect\":true}"
