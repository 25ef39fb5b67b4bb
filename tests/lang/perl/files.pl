use strict;
use warnings;

open my $in, '<', 'data/in.txt' or die "in.txt: $!";
chomp(my $text = <$in>);
open my $out, '>', '/sandbox/output/out.txt' or die "out.txt: $!";
print $out scalar reverse $text;
close $out or die "out.txt: $!";
