zmodload zsh/net/tcp
# In a shell of its own, which a clock can end.
message=$(timeout 2 zsh -fc 'zmodload zsh/net/tcp && ztcp 192.0.2.1 80' 2>&1) && { echo connected; exit }
case $message in
(*'network is unreachable'*) echo unreachable ;;
(*) echo denied ;;
esac
