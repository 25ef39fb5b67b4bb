public class Big {
	public static void main(String[] args) {
		System.out.print("x".repeat(1 << 20));
		System.out.flush();
	}
}
