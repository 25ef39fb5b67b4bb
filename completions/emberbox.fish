# Completion of emberbox for fish. What there is to complete is asked of the program itself: its help texts are made from
# the tables that read its command line.

function __emberbox_words
    commandline -opc
end

function __emberbox_commands
    set -l words (__emberbox_words)
    $words[1] --help 2>/dev/null | string replace -rf '^  ([a-z]+) +([^ ].*)$' '$1\t$2'
end

# "--name<TAB>help" of the command that is typed.
function __emberbox_options
    set -l words (__emberbox_words)
    $words[1] $words[2] --help 2>/dev/null | string replace -rf '^ {2,6}(?:-[A-Za-z], )?(--[a-z-]+)(?: [^ ]+)? +([^ ].*)?$' '$1\t$2'
end

# What the value of the option before the cursor is: its word in the help.
function __emberbox_kind
    set -l words (__emberbox_words)
    set -l option $words[-1]
    set -l command $words[2]
    set -l count (count $words)
    if string match -q -- '-*' $option
        test "$option" = -l; and set option --language
        set -l kind ($words[1] $command --help 2>/dev/null | string replace -rf "^ {2,6}(?:-[A-Za-z], )?$option ([^ ]+) .*" '$1')
        if test -n "$kind"
            echo $kind
            return
        end
    end
    switch "$command,$count,$words[3]"
        case 'help,2,*'
            echo COMMAND
        case 'repl,2,*' 'prepare,*' 'session,3,start'
            echo LANG
        case 'session,2,*'
            echo list,ls,start,exec,show,interrupt,restart,network,stop,rm,files,get,put,remove
        case 'session,3,*'
            echo SESSION
        case 'session,4,network'
            echo 'none|RULE'
        case 'token,2,*'
            echo list,add,remove,show
        case 'audit,2,*'
            echo verify,
        case 'show,2,*'
            echo ID
        case 'run,*' 'check,*' 'detect,*' 'session,*'
            echo FILE
    end
end

function __emberbox_values
    set -l words (__emberbox_words)
    set -l program $words[1]
    set -l kind (__emberbox_kind)
    if test "$kind" = ID; and not contains -- "$words[2]" show history
        set kind SESSION
    end
    switch "$kind"
        case COMMAND
            __emberbox_commands
        case LANG
            $program languages 2>/dev/null | string replace -rf '^([a-z][a-z0-9_.+-]*) .*' '$1'
        case SESSION
            $program session list 2>/dev/null | string replace -rf '^([0-9A-Z]{26}) .*' '$1'
        case ID
            echo last
            $program history --limit 20 2>/dev/null | string replace -rf '^([0-9A-Z]{26}) .*' '$1'
        case MODE
            string split , off,warn,block
        case LAYER
            string split , cgroup,landlock,seccomp
        case STATUS
            string split , ok,failed,timeout,out_of_memory,output_limit,killed,blocked,error,running,interrupted
        case 'none|RULE*'
            string split , none,public
        case 'HOST[:PORT*'
            return
        case '*DIR*'
            __fish_complete_directories (commandline -ct)
        case '*FILE*' 'HOST[*' PATH
            __fish_complete_path (commandline -ct)
        case '*,*'
            string split -n , $kind
    end
end

complete -c emberbox -f
complete -c emberbox -n 'test (count (__emberbox_words)) = 1' -a '(__emberbox_commands)'
complete -c emberbox -n 'test (count (__emberbox_words)) = 1' -l help -d 'this text'
complete -c emberbox -n 'test (count (__emberbox_words)) = 1' -l version -d 'the version'
complete -c emberbox -n 'test (count (__emberbox_words)) -gt 1; and string match -q -- "-*" (commandline -ct)' -a '(__emberbox_options)'
complete -c emberbox -n 'test (count (__emberbox_words)) -gt 1' -a '(__emberbox_values)'
