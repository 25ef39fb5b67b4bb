public class Fail {
	record Account(int balance) {}

	static Account withdraw(Account account, int amount) {
		if (account.balance() < amount) throw new IllegalArgumentException("only " + account.balance() + " left");
		return new Account(account.balance() - amount);
	}

	public static void main(String[] args) {
		System.out.println(withdraw(new Account(3), 5));
	}
}
