"""Programs whose output and exit status say whether Bash was started for them or was already running.

A case is run twice, cold and in an ember; stdout, stderr and how it ended have to be the same. What a case prints must
not depend on chance, time, process ids or where the code lies.
"""

import collections
import textwrap

Case = collections.namedtuple("Case", "name source args stdin files env entry", defaults=((), "", {}, {}, "main.sh"))
CASES = []


def same(text):
    return text


def case(name, source, *args, **more):
    CASES.append(Case(name, textwrap.dedent(source).lstrip("\n"), args, **more))


# What a program finds
case("hello", "echo hello")
case("empty", "")
case("variables", "compgen -v | sort | grep -vx BASH_EXECUTION_STRING; declare -p | grep -vE 'RANDOM|SRANDOM|EPOCH|PID|SECONDS|BASHPID'")
case("set", "set | grep -vE '^(RANDOM|SRANDOM|EPOCH.*|PPID|SECONDS|BASHPID|_)='")
case("functions", "declare -F; compgen -A function; alias; compgen -A trap 2>&1 | wc -l")
case("exported", "export -p; /usr/bin/env | sort")
case("environment", 'echo "$A|$B|${C-unset}"; export -p | grep -E " (A|B|X_[a-z]+)="', env={"A": "1", "B": "ä ='\"$x\n`", "X_y": ""})
case("odd names", "/usr/bin/env | sort", env={"a.b": "1", "1x": "2", "x-y": "3"})
case("exported function", "f a; declare -f f; declare -F", env={"BASH_FUNC_f%%": "() { echo in f $1; }"})
case("BASH_ENV", "echo BASH_ENV=$BASH_ENV $X", env={"BASH_ENV": "/dev/null"})
case("SHELLOPTS", "echo $SHELLOPTS; false; echo on", env={"SHELLOPTS": "errexit"})
case("BASHOPTS", "shopt | grep -E 'extglob|nullglob'; echo $BASHOPTS", env={"BASHOPTS": "extglob:nullglob"})
case("POSIXLY_CORRECT", "set -o | grep posix; echo $SHELLOPTS", env={"POSIXLY_CORRECT": "1"})
case("LC_ALL", "x=äö; echo ${#x}; printf '%s\\n' b A a B | sort; locale 2>/dev/null | head -1", env={"LC_ALL": "C.UTF-8"})
case("LC_ALL C", "x=äö; echo ${#x}", env={"LC_ALL": "C"})
case("IFS", 'printf "%q\\n" "$IFS"; set -- $V; echo $#', env={"IFS": ":", "V": "a:b c"})
case("PWD", "echo $PWD; pwd -P; echo ${OLDPWD-none}; cd /; echo $PWD $OLDPWD", env={"PWD": "/nowhere"})
case("SHLVL", "echo $SHLVL; bash -c 'echo $SHLVL'", env={"SHLVL": "5"})
case("arguments", 'echo $#; printf "<%s>\\n" "$@"; echo "$*"; shift 2; echo "$1"', "a", "", "b  c", "*", "-e", "$x", "'", "ä", "--", "new\nline")
case("option-like", 'echo "$@"', "-x", "--help", "--", "-c")
case("dollar zero", 'echo "$0" "${BASH_SOURCE[0]}" "$BASH_ARGV0" ${#BASH_SOURCE[@]} "$_" $LINENO')
case("other name", 'echo "$0" "${BASH_SOURCE[@]}"; nosuch', "x", entry="other name.sh")
case("frames", "f() { caller 0; echo ${FUNCNAME[*]} ${BASH_LINENO[*]} ${BASH_SOURCE[*]}; }\ng() { f; }\ng; caller; echo ${FUNCNAME-none}")
case("flags", "echo $- $SHELLOPTS; echo $BASHOPTS; set -o; shopt")
case("pids", '[ $$ = $BASHPID ] && echo same; (echo $(( $$ == BASHPID ))); [ -d /proc/$$ ] && echo lives; [ "$(ps -o pid= -p $$ 2>/dev/null | tr -d " ")" = $$ ] || echo no ps')
case("seconds", "echo $SECONDS; SECONDS=5; echo $SECONDS")
case("random", "RANDOM=42; echo $RANDOM $RANDOM; [ $SRANDOM != $SRANDOM ] && echo differs")
case("limits", "umask; ulimit -a | grep -vE 'pending|processes|open files'; trap -p; history | wc -l; jobs; dirs; hash")
case("descriptors", "ls /proc/$$/fd >fds; cat fds")
# By no child: while Bash starts one it blocks some, and it may not be done with that.
case("signals", "while read -r name value; do case $name in SigBlk:|SigIgn:) echo $name $value;; esac; done </proc/$$/status")
# How it ends
case("exit", "exit 7")
case("exit big", "exit 300")
case("exit last", "false")
case("exit trap", "trap 'echo bye $?' EXIT; exit 3")
case("errexit", "set -e\necho a\nfalse\necho b")
case("nounset", "set -u\necho $nosuch\necho on")
case("pipefail", "set -o pipefail; false | true; echo $? ${PIPESTATUS[*]}")
case("trace", "set -x\nx=1\necho $x\ny=$(echo $x)")
case("verbose", "set -v\necho 1\n# comment\necho 2")
case("ERR trap", "trap 'echo err $LINENO $BASH_COMMAND' ERR\nfalse\ntrue\n(exit 4)")
case("DEBUG trap", "trap 'echo debug $LINENO' DEBUG\necho a")
case("killed", "kill -TERM $$; echo not here")
case("killed hard", "kill -KILL $$")
case("signal caught", "trap 'echo got' USR1; kill -USR1 $$; echo on")
case("exec", "exec -a name sh -c 'echo \"$0\" $1' x y")
# Errors
case("command not found", "nosuchcommand 1 2\necho $?")
case("not a directory", "cd /nosuch; echo $?; cat </nosuch; echo $?")
case("syntax", "echo before\nif true; then\necho x\n")
case("syntax token", "echo before\necho )\necho after")
case("unterminated", "echo 'abc\n")
case("bad substitution", "echo before\necho ${x!y}\necho after")
case("division", "echo $((1/0))\necho after $?")
case("readonly", "readonly a=1\na=2\necho after")
case("divide in function", "f() { local x; ((x = 1 / 0)); echo $?; }\nf")
case("not text", "echo a\n\x00\x01\necho b")
# What it does
case("read", 'while IFS= read -r line; do echo "[$line]"; done; echo $?', stdin="a\n b \\n\nlast")
case("stdin shared", "read a; cat; echo $a", stdin="1\n2\n3\n")
case("mapfile", 'mapfile -t x; echo ${#x[@]} "${x[1]}"', stdin="a\nb c\n")
case("here", "x=5; cat <<A; cat <<'B'; cat <<<\"s $x\"\n$x $(echo y)\nA\n$x\nB")
case("arrays", 'a=(x "y z"); a[5]=q; declare -A m=([k]=v [l]=w); echo ${!a[@]} "${a[@]}" ${#m[@]} ${m[k]}; declare -p a')
case("strings", "s=hello.tar.gz; echo ${s%%.*} ${s#*.} ${s/l/L} ${s^^} ${s:1:3} ${#s}; printf '%05d|%-5s|%q\\n' 42 ab 'a b'")
case("regex", "[[ foo123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[@]}")
case("glob", "echo *; shopt -s extglob; case abc in +([a-c])) echo yes;; esac", files={"a.txt": "", "b.txt": ""})
case("process substitution", "diff <(echo a) <(echo b); cat <(echo x); echo y > >(cat); wait; echo <(:) | sed 's/[0-9]*$//'")
case("coproc", 'coproc C { read x; echo "got $x"; }; echo hi >&${C[1]}; read y <&${C[0]}; echo $y; wait; echo $?')
case("jobs", "sleep 0 & wait $!; echo $?; (exit 5) & wait $!; echo $?; wait -n; echo $?")
case("job control", "set -m; sleep 5 & jobs | sed 's/ *&//'; kill %1; wait %1; echo $?; fg; echo $?")
case("subshell", "x=1; (x=2; echo $x $BASH_SUBSHELL); echo $x; echo $(x=3; echo $x)")
case("source", ". ./lib.sh a b; echo $L $?; echo $#", "1", files={"lib.sh": "L=$1; echo ${BASH_SOURCE[@]} $LINENO; return 4"})
case("getopts", 'while getopts ab: o; do echo $o $OPTARG; done; echo $OPTIND', "-a", "-b", "x", "y")
case("redirect", "exec 3>f; echo x >&3; exec 3>&-; cat f; { echo o; echo e >&2; } 2>&1; echo $(<f)")
case("printf", "printf '%s %d %x %.2f\\n' a 1 255 3.14159; printf -v v '%(%Y)T' 0; echo $v", env={"TZ": "UTC"})
case("times", "TIMEFORMAT=t; time true; times | wc -l")
case("shebang", "#!/bin/bash -e\nfalse\necho on")
case("select", "select x in a b; do echo $x; break; done", stdin="2\n")
case("big output", "for ((i = 0; i < 20000; i++)); do echo line $i; done | tail -1; seq 1 5000")
case("recursion", "f() { (($1)) && f $(($1 - 1)) || echo done; }; f 500")
case("children", "for i in 1 2 3; do /bin/echo $i; done; echo a b | xargs -n1 echo; sh -c 'echo $0 $PPID' | grep -c sh")
case("long line", "x=$(printf '%100000s' x); echo ${#x}; echo $x")
case("process name", "cat /proc/$$/comm; readlink /proc/$$/exe", "a", "b")
