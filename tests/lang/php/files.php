<?php
file_put_contents('/sandbox/output/out.txt', strrev(rtrim(file_get_contents('data/in.txt'))));
