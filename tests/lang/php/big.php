<?php
echo str_repeat('x', 1 << 20);
