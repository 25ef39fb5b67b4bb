<?php
const NETWORK_UNREACHABLE = 101;

if (@stream_socket_client('tcp://192.0.2.1:80', $code, $message, 2))
	echo "connected\n";
else
	echo $code === NETWORK_UNREACHABLE ? "unreachable\n" : "denied\n";
