use strict;
use warnings;
use lib 'lib';
use Wrap;

my ( $number, $failed ) = ( 0, 0 );

# Prints a line of TAP.
sub check {
    my ( $name, $expected, @arguments ) = @_;
    my $found = Wrap::wrap(@arguments);
    $number++;
    print $found eq $expected ? "ok $number $name\n" : "not ok $number $name\n# found:\n$found";
    $failed = 1 if $found ne $expected;
}

check( 'short text', "a few words\n",         'a few words',     20 );
check( 'two lines',  "one two\nthree four\n", 'one two three four', 12 );
check( 'an indent',  "  one\n  two\n",        'one two',         8, '  ' );
check( 'no text',    '',                      ' ',               10 );
check( 'a word as long as the line',  "ten-letter\nword\n", 'ten-letter word', 10 );
check( 'a word longer than the line', "internationalization\nis long\n", 'internationalization is long', 10 );
exit $failed;
