<?php
$text = 'héllo wörld ✓ 日本語 🎉';
echo $text, "\n", preg_match_all('/./u', $text), "\n";
