import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

public class Net {
	public static void main(String[] args) {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress("192.0.2.1", 80), 5000);
			System.out.println("connected");
		} catch (IOException error) {
			System.out.println(error.getMessage().contains("Network is unreachable") ? "unreachable" : "denied");
		}
	}
}
