<?php
echo strtoupper(stream_get_contents(STDIN));
