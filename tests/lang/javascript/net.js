const net = require('net');

const socket = net.connect({ host: '192.0.2.1', port: 80 });
const end = (word) => {
	console.log(word);
	socket.destroy();
};
socket.setTimeout(2000, () => end('denied'));
socket.on('connect', () => end('connected'));
socket.on('error', (error) => end(error.code === 'ENETUNREACH' ? 'unreachable' : 'denied'));
