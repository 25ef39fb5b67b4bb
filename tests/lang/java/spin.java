public class Spin {
	public static void main(String[] args) {
		long turns = 0;
		while (true) turns++;
	}
}
