use utf8;
use open qw(:std :encoding(UTF-8));

my $text = 'héllo wörld ✓ 日本語 🎉';
print "$text\n", length $text, "\n";
