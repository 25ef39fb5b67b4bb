# Keeps a Bash session: session.sh FOLDER. docs/sessions.md has what a session does.
#
# Cells are run at the top of a shell, by `.`: a function would make their declarations local, and a loop would let them
# break out of it. So the shell reads its program from a pipe into which it writes, at each turn, the lines of the next.
#
#   250 the channel   251 that pipe   252 the box's standard input   253 a cell's input   254 a pipe that keeps the secret
exec 250<>/dev/null 250<&3 3<&- 252<&0 0</dev/null
# A box of few processes has no room for the next child before this one is gone, and Bash does not try twice.
exec 251<> <(:)
wait "$!"
printf '. %q %q\n' "${BASH_SOURCE[0]%/*}/session_cells.sh" "$BASH" >&251
exec -a bash "$BASH" --norc --noprofile /dev/fd/251
