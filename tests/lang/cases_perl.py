"""Programs whose output and exit status say whether Perl was started for them or was already running.

A case is run twice, cold and in an ember; stdout, stderr and how it ended have to be the same but for addresses. What a
case prints must not depend on chance, time, process ids or where the code lies.
"""

import collections
import re
import textwrap

Case = collections.namedtuple("Case", "name source args stdin files env entry", defaults=((), "", {}, {}, "main.pl"))
CASES = []


def same(text):
    return re.sub(rb"\(0x[0-9a-f]+\)", b"(0x)", text)


def case(name, source, *args, **more):
    CASES.append(Case(name, textwrap.dedent(source).lstrip("\n"), args, **more))


# What a program finds
case("hello", 'print "hello\\n";')
case("empty", "")
case("name", 'print "$0 ", __FILE__, " ", __LINE__, " $^X\\n";')
case("other name", 'print "$0 ", __FILE__, "\\n"; die "x"', entry="other name.pl")
case("arguments", 'print scalar(@ARGV), map("<$_>", @ARGV), "\\n";', "a", "", "b c", "-x", "ä", "new\nline", "--")
case("environment", 'print map("$_=$ENV{$_}\\n", sort keys %ENV); system "/usr/bin/env | sort"', env={"A": "1", "B": "ä ="})
case("environment changed", '$ENV{NEW} = 1; delete $ENV{A}; print `/usr/bin/env | sort`', env={"A": "1"})
case("symbols", 'print join(" ", sort grep !/^_</, keys %main::), "\\n";')
case("loaded", 'print map("$_ $INC{$_}\\n", sort keys %INC); print "@INC\\n";')
case("special", 'print "$| $; $, ", defined $. ? 1 : 0, " $! ", $!+0, " [$@] $? $^W $^O $^V $]\\n"; printf "%s\\n", join ",", map { defined $_ ? $_ : "undef" } $^I, $^A, ${^TAINT}, ${^UNICODE}, ${^UTF8LOCALE};')
case("pid", 'print $$ == getppid() ? "no" : "yes", -d "/proc/$$" ? 1 : 0, "\\n"')
case("perl5lib", 'print "@INC\\n"; use Mine; print Mine::x(), "\\n"', env={"PERL5LIB": "/nowhere:lib"}, files={"lib/Mine.pm": "package Mine; sub x { 42 } 1;"})
case("perl5opt", "my $x; print \"a\" . $x; print $^W", env={"PERL5OPT": "-w"})
case("perl unicode", 'print "\\x{e4}\\n"; print ${^UNICODE}', env={"PERL_UNICODE": "S"})
case("hash seed", 'my %h = map { $_ => 1 } "a" .. "z"; print keys %h, "\\n"', env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"})
case("locale", 'use POSIX; print setlocale(LC_ALL, ""), "\\n"; printf "%.2f\\n", 3.14', env={"LC_ALL": "C.UTF-8"})
case("bad locale", 'print "x\\n"', env={"LC_ALL": "xx_YY"})
case("zone", 'print scalar localtime(0), "\\n"', env={"TZ": "UTC-5"})
case("descriptors", 'opendir my $d, "/proc/self/fd"; print join(" ", sort grep /\\d/, readdir $d), "\\n"')
case("signals", 'print map { defined $SIG{$_} ? "$_=$SIG{$_}" : () } sort keys %SIG; open F, "/proc/self/status"; print grep /^Sig(Blk|Ign|Cgt)/, <F>')
case("command line", 'open F, "/proc/self/comm"; print <F>')
case("title", '$0 = "renamed"; print "$0\\n"; open F, "/proc/self/comm"; print <F>')
case("srand", 'srand 42; print int rand 1000, "\\n"; print srand(7), "\\n"')
# How it ends
case("exit", "exit 7")
case("die", 'die "oops\\n"')
case("die line", '\n\ndie "oops"')
case("die object", "die { a => 1 }")
case("die errno", "$! = 5; die 'x'")
case("END", 'END { print "end $?\\n"; $? = 9 } exit 3')
case("BEGIN", 'print "run\\n"; BEGIN { print "begin\\n" } INIT { print "init\\n" } CHECK { print "check\\n" }')
case("warn", 'use warnings; my $x; print "a" . $x; warn "careful"; print undef + 1')
case("killed", "kill TERM => $$; sleep 5")
case("caught", '$SIG{USR1} = sub { print "got $_[0]\\n" }; kill USR1 => $$; print "on\\n"')
case("alarm", '$SIG{ALRM} = sub { die "time\\n" }; eval { alarm 1; select undef, undef, undef, 5 }; print $@')
case("destroy", 'package A; sub new { bless {} } sub DESTROY { print "gone ${^GLOBAL_PHASE}\\n" } package main; our $x = A->new; { my $y = A->new }')
# Errors
case("syntax", 'print "a\\n";\nif (1 {\n}')
case("syntax end", "sub x {\nprint 1;\n")
case("strict", "use strict;\n$x = 1;\n")
case("no module", "use No::Such::Module;")
case("no sub", 'print "a\\n"; nosuch(1);')
case("no method", 'my $x = bless {}, "A"; $x->nosuch')
case("string", 'print "abc')
case("confess", 'use Carp qw(confess); sub f { confess "deep" } sub g { f(1, "a") } g([1])')
case("warnings line", "use warnings;\nmy @a = (1);\nmy $x = $a[5] + 1;\nprint 'x' == 1;\n")
case("version", "use v9;")
# What it does
case("stdin", 'while (<STDIN>) { chomp; print "$.:$_\\n" } print eof(STDIN) ? 1 : 0', stdin="a\nb\nlast")
case("diamond", 'while (<>) { print "$ARGV $. $_" }', "f1", "f2", files={"f1": "1\n", "f2": "2\n"})
case("diamond stdin", "print reverse <>", stdin="a\nb\n")
case("data", 'print tell(DATA), "\\n"; print <DATA>;\n__END__\nfirst\nsecond\n')
case("pod", 'print "a\\n";\n\n=pod\n\nhidden\n\n=cut\n\nprint __LINE__, "\\n";')
case("utf8", 'use utf8; binmode STDOUT, ":utf8"; my $x = "äöü"; print length $x, " $x\\n"')
case("modules", 'use List::Util qw(sum max); use Data::Dumper; use POSIX qw(floor); $Data::Dumper::Sortkeys = 1; print sum(1..10), max(3, 9), floor(2.7), Dumper({ a => [1, { b => 2 }] })')
case("json", 'use JSON::PP; print JSON::PP->new->canonical->encode({ a => [1, "x", undef], b => { c => 1.5 } }), "\\n"')
case("say", 'use v5.36; sub f($x) { say "f $x" } f(3); my sub g { say "g" } g()')
case("own module", "use Mine; print Mine::x(), \" $INC{'Mine.pm'}\\n\"", files={"Mine.pm": "package Mine; sub x { join ',', caller } 1;"})
case("require", 'require "./l.pl"; print f(), "\\n"; print do("./n.pl") // "none $!"', files={"l.pl": "sub f { __FILE__ . __LINE__ } 1;"})
case("regex", 'my $s = "2024-05-06"; if ($s =~ /(?<y>\\d+)-(\\d+)/) { print "$1 $2 $+{y} $& $\' @- @+\\n" } (my $t = $s) =~ tr/0-9/a-j/; print "$t\\n"')
case("format", 'our ($n, $v) = ("abc", 3.14159);\nformat STDOUT =\n@<<<<< @##.##\n$n, $v\n.\nwrite;')
case("sort", 'my %h = (a => 3, b => 1, c => 2); print join(" ", sort { $h{$a} <=> $h{$b} } keys %h), "\\n"')
case("fork", 'my $p = fork; if (!$p) { print "child\\n"; exit 4 } waitpid $p, 0; print $? >> 8, "\\n"')
case("system", 'print system("exit 3") >> 8, "\\n"; print `echo hi`; system "/nosuch"; print "$?\\n"')
case("pipe", 'open my $p, "-|", "echo a; echo b" or die; print map "[$_]", <$p>; close $p; print $?')
case("pipe self", 'my $p = open my $h, "-|"; if (!$p) { print "from child\\n"; exit } print <$h>')
case("exec", 'exec "sh", "-c", "echo \\$0 \\$1", "x", "y"')
case("threads", 'use threads; my @t = map { my $n = $_; threads->create(sub { $n * 2 }) } 1 .. 3; print join(" ", map $_->join, @t), "\\n"')
case("files", 'open my $f, ">", "o" or die; print $f "x\\n"; close $f; open $f, "<", "o"; print <$f>, -s "o", "\\n"; open $f, "<", "nosuch" or print "$!\\n"')
case("string eval", 'my $r = eval "1 +"; print "[$@]"; eval { die "x\\n" }; print $@; eval "die"; print $@')
case("local", 'our $x = 1; sub p { print $x } sub q1 { local $x = 2; p() } q1(); p(); print wantarray // "undef"')
case("sprintf", 'printf "%05.1f|%-5s|%x|%e|%s\\n", 3.14159, "ab", 255, 12345.678, 1e21; print 10/3, " ", 2**63, " ", 1_000_000 * 1_000_000, "\\n"')
case("big output", 'print "line $_\\n" for 1 .. 20000')
case("autoflush", 'print "a"; print STDERR "b"; print "c\\n"')
case("shebang", '#!/usr/bin/perl -w\nmy $x; print "a" . $x; print $^W')
case("shebang other", '#!/bin/sh\necho shell $0')
case("shebang taint", '#!/usr/bin/perl -T\nprint ${^TAINT}')
case("caller", 'sub f { print join("|", map { $_ // "u" } (caller(0))[0 .. 4]), "\\n" } f(); print defined caller ? 1 : 0')
case("sockets", 'use Socket; socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die; syswrite $a, "hi\\n"; sysread $b, my $x, 9; print $x')
