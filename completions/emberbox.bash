# Completion of emberbox for bash. What there is to complete is asked of the program itself: its help texts are made
# from the tables that read its command line.

_emberbox_commands() {
	"$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) +[^ ].*/\1/p'
}

# "--name" or "--name VALUE", one a line.
_emberbox_options() {
	"$1" "$2" --help 2>/dev/null | sed -nE 's/^ {2,6}(-[A-Za-z], )?(--[a-z-]+)( ([^ ]+))? .*/\2 \4/p'
}

_emberbox_languages() {
	"$1" languages 2>/dev/null | sed -nE 's/^([a-z][a-z0-9_.+-]*) .*/\1/p'
}

_emberbox_sessions() {
	"$1" session list 2>/dev/null | sed -nE 's/^([0-9A-Z]{26}) .*/\1/p'
}

_emberbox_runs() {
	echo last
	"$1" history --limit 20 2>/dev/null | sed -nE 's/^([0-9A-Z]{26}) .*/\1/p'
}

# What the value of an option is: its word in the help.
_emberbox_value() {
	local program=$1 command=$2 option=$3
	[[ $option == -l ]] && option=--language
	_emberbox_options "$program" "$command" | sed -nE "s/^$option (.+)/\\1/p"
}

_emberbox() {
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} kind list
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		list=$(_emberbox_commands "$program")
		[[ $word == -* ]] && list='--help --version'
		COMPREPLY=($(compgen -W "$list" -- "$word"))
		return
	fi
	[[ ${COMP_WORDS[COMP_CWORD-1]} == -* ]] &&
		kind=$(_emberbox_value "$program" "$command" "${COMP_WORDS[COMP_CWORD-1]}")
	if [[ -z $kind && $word == -* ]]; then
		COMPREPLY=($(compgen -W "$(_emberbox_options "$program" "$command" | cut -d' ' -f1)" -- "$word"))
		return
	fi
	if [[ -z $kind ]]; then
		case $command,$COMP_CWORD,${COMP_WORDS[2]} in
		help,2,*) kind=COMMAND ;;
		repl,2,* | prepare,* | session,3,start) kind=LANG ;;
		session,2,*) kind=list,ls,start,exec,show,interrupt,restart,network,stop,rm,files,get,put,remove ;;
		session,3,*) kind=SESSION ;;
		session,4,network) kind="none|RULE" ;;
		token,2,*) kind=list,add,remove,show ;;
		audit,2,*) kind=verify ;;
		show,2,*) kind=ID ;;
		run,* | check,* | detect,* | session,*) kind=FILE ;;
		esac
	fi
	case $kind in
	COMMAND) list=$(_emberbox_commands "$program") ;;
	LANG) list=$(_emberbox_languages "$program") ;;
	SESSION) list=$(_emberbox_sessions "$program") ;;
	ID)
		if [[ $command == show || $command == history ]]; then
			list=$(_emberbox_runs "$program")
		else
			list=$(_emberbox_sessions "$program")
		fi
		;;
	MODE) list='off warn block' ;;
	LAYER) list='cgroup landlock seccomp' ;;
	STATUS) list='ok failed timeout out_of_memory output_limit killed blocked error running interrupted' ;;
	none\|RULE*) list='none public' ;;
	HOST\[:PORT*) return ;;
	*DIR*) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$word")); return ;;
	*FILE* | HOST\[* | PATH) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return ;;
	*,*) list=${kind//,/ } ;;
	verify) list=verify ;;
	*) return ;;
	esac
	COMPREPLY=($(compgen -W "$list" -- "$word"))
}

complete -F _emberbox emberbox
