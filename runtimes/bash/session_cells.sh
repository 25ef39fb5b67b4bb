# What the shell of a session begins with. See session.sh.
exec 254<> <(:)
wait "$!"
mkdir -p /tmp/.cells
set --
trap '__emberbox_interrupt' INT
__emberbox_status=0 __emberbox_running= __emberbox_files=0 __emberbox_early=

__emberbox_send() {
	local LC_ALL=C
	builtin printf '%s %s %d\n%s' "$1" "$2" "${#3}" "$3" >&250
}

# The cell's lines: each stands alone, so that whatever ends one leaves the next.
__emberbox_turn() {
	builtin printf '%s\n' __emberbox_next \
		'__emberbox_again; . "$__emberbox_cell" <&253 250<&- 251<&- 252<&- 253<&- 254<&-' \
		'__emberbox_done "$?"' >&251
}

# $? of the cell before.
__emberbox_again() {
	return "$__emberbox_status"
}

# So many bytes of the channel to standard output. (No (( )) by itself: a cell may have said set -e.) A variable holds no NUL, and read -N would wait for as many bytes more:
# each ends a part here.
__emberbox_copy() {
	local left=$1 part LC_ALL=C
	while ((left > 0)); do
		IFS= builtin read -r -d '' -n "$left" part <&250 || exit 0
		builtin printf '%s' "$part"
		left=$((left - ${#part}))
		((left == 0)) || builtin printf '\0'
		left=$((left - (left > 0)))
	done
}

# The same into `payload`, for what is no code: without them.
__emberbox_read() {
	local left=$1 part LC_ALL=C
	while ((left > 0)); do
		IFS= builtin read -r -d '' -n "$left" part <&250 || exit 0
		payload+=$part
		left=$((left - ${#part}))
		left=$((left - (left > 0)))
	done
}

__emberbox_next() {
	local word secret size count stdin payload LC_ALL=C
	while :; do
		IFS=' ' builtin read -r word secret size count stdin <&250 || exit 0
		payload=
		[ "$word" = execute ] || __emberbox_read "$size"
		[ "$word" != execute ] || break
		[ "$word" != interrupt ] || continue # of a cell that is over
		unset -v LC_ALL
		. "$__emberbox_folder/session_assist.sh"
		LC_ALL=C
	done
	__emberbox_cell=/tmp/.cells/cell-$count
	case $stdin in none | pipe) ;; *) size=$((size - stdin)) ;; esac
	{
		__emberbox_copy "$size"
		builtin printf '\n'
	} >"$__emberbox_cell"
	case $stdin in
	none) exec 253</dev/null ;;
	pipe) exec 253<&252 ;;
	*)
		__emberbox_copy "$stdin" >/tmp/.cells/input
		exec 253</tmp/.cells/input
		builtin command -p rm -f /tmp/.cells/input
		;;
	esac
	builtin printf '%s\n' "$secret" >&254
	__emberbox_running=yes
	[ ! "$__emberbox_early" ] || __emberbox_early
}

# An interrupt came before the cell began: its own, if the channel says so.
__emberbox_early() {
	local word of size
	__emberbox_early=
	while builtin read -r -t 0 <&250 && IFS=' ' builtin read -r word of size <&250; do
		[ "$of" != "$secret" ] || __emberbox_interrupt
	done
}

__emberbox_done() {
	local secret code=$1 was
	# In one step: a signal behind it is no longer this cell's. (Bash may run the trap of one signal twice.)
	was=$__emberbox_running __emberbox_running=
	((++__emberbox_files % 100)) || builtin command -p rm -f /tmp/.cells/cell-*
	builtin read -r secret <&254 || __emberbox_unheard
	if [ "$was" = interrupted ]; then
		builtin trap - DEBUG
		builtin shopt -u extdebug
		builtin set +T
		code=130
		__emberbox_send error "$secret" '{"type":"KeyboardInterrupt","message":"the cell was interrupted","file":null,"line":null,"column":null,"frames":[]}'
	fi
	__emberbox_status=$code
	__emberbox_turn
	if ((code)); then
		__emberbox_send done "$secret" "{\"ok\":false,\"exit\":$code}"
	else
		__emberbox_send done "$secret" '{"ok":true,"exit":0}'
	fi
}

# A cell closed what this needs. The keeper sees the end of the channel, and tells so, unless there is an exit code.
__emberbox_unheard() {
	exec 250<&-
	builtin kill -STOP "$$"
	exit 1
}

# What comes next in the cell is not run: where a DEBUG trap says 2, functions and files return.
__emberbox_interrupt() {
	if [ ! "$__emberbox_running" ]; then
		__emberbox_early=yes # it may be the next one's, whose request was not read yet
		return
	fi
	__emberbox_running=interrupted
	builtin shopt -s extdebug
	builtin set -T
	builtin trap '__emberbox_skip' DEBUG
}

__emberbox_skip() {
	[[ $BASH_COMMAND == __emberbox_* || ${FUNCNAME[1]-} == __emberbox_* ]] || return 2
}

__emberbox_folder=${BASH_SOURCE[0]%/*}
# Cells may have functions of any name, and may forget all that they find; these stay.
readonly -f __emberbox_send __emberbox_turn __emberbox_again __emberbox_copy __emberbox_read __emberbox_next \
	__emberbox_early __emberbox_done __emberbox_unheard __emberbox_interrupt __emberbox_skip
readonly __emberbox_folder
__emberbox_turn
__emberbox_send ready - "{\"driver\":\"bash ${BASH_VERSION%%[^0-9.]*}\",\"complete\":true,\"inspect\":true,\"interrupt\":true}"
