public class Syntax {
	public static void main(String[] args) {
		int two = = 2;
		System.out.println(two);
	}
}
