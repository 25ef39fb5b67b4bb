# This shell has no sockets; another one has.
message=$(timeout 2 bash -c 'exec 3<> /dev/tcp/192.0.2.1/80' 2>&1) && { echo connected; exit; }
case $message in
*'Network is unreachable'*) echo unreachable ;;
*) echo denied ;;
esac
