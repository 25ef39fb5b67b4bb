<?php
echo "never\n";
$broken = = 3;
