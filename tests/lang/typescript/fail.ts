interface Account {
	balance: number;
}
function withdraw(account: Account, amount: number): void {
	if (account.balance < amount) throw new RangeError(`only ${account.balance} left`);
	account.balance -= amount;
}

withdraw({ balance: 3 }, 5);
