#!/bin/sh
# Runs PHP code also if it does not begin with <?php.
#
#   run.sh ENTRY PHP OPTIONS… ENTRY ARGS…
#
# PHP prints what stands outside of its tags, so code without any would only be shown. A tag before the first character
# leaves the numbers of lines as they are; the file is this box's own. A shell, because whatever PHP could be told to
# load first would be seen by the program.

# Nearly all code says so in its first line; the rest is looked through.
IFS= read -r line <"$1"
case $line in
'<?php'*) ;;
*)
	if ! grep -Eqai '<\?(php|=|[[:space:]]|$)' "$1"; then
		LC_ALL=C sed -i '1s/^\(\xEF\xBB\xBF\)\{0,1\}/<?php /' "$1"
	fi
	;;
esac
shift
exec "$@"
