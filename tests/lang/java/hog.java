import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Hog {
	public static void main(String[] args) {
		List<byte[]> held = new ArrayList<>();
		while (true) {
			byte[] block = new byte[1 << 16];
			Arrays.fill(block, (byte) 'x');
			held.add(block);
		}
	}
}
