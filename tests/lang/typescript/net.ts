import { connect } from "node:net";

const socket = connect({ host: "192.0.2.1", port: 80, timeout: 5000 });
socket.on("connect", () => {
	console.log("connected");
	socket.destroy();
});
socket.on("timeout", () => socket.destroy(new Error("no answer")));
socket.on("error", (error: NodeJS.ErrnoException) => {
	console.log(error.code === "ENETUNREACH" ? "unreachable" : "denied");
});
